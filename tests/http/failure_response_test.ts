import assert from "node:assert/strict";
import { failureResponse } from "../../src/http/failure_response.ts";
import { spentFailure } from "../../src/relay/routing/spent.ts";
import { createMemoryLog } from "../support/fakes/memory_log.ts";
import { NOW_MS } from "../support/gateway/config.ts";
import { openTestRecord } from "../support/gateway/open_record.ts";
import { PROTOCOLS } from "../support/wire/ask.ts";

const YEAR_MS = 365 * 86_400_000;

for (const protocol of PROTOCOLS) {
  Deno.test(`a quota that is used up for years tells a caller of ${protocol} no wait that a timer cannot hold`, () => {
    const failure = spentFailure(NOW_MS + YEAR_MS, NOW_MS);
    const { headers, status } = failureResponse(failure, {
      protocol,
      record: openTestRecord().record,
      log: createMemoryLog(),
    });
    assert.equal(status, 429);
    assert.equal(headers.get("retry-after"), "2147483");
    assert.equal(headers.get("x-should-retry"), "false");
  });
}
