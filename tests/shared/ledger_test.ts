import assert from "node:assert/strict";
import { createDeadlines } from "../../src/core/time/deadlines.ts";
import { randomIds } from "../../src/core/ids.ts";
import {
  answerLedgerCall,
  createThreadLedger,
  type LedgerCall,
} from "../../src/shared/ledger.ts";
import { createRemoteSums } from "../../src/shared/remote_sums.ts";
import { createMemorySums } from "../../src/usage/memory_sums.ts";
import type { Sum } from "../../src/usage/sums.ts";
import { createFakeClock } from "../support/fakes/fake_clock.ts";
import { createFakeTimers } from "../support/fakes/fake_timers.ts";
import { NOW_MS } from "../support/gateway/config.ts";
import { settle } from "../support/settle.ts";

import { to } from "../support/fakes/addition.ts";

const HOUR: Sum = { table: "hour", field: "a b", endsAtMs: NOW_MS + 3_600_000 };
const DAY: Sum = { ...HOUR, table: "day", endsAtMs: NOW_MS + 86_400_000 };

/** Threads that call the ledger of a main thread; what is sent is copied, as between threads. */
function threads() {
  const clock = createFakeClock(NOW_MS);
  const timers = createFakeTimers();
  const sums = createMemorySums(clock);
  const calls: LedgerCall[] = [];
  function start(name: string) {
    const thread = createThreadLedger(name, async (id, call) => {
      calls.push(call);
      const reply = await answerLedgerCall(structuredClone(call), sums);
      thread.take("of another thread", reply);
      thread.take(id, structuredClone(reply));
      thread.take(id, reply);
    });
    return createRemoteSums({
      ledger: thread.ledger,
      clock,
      deadlines: createDeadlines(timers),
      ids: randomIds,
      gatherMs: 20,
      waitMs: 50,
    });
  }
  async function pass(ms: number): Promise<void> {
    clock.advance(ms);
    timers.advance(ms);
    await settle();
  }
  return { one: start("1"), two: start("2"), sums, pass, calls };
}

function claims(most: number) {
  return [
    { sums: [HOUR], key: "hour", amount: 1, most: Infinity },
    { sums: [DAY], key: "day", amount: 1, most },
  ];
}

Deno.test("threads are granted together what there is, and learn how far each limit is used", async () => {
  const { one, two, sums } = threads();
  const decisions = await Promise.all([one, two, one, two, one]
    .map((thread, index) => thread.reserve(`request ${index}`, claims(3))));
  const refused = decisions.filter(({ isGranted }) => !isGranted);
  assert.equal(refused.length, 2);
  for (const { uses } of refused) {
    assert.deepEqual(uses, [{ counted: [0], held: 3 }, {
      counted: [0],
      held: 3,
    }]);
  }
  assert.deepEqual(
    await two.uses(claims(3)),
    sums.uses(claims(3)),
  );
});

Deno.test("threads gather what they count, and each reads what all have counted", async () => {
  const { one, two, sums, pass, calls } = threads();
  for (let count = 0; count < 50; count++) {
    one.apply({ additions: [to(HOUR, 2)] });
  }
  assert.equal(calls.length, 0);
  await pass(20);
  assert.equal(calls.length, 1);
  assert.deepEqual(sums.read([HOUR]), [100]);
  assert.deepEqual([...await two.table("hour")], [["a b", 100]]);
  assert.deepEqual(await two.read([HOUR]), [100]);
  assert.equal(two.sinceMs, sums.sinceMs);
  assert.ok(one.isSettled);
});

Deno.test("one of all threads is the first", async () => {
  const { one, two } = threads();
  const asked = await Promise.all([one, two, one]
    .map((thread) => thread.once("name", NOW_MS + 1000)));
  assert.deepEqual(asked, [true, false, false]);
});

Deno.test("what a dead thread held comes back within two minutes, and what a living one holds stays", async () => {
  const { one, two, sums, pass } = threads();
  await one.reserve("of a dead thread", claims(9));
  one.close();
  await two.reserve("of a living thread", claims(9));
  for (let count = 0; count < 5; count++) await pass(30_000);
  const held = sums.uses(claims(9)).map((use) => use.held);
  assert.deepEqual(held, [1, 1]);
  two.close();
});

Deno.test("what a thread counted last is sent when it stops", async () => {
  const { one, sums } = threads();
  one.apply({ additions: [to(HOUR, 2)] });
  one.resume();
  assert.deepEqual(sums.read([HOUR]), [2]);
  one.close();
  await settle();
});
