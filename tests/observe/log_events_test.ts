import assert from "node:assert/strict";
import {
  type EventFields,
  levelOf,
  LOG_EVENTS,
} from "../../src/observe/log_events.ts";
import { LOG_FIELDS } from "../../src/observe/log_fields.ts";

/** How a request ended, in what decides about the level of its line. */
type Outcome = Pick<EventFields<"request">, "ended" | "status" | "failure">;

const OUTCOMES: Readonly<Record<string, readonly [Outcome, level: string]>> = {
  "a whole answer": [{ ended: "complete", status: 200 }, "info"],
  "a 4xx of the gateway": [{ ended: "error", status: 401 }, "info"],
  "a caller who left before": [{ ended: "client_abort", status: 499 }, "info"],
  "a caller who left a stream": [
    { ended: "client_abort", status: 200, failure: "broken" },
    "info",
  ],
  "a request that the provider refuses": [
    { ended: "complete", status: 400, failure: "refused" },
    "info",
  ],
  "a prompt that is too long": [
    { ended: "error", status: 400, failure: "too_long" },
    "info",
  ],
  "a request that cannot be translated": [
    { ended: "error", status: 400, failure: "untranslatable" },
    "info",
  ],
  "a provider that limits the gateway": [
    { ended: "complete", status: 429, failure: "rate_limited" },
    "warn",
  ],
  "a provider that cannot be reached": [
    { ended: "error", status: 502, failure: "unreachable" },
    "warn",
  ],
  "a stream that the provider broke off": [
    { ended: "upstream_broken", status: 200, failure: "broken" },
    "warn",
  ],
  "a stream that the gateway cut": [{ ended: "error", status: 200 }, "warn"],
  "a machine without a free descriptor": [
    { ended: "error", status: 503, failure: "gateway_shortage" },
    "error",
  ],
  "a gateway that is full": [{ ended: "error", status: 503 }, "error"],
  "a fault of the program": [{ ended: "error", status: 500 }, "error"],
};

Deno.test("the line of a request is an error when the gateway failed, and a warning when the provider's failure reached the caller", async (t) => {
  for (const [name, [outcome, level]] of Object.entries(OUTCOMES)) {
    await t.step(name, () => {
      const line = {
        request_id: "req_1",
        method: "POST",
        bytes_in: 0,
        bytes_out: 0,
        total_ms: 0,
        ...outcome,
      };
      assert.equal(levelOf("request", line), level);
    });
  }
});

Deno.test("every field of the table belongs to an event, and no event names a field twice", () => {
  const named = new Set<string>();
  for (const [event, { fields, optional }] of Object.entries(LOG_EVENTS)) {
    const all: readonly string[] = [...fields, ...optional];
    assert.equal(new Set(all).size, all.length, event);
    for (const name of all) named.add(name);
  }
  assert.deepEqual([...named].sort(), Object.keys(LOG_FIELDS).sort());
});
