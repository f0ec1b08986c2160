import assert from "node:assert/strict";
import { createAdminHandler } from "../../src/http/admin.ts";

function admin(isReady = true) {
  const handler = createAdminHandler({
    hasShortage: () => false,
    isReady: () => isReady,
    metrics: () => Promise.resolve("a_total 1\n"),
    metricsType: "text/plain; version=0.0.4",
  });
  return (path: string, init?: RequestInit) =>
    handler(new Request(`http://127.0.0.1:9090${path}`, init));
}

Deno.test("the second listener answers /metrics with the exposition", async () => {
  const answer = await admin()("/metrics?x=1");
  assert.equal(answer.status, 200);
  assert.equal(
    answer.headers.get("content-type"),
    "text/plain; version=0.0.4",
  );
  assert.equal(await answer.text(), "a_total 1\n");
});

Deno.test("the second listener reports liveness and readiness", async () => {
  assert.equal((await admin(false)("/livez")).status, 200);
  assert.equal((await admin(true)("/readyz")).status, 200);
  assert.equal((await admin(false)("/readyz")).status, 503);
});

Deno.test("the second listener has no other path and accepts no body", async () => {
  for (const path of ["/", "/metrics/", "/v1/models", "/__proto__"]) {
    assert.equal((await admin()(path)).status, 404, path);
  }
  const answer = await admin()("/metrics", { method: "POST" });
  assert.equal(answer.status, 405);
  assert.equal(answer.headers.get("allow"), "GET, HEAD");
});
