import assert from "node:assert/strict";
import { healthResponse } from "../../src/http/health.ts";

Deno.test("healthResponse() shows the health by its status, and forbids caching", async () => {
  const cases = [[true, 200, "ok"], [false, 503, "draining"]] as const;
  for (const [isHealthy, code, status] of cases) {
    const response = healthResponse(isHealthy);
    assert.equal(response.status, code);
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.deepEqual(await response.json(), { status });
  }
});
