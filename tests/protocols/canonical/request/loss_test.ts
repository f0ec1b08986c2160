import assert from "node:assert/strict";
import { GatewayError } from "../../../../src/core/error.ts";
import {
  createLosses,
  loseForeignExtras,
} from "../../../../src/protocols/canonical/request/loss.ts";
import { chatCodec } from "../../../../src/protocols/chat/mod.ts";
import type { RequestField } from "../../../../src/protocols/canonical/request/request.ts";
import { requestOf } from "../../../support/wire/requests.ts";

const nameOf = (field: RequestField) => chatCodec.fieldNames[field];

Deno.test("losses that are hints are dropped and named once, in the caller's spelling", () => {
  const losses = createLosses({ strict: false, nameOf });
  losses.lose({ field: "maxOutputTokens", weight: "hint", reason: "r" });
  losses.lose({ field: { extra: "prediction" }, weight: "hint", reason: "r" });
  losses.lose({ field: "maxOutputTokens", weight: "hint", reason: "other" });
  assert.deepEqual([...losses.dropped], [
    "max_completion_tokens",
    "prediction",
  ]);
});

Deno.test("losses name no more fields, and no longer ones, than a header can hold", () => {
  const losses = createLosses({ strict: false, nameOf });
  for (let count = 0; count < 1000; count++) {
    const extra = `field ${count} `.padEnd(10_000, "x");
    losses.lose({ field: { extra }, weight: "hint", reason: "r" });
  }
  assert.equal(losses.dropped.size, 64);
  for (const name of losses.dropped) assert.equal(name.length, 64);
});

Deno.test("a loss that changes the answer refuses the request and says what to do", () => {
  const losses = createLosses({ strict: false, nameOf });
  assert.throws(
    () =>
      losses.lose({
        field: { extra: "n" },
        weight: "answer",
        reason: "it gives one answer",
      }),
    (error) =>
      error instanceof GatewayError && error.status === 400 &&
      error.param === "n" &&
      error.message ===
        "Cannot pass `n` on to this model: it gives one answer. Remove it, or choose another model",
  );
  assert.equal(losses.dropped.size, 0);
});

Deno.test("a strict connection refuses every loss", () => {
  const losses = createLosses({ strict: true, nameOf });
  assert.throws(
    () => losses.lose({ field: "seed", weight: "hint", reason: "r" }),
    GatewayError,
  );
});

Deno.test("loseForeignExtras() reports other protocols' extras by weight and leaves the silent ones out", () => {
  const request = requestOf({
    extras: {
      chat: { mine: { value: 1, weight: "answer" } },
      messages: {
        loud: { value: 1, weight: "hint" },
        quiet: { value: 1, weight: "silent" },
      },
    },
  });
  const losses = createLosses({ strict: false, nameOf });
  loseForeignExtras(request, "chat", losses);
  assert.deepEqual([...losses.dropped], ["loud"]);
  assert.throws(
    () => loseForeignExtras(request, "responses", losses),
    /`mine`/,
  );
});
