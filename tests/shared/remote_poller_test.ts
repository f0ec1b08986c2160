import assert from "node:assert/strict";
import { readerOf } from "../../src/quotas/readers/mod.ts";
import { createRemotePoller } from "../../src/shared/remote_poller.ts";
import { createFakeClock } from "../support/fakes/fake_clock.ts";
import { NOW_MS } from "../support/gateway/config.ts";
import { connectionOf } from "../quotas/quota_case.ts";

const ZAI = connectionOf("zai");

Deno.test("a remote poller asks for every read, and keeps each reply as long as it is valid", async () => {
  const clock = createFakeClock(NOW_MS);
  const asked: string[] = [];
  const reading = { checkedAtMs: NOW_MS, windows: [] };
  const poller = createRemotePoller({
    clock,
    ask(id) {
      asked.push(id);
      return Promise.resolve({ reading, cached: true });
    },
  });
  const { quota } = ZAI;
  const poll = quota && readerOf(quota).poll;
  assert.ok(quota && poll);
  const limits = { budgetMs: 1000, cacheMs: 1000 };
  const source = { connection: ZAI, quota };
  const read = await poller.read(poll, { source, limits });
  assert.deepEqual(read, { reading, cached: true });
  assert.deepEqual(asked, [ZAI.id]);
  assert.equal(poller.known(ZAI), undefined);
  poller.learn(ZAI, { reading, ttlMs: 5000 });
  assert.equal(poller.known(ZAI), reading);
  poller.retain([ZAI]);
  clock.advance(4999);
  assert.equal(poller.known(ZAI), reading);
  poller.retain([]);
  assert.equal(poller.known(ZAI), undefined);
});
