import assert from "node:assert/strict";
import { GatewayError } from "../../src/core/error.ts";
import { failureResponse } from "../../src/http/failure_response.ts";
import { spentFailure } from "../../src/relay/routing/outlook.ts";
import { createMemoryLog } from "../support/fakes/memory_log.ts";
import { NOW_MS } from "../support/gateway/config.ts";
import { openTestRecord } from "../support/gateway/open_record.ts";
import { PROTOCOLS } from "../support/wire/ask.ts";

const YEAR_MS = 365 * 86_400_000;

for (const protocol of PROTOCOLS) {
  Deno.test(`a quota that is used up for years tells a caller of ${protocol} no wait that a timer cannot hold`, () => {
    const failure = spentFailure(NOW_MS + YEAR_MS, NOW_MS);
    const { response: { headers, status } } = failureResponse(failure, {
      protocol,
      record: openTestRecord().record,
      log: createMemoryLog(),
    });
    assert.equal(status, 429);
    assert.equal(headers.get("retry-after"), "2147483");
    assert.equal(headers.get("x-should-retry"), "false");
  });
}

Deno.test("the facts of a failed request name what was wrong where a provider was too slow, and no reason that may quote the caller", () => {
  const log = createMemoryLog();
  const factsOf = (kind: "timeout" | "overloaded" | "invalid_request") => {
    const { record } = openTestRecord();
    const thrown = new GatewayError(kind, "some words");
    failureResponse(thrown, { protocol: "chat", record, log });
    const { error, failure, reason } = record.facts;
    return { error, failure, reason };
  };
  assert.deepEqual(factsOf("timeout"), {
    error: "timeout",
    failure: "silent",
    reason: "some words",
  });
  assert.deepEqual(factsOf("overloaded"), {
    error: "overloaded",
    failure: undefined,
    reason: "some words",
  });
  assert.deepEqual(factsOf("invalid_request"), {
    error: "invalid_request",
    failure: undefined,
    reason: undefined,
  });
});
