import assert from "node:assert/strict";
import { createGateway } from "../../src/app.ts";
import { createLiveConfig } from "../../src/config/live_config.ts";
import { createAttributionReader } from "../../src/http/attribution.ts";
import type { Fetch } from "../../src/upstream/call.ts";
import {
  ALICE_TOKEN,
  configOf,
  connectionFile,
  loadFile,
  NOW_MS,
  tokenFile,
} from "../support/gateway/config.ts";
import { createLogLines } from "../support/gateway/log_lines.ts";
import { hello } from "../support/wire/ask.ts";

Deno.test("an attribution header becomes a column of the log, and is not sent to the provider", async () => {
  const sent: string[] = [];
  const fetch: Fetch = (_, { headers }) => {
    sent.push(JSON.stringify([...new Headers(headers)]));
    return Promise.resolve(Response.json({ choices: [] }));
  };
  const lines = createLogLines();
  const { handler } = createGateway({
    liveConfig: createLiveConfig(configOf(
      await loadFile({
        server: { attribution: ["X-Project", "x-cost-center"] },
        groups: { interns: {} },
        connections: [connectionFile()],
        tokens: [tokenFile({ group: "interns" })],
      }),
    )),
    fetch,
    log: lines.log,
  });
  const response = await handler(
    new Request("http://gateway/v1/chat/completions", {
      method: "POST",
      headers: {
        "authorization": `Bearer ${ALICE_TOKEN}`,
        "content-type": "application/json",
        "x-project": "billing-service",
        "x-other": "passes",
      },
      body: hello("chat"),
    }),
  );
  await response.text();
  const line = await lines.of(response);
  assert.deepEqual(line.attribution, { "x-project": "billing-service" });
  assert.equal(line.token_group, "interns");
  assert.equal(sent.length, 1);
  assert.match(sent.join(), /"x-other","passes"/);
  assert.doesNotMatch(sent.join(), /billing-service|x-project/);
});

/** Reads one value under a clock that stands still until it is set. */
function setUp() {
  const clock = { nowMs: NOW_MS };
  const reader = createAttributionReader({ now: () => clock.nowMs });
  const read = (value: string) =>
    reader.read(new Map([["x-team", value]]), ["x-team", "x-missing"])
      ?.["x-team"];
  return { clock, read };
}

Deno.test("a value is cut to 64 printable characters, and an empty one is none", () => {
  const { read } = setUp();
  assert.equal(read(`  a\u0007b\u00e9c ${"x".repeat(100)}`)?.length, 64);
  assert.equal(read(" core team "), "core team");
  assert.equal(read(" \u00ff "), undefined);
});

Deno.test("a header has at most 1000 values a day, and the others count together", () => {
  const { clock, read } = setUp();
  for (let count = 0; count < 1000; count++) read(`team-${count}`);
  assert.equal(read("one more"), "(other)");
  assert.equal(read("team-7"), "team-7");
  clock.nowMs += 86_400_000;
  assert.equal(read("one more"), "one more");
});
