import assert from "node:assert/strict";
import { csvLines, jsonParts } from "../../../src/tools/usage/export.ts";
import { drawTotals } from "../../../src/tools/usage/table.ts";
import {
  createTotals,
  type Grouping,
  valuesOf,
} from "../../../src/tools/usage/totals.ts";
import { withoutColour } from "../../../src/base/text.ts";
import { noLines } from "../../../src/gateway/observe/read_log.ts";
import { readLogLine } from "../../../src/gateway/observe/logged_request.ts";
import { type LoggedLine, loggedLine } from "../../support/wire/logged_line.ts";

/** Returns the totals of these requests. */
function totalsOf(
  requests: readonly LoggedLine[],
  by: readonly Grouping[],
  options?: { readonly maxRows: number },
) {
  const totals = createTotals(by, options);
  for (const fields of requests) {
    const read = readLogLine(loggedLine(fields));
    assert.ok(typeof read === "object");
    totals.add(read);
  }
  return totals.finish();
}

Deno.test("createTotals() sorts by cost, then by tokens, then by requests", () => {
  const usage = { input_tokens: 1000, output_tokens: 0 };
  const { rows } = totalsOf([
    { token: "often" },
    { token: "often" },
    { token: "large", usage: { ...usage, input_tokens: 220 } },
    { token: "twice", usage: { ...usage, input_tokens: 220 } },
    { token: "twice", usage: {} },
    { token: "costly", cost_usd: 1, usage: {} },
    { token: "costlier", cost_usd: 2, usage: {} },
  ], ["token"]);
  assert.deepEqual(rows.map(({ key }) => key), [
    "costlier",
    "costly",
    "often",
    "twice",
    "large",
  ]);
});

/** A request for which one model called another. */
const OF_TWO: LoggedLine = {
  usage: { input_tokens: 110, output_tokens: 11 },
  cost_usd: 0.3,
  by_model: [
    { model: "glm-fast", input_tokens: 100, output_tokens: 10 },
    { model: "dear", input_tokens: 10, output_tokens: 1, cost_usd: 0.3 },
  ],
};

Deno.test("createTotals() counts tokens for each model of a request, and the request only for the model that answered", () => {
  const { rows, total } = totalsOf([OF_TWO], ["model"]);
  assert.deepEqual(
    rows.map(({ key, requests, inputTokens, costUsd, pricedUses }) => [
      key,
      requests,
      inputTokens,
      costUsd,
      pricedUses,
    ]),
    [["dear", 0, 10, 0.3, 1], ["glm-fast", 1, 100, 0, 0]],
  );
  assert.equal(total.requests, 1);
  assert.equal(total.inputTokens + total.outputTokens, 121);
  assert.equal(total.costUsd, 0.3);
  const { rows: [all] } = totalsOf([OF_TWO], ["token"]);
  assert.equal(all?.inputTokens, 110);
});

Deno.test("createTotals() separates groups with any characters in their names", () => {
  const names = ['a","b', "a", 'b","c', '["a"]', "null", "\0", ""];
  const requests = names.flatMap((token) =>
    names.map((model) => ({ token, model }))
  );
  const { rows } = totalsOf([...requests, { token: undefined }], [
    "model",
    "token",
  ]);
  assert.equal(rows.length, requests.length + 1);
  for (const { token, model } of requests) {
    assert.ok(
      rows.some((row) => {
        const [one, other] = valuesOf(row, ["model", "token"]);
        return one === model && other === token;
      }),
    );
  }
  const nameless = rows.map((row) => valuesOf(row, ["model", "token"]))
    .filter(([, token]) => token === undefined);
  assert.deepEqual(nameless, [["glm-fast", undefined]]);
});

Deno.test("createTotals() limits the rows and sums all further rows in one row, which every format shows", () => {
  const sessions = ["a", "b", "c", "a", "d"].map((session) => ({ session }));
  const totals = totalsOf(sessions, ["session"], { maxRows: 2 });
  assert.deepEqual(totals.rows.map(({ key, requests }) => [key, requests]), [
    ["a", 2],
    ["b", 1],
  ]);
  assert.equal(totals.rest.requests, 2);
  assert.equal(totals.total.requests, 5);
  const lines = noLines();
  const table = drawTotals(totals, lines, {
    columns: 80,
    paint: withoutColour,
  });
  assert.match(table, /^\(rest\) +2 /m);
  assert.match(table, /^\(rest\): the requests of all groups/m);
  const json = JSON.parse([...jsonParts(totals, lines)].join(""));
  assert.equal(json.rest.requests, 2);
  assert.match([...csvLines(totals)].at(-1) ?? "", /^"\(rest\)",2,/);
});
