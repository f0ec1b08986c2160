import assert from "node:assert/strict";
import { GatewayError } from "../../src/core/error.ts";
import { limitsResponse } from "../../src/http/reports.ts";
import type { QuotaService } from "../../src/quotas/service.ts";
import { CallerLeft } from "../../src/upstream/call.ts";
import { minimalConfig } from "../support/gateway/config.ts";

async function ask(
  read: QuotaService["read"],
  { query = "", signal }: { query?: string; signal?: AbortSignal } = {},
): Promise<Response> {
  const config = await minimalConfig();
  const [caller] = config.callers.values();
  assert.ok(caller);
  const request = new Request(`http://gateway/v1/limits${query}`, {
    ...(signal === undefined ? {} : { signal }),
  });
  return await limitsResponse(request, { caller, config, quotas: { read } });
}

const LIST = {
  object: "list",
  scope: "provider",
  refresh_after_seconds: 60,
  data: [],
} as const;

Deno.test("limitsResponse() returns the service's list, and forbids caching", async () => {
  const response = await ask((caller, config) => {
    assert.equal(caller.name, "alice");
    assert.equal(config.connections.length, 1);
    return Promise.resolve(LIST);
  });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("cache-control"), "no-store");
  assert.deepEqual(await response.json(), LIST);
});

Deno.test("limitsResponse() rejects a query, except an empty one", async () => {
  const read = () => Promise.resolve(LIST);
  for (const query of ["?a=1", "?a", "?="]) {
    await assert.rejects(ask(read, { query }), (error) => {
      assert.ok(error instanceof GatewayError);
      assert.equal(error.kind, "invalid_request");
      return true;
    });
  }
  assert.equal((await ask(read, { query: "?" })).status, 200);
});

Deno.test("limitsResponse() forwards the service's errors", async () => {
  const error = new GatewayError("timeout", "Too late");
  await assert.rejects(ask(() => Promise.reject(error)), error);
});

Deno.test("limitsResponse() forwards the caller's disconnect", async () => {
  const caller = new AbortController();
  const asking = ask((_caller, _config, signal) => {
    caller.abort();
    assert.ok(signal?.aborted);
    return Promise.reject(signal.reason);
  }, { signal: caller.signal });
  await assert.rejects(asking, CallerLeft);
});
