import assert from "node:assert/strict";
import { workerShare } from "../../src/config/worker_share.ts";
import {
  connectionFile,
  minimalConfig,
  tokenFile,
} from "../support/gateway/config.ts";

Deno.test("workerShare() divides every limit on what runs at once, rounded up, and nothing else", async () => {
  const config = await minimalConfig({
    server: { max_concurrent_requests: 100, max_body_memory: "600MiB" },
    connections: [connectionFile({ max_concurrent: 10 })],
    tokens: [tokenFile({ max_concurrent: 1 })],
  });
  const share = workerShare(config, 3);
  const [connection] = share.connections;
  const [caller] = share.callers.values();
  assert.equal(share.server.maxConcurrentRequests, 34);
  assert.equal(share.server.maxBodyMemoryBytes, 200 * 1024 ** 2);
  assert.equal(connection?.maxConcurrent, 4);
  assert.equal(caller?.maxConcurrent, 1);
  assert.equal(share.pools.get("model-a")?.[0]?.connection, connection);
  const whole = workerShare(share, 1);
  assert.deepEqual(whole, share);
  assert.equal(share.timeouts, config.timeouts);
});

Deno.test("workerShare() leaves what has no limit without one", async () => {
  const share = workerShare(await minimalConfig(), 4);
  assert.equal(share.connections[0]?.maxConcurrent, undefined);
});
