import assert from "node:assert/strict";
import { createDeadlines } from "../../../src/core/time/deadlines.ts";
import { createLedgerDesk } from "../../../src/shared/sums/ledger_desk.ts";
import type { LedgerQuestion } from "../../../src/shared/sums/ledger_question.ts";
import { createRemoteSums } from "../../../src/shared/sums/remote_sums.ts";
import { createThreadLedger } from "../../../src/shared/sums/thread_ledger.ts";
import { createMemorySums } from "../../../src/usage/memory_sums.ts";
import type { Sum } from "../../../src/usage/sums.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { NOW_MS } from "../../support/gateway/config.ts";
import { settle } from "../../support/settle.ts";

const HOUR: Sum = { table: "hour", field: "a b", endsAtMs: NOW_MS + 3_600_000 };
const DAY: Sum = { ...HOUR, table: "day", endsAtMs: NOW_MS + 86_400_000 };

/** Threads that ask a main thread; what is sent is copied, as between threads. */
function threads() {
  const clock = createFakeClock(NOW_MS);
  const timers = createFakeTimers();
  const sums = createMemorySums(clock);
  const desk = createLedgerDesk(sums);
  const questions: LedgerQuestion[] = [];
  function start(name: string) {
    const thread = createThreadLedger(name, async (id, question) => {
      questions.push(question);
      const answer = await desk.answer(structuredClone(question));
      thread.take("of another thread", answer);
      thread.take(id, structuredClone(answer));
      thread.take(id, answer);
    });
    return createRemoteSums({
      ledger: thread.ledger,
      clock,
      deadlines: createDeadlines(timers),
      gatherMs: 20,
      waitMs: 50,
    });
  }
  return { one: start("1"), two: start("2"), sums, timers, questions };
}

Deno.test("threads reserve together, and a refusal names the limit and what is used of it", async () => {
  const { one, two, sums } = threads();
  const list = [
    { sum: HOUR, amount: 1, most: Infinity },
    { sum: DAY, amount: 1, most: 3 },
  ];
  const told = await Promise.all([one, two, one, two, one]
    .map((thread) => thread.reserve(list)));
  const refused = told.filter((one) => one !== undefined);
  assert.equal(refused.length, 2);
  for (const one of refused) {
    assert.deepEqual(one, { reservation: list[1], used: 3 });
  }
  assert.deepEqual(sums.read([HOUR, DAY]), [3, 3]);
});

Deno.test("threads gather what they count, and the table has what all have counted", async () => {
  const { one, two, sums, timers, questions } = threads();
  for (let count = 0; count < 50; count++) {
    one.add([{ sum: HOUR, amount: 2 }]);
  }
  one.begin([{ sum: DAY, amount: 7 }]);
  assert.equal(questions.length, 0);
  timers.advance(20);
  await settle();
  assert.equal(questions.length, 1);
  assert.deepEqual(sums.read([HOUR, DAY]), [100, 7]);
  assert.deepEqual([...await two.table("hour")], [["a b", 100]]);
  assert.ok(one.isSettled);
});

Deno.test("what a thread counted last is sent when it stops", async () => {
  const { one, sums } = threads();
  one.add([{ sum: HOUR, amount: 2 }]);
  one.resume();
  assert.deepEqual(sums.read([HOUR]), [2]);
  one.close();
  await settle();
});
