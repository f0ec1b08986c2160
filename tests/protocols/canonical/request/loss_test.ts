import assert from "node:assert/strict";
import { GatewayError } from "../../../../src/core/error.ts";
import {
  createLosses,
  dropCacheMarks,
  dropForeignExtras,
  type LostField,
} from "../../../../src/protocols/canonical/request/loss.ts";
import type { RequestField } from "../../../../src/protocols/canonical/request/request.ts";
import { chatCodec } from "../../../../src/protocols/chat/mod.ts";
import { messagesCodec } from "../../../../src/protocols/messages/mod.ts";
import { requestOf } from "../../../support/wire/requests.ts";

const nameOf = (field: RequestField) => chatCodec.fieldNames[field];

Deno.test("losses without an effect on the answer are dropped and named once, in the caller's spelling", () => {
  const losses = createLosses({ strict: false, nameOf });
  losses.reportDropped("maxOutputTokens", "r");
  losses.reportDropped({ extra: "prediction" }, "r");
  losses.reportDropped("maxOutputTokens", "other");
  assert.deepEqual([...losses.dropped], [
    "max_completion_tokens",
    "prediction",
  ]);
});

Deno.test("losses name no more fields, and no longer ones, than a header can hold", () => {
  const losses = createLosses({ strict: false, nameOf });
  for (let count = 0; count < 1000; count++) {
    const extra = `field ${count} `.padEnd(10_000, "x");
    losses.reportDropped({ extra }, "r");
  }
  assert.equal(losses.dropped.size, 64);
  for (const name of losses.dropped) assert.equal(name.length, 64);
});

Deno.test("a loss that changes the answer rejects the request with an instruction", () => {
  const losses = createLosses({ strict: false, nameOf });
  assert.throws(
    () => losses.reportDropped({ extra: "n" }, "it gives one answer", "reject"),
    (error) =>
      error instanceof GatewayError && error.status === 400 &&
      error.param === "n" &&
      error.message ===
        "Cannot pass `n` on to this model: it gives one answer. Remove it, or choose another model.",
  );
  assert.equal(losses.dropped.size, 0);
});

Deno.test("a strict connection rejects every loss", () => {
  const losses = createLosses({ strict: true, nameOf });
  assert.throws(
    () => losses.reportDropped("seed", "r"),
    GatewayError,
  );
});

Deno.test("dropForeignExtras() reports other protocols' extras by weight and leaves the silent ones out", () => {
  const request = requestOf({
    extras: {
      chat: { mine: { value: 1, weight: "reject" } },
      messages: {
        loud: { value: 1, weight: "report" },
        quiet: { value: 1, weight: "ignore" },
      },
    },
  });
  const losses = createLosses({ strict: false, nameOf });
  dropForeignExtras(request, "chat", losses);
  assert.deepEqual([...losses.dropped], ["loud"]);
  assert.throws(
    () => dropForeignExtras(request, "responses", losses),
    /`mine`/,
  );
});

Deno.test("dropForeignExtras() reports OpenAI's settings that a target does not accept", () => {
  const value = "x";
  const request = requestOf({
    user: "anna",
    cacheOptions: { protocol: "chat", value },
    cacheRetention: { protocol: "chat", value },
    safetyIdentifier: { protocol: "chat", value },
  });
  const reportOf = (
    one: typeof request,
    taken: Parameters<typeof dropForeignExtras>[3] = {},
  ) => {
    const losses = createLosses({ strict: false, nameOf });
    dropForeignExtras(one, "messages", losses, taken);
    return [...losses.dropped];
  };
  assert.deepEqual(reportOf(request), [
    "prompt_cache_options",
    "prompt_cache_retention",
    "safety_identifier",
  ]);
  assert.deepEqual(reportOf(request, { cacheOptions: true }), [
    "prompt_cache_retention",
    "safety_identifier",
  ]);
  assert.deepEqual(reportOf({ ...request, user: value }, {}), [
    "prompt_cache_options",
    "prompt_cache_retention",
  ]);
  const asking = requestOf({ logprobs: {} });
  assert.throws(() => reportOf(asking), /Cannot pass `logprobs`/);
  assert.deepEqual(reportOf(asking, { logprobs: true }), []);
});

const MARK = { cache_control: { type: "ephemeral" } };

const QUESTION = { model: "m", max_tokens: 1 };

const TEXT = { type: "text", text: "Hello" };

/** The places of a Messages request that can have a cache marker. */
const MARKED = {
  "the request": { messages: [{ role: "user", content: "Hello" }], ...MARK },
  "a system text": {
    system: [{ ...TEXT, ...MARK }],
    messages: [{ role: "user", content: "Hello" }],
  },
  "a tool": {
    tools: [{ name: "t", input_schema: { type: "object" }, ...MARK }],
    messages: [{ role: "user", content: "Hello" }],
  },
  "a user's text": {
    messages: [{ role: "user", content: [{ ...TEXT, ...MARK }] }],
  },
  "the content of a tool's result": {
    messages: [
      { role: "user", content: "Hello" },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "toolu_1", name: "t", input: {} }],
      },
      {
        role: "user",
        content: [{
          type: "tool_result",
          tool_use_id: "toolu_1",
          content: [{ ...TEXT, ...MARK }],
        }],
      },
    ],
  },
};

interface Loss {
  readonly field: LostField;
  readonly weight: string;
}

function lossesOf(body: Record<string, unknown>): Loss[] {
  const losses: Loss[] = [];
  const request = messagesCodec.decodeRequest(
    JSON.parse(JSON.stringify({ ...QUESTION, ...body })),
  );
  dropCacheMarks(request, {
    reportDropped: (field, _reason, weight = "report") =>
      losses.push({ field, weight }),
  });
  return losses;
}

Deno.test("lost cache marks at any place are reported once", async (t) => {
  for (const [place, body] of Object.entries(MARKED)) {
    await t.step(`on ${place}`, () => {
      const [loss, ...more] = lossesOf(body);
      assert.deepEqual([loss?.field, loss?.weight], ["cache", "report"]);
      assert.deepEqual(more, []);
    });
  }
});

Deno.test("nothing is reported of a request without cache marks", () => {
  const messages = [{ role: "user", content: [TEXT] }];
  assert.deepEqual(lossesOf({ messages }), []);
});
