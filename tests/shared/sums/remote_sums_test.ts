import assert from "node:assert/strict";
import { createDeadlines } from "../../../src/core/time/deadlines.ts";
import {
  createRemoteSums,
  type RemoteSums,
} from "../../../src/shared/sums/remote_sums.ts";
import type { Sum } from "../../../src/usage/sums.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { createRandom } from "../../support/fakes/random.ts";
import { NOW_MS } from "../../support/gateway/config.ts";
import { settle } from "../../support/settle.ts";
import { type Behaviour, createFakeLedger } from "./fake_ledger.ts";

const HOUR: Sum = {
  table: "limits\thour\talice",
  field: "requests",
  endsAtMs: NOW_MS + 3_600_000,
};
const DAY: Sum = {
  ...HOUR,
  table: "limits\tday\talice",
  endsAtMs: NOW_MS + 86_400_000,
};

/** Processes that keep sums together. */
function open(processes = 2) {
  const clock = createFakeClock(NOW_MS);
  const timers = createFakeTimers();
  const ledger = createFakeLedger(clock);
  const connections = Array.from({ length: processes }, ledger.connect);
  const all = connections.map((connection) =>
    createRemoteSums({
      ledger: connection,
      clock,
      deadlines: createDeadlines(timers),
      gatherMs: 100,
      waitMs: 40,
    })
  );
  const [one, two] = all;
  const [link] = connections;
  assert.ok(one && two && link);
  async function pass(ms: number): Promise<void> {
    await settle();
    clock.advance(ms);
    timers.advance(ms);
    await settle();
  }
  return { clock, ledger, all, one, two, link, pass };
}

function take(sums: RemoteSums, most: number, sum = HOUR, amount = 1) {
  return sums.reserve([{ sum, amount, most }]);
}

function add(sums: RemoteSums, amount: number, sum = HOUR): void {
  sums.add([{ sum, amount }]);
}

Deno.test("what is added is known here at once, and elsewhere a little later", async () => {
  const { ledger, one, two, pass } = open();
  add(one, 5);
  add(one, 2);
  assert.deepEqual(one.read([HOUR]), [7]);
  assert.deepEqual(two.read([HOUR]), [0]);
  assert.equal(ledger.batches, 0);
  await pass(100);
  assert.equal(ledger.sums.read([HOUR])[0], 7);
  assert.ok(one.isSettled);
  two.read([HOUR]);
  await pass(1001);
  two.read([HOUR]);
  await pass(100);
  assert.deepEqual(two.read([HOUR]), [7]);
});

Deno.test("a process that never added learns a sum soon after it first reads it", async () => {
  const { one, two, pass } = open();
  add(one, 5);
  await pass(100);
  assert.deepEqual(two.read([HOUR]), [0]);
  await pass(100);
  assert.deepEqual(two.read([HOUR]), [5]);
});

Deno.test("reserve() never grants more than there is, whoever asks at once", async () => {
  const { all, ledger, pass } = open(3);
  const granted: boolean[] = [];
  const asking = Array.from({ length: 90 }, async (_, index) => {
    const sums = all[index % 3];
    assert.ok(sums);
    granted.push(await take(sums, 50) === undefined);
  });
  await Promise.all(asking);
  assert.equal(granted.filter((one) => one).length, 50);
  await pass(100);
  assert.equal(ledger.sums.read([HOUR])[0], 50);
});

Deno.test("reserve() adds all or nothing, and says what is used of the one that does not fit", async () => {
  const { one, two, ledger } = open();
  await take(two, 9, DAY, 4);
  const list = [
    { sum: HOUR, amount: 1, most: 10 },
    { sum: DAY, amount: 2, most: 5 },
  ];
  const refused = await one.reserve(list);
  assert.deepEqual(refused, { reservation: list[1], used: 4 });
  assert.deepEqual(ledger.sums.read([HOUR, DAY]), [0, 4]);
  assert.deepEqual(one.read([HOUR, DAY]), [0, 4]);
});

Deno.test("reserve() counts what was added here and has not been sent", async () => {
  const { one, two } = open();
  add(one, 3);
  assert.notEqual(await take(one, 3), undefined);
  add(one, -1);
  assert.equal(await take(one, 3), undefined);
  assert.notEqual(await take(two, 3), undefined);
});

Deno.test("reserve() sends no more than what it concerns; the rest is gathered", async () => {
  const { one, ledger, pass } = open();
  add(one, 1);
  add(one, 5, DAY);
  await take(one, 9);
  assert.deepEqual(ledger.sums.read([HOUR, DAY]), [2, 0]);
  await pass(100);
  assert.deepEqual(ledger.sums.read([HOUR, DAY]), [2, 5]);
  assert.ok(one.isSettled);
});

Deno.test("an empty reservation asks nobody", () => {
  assert.equal(open().one.reserve([]), undefined);
});

Deno.test("while the ledger is away what is known here decides at once, and the ledger gets it afterwards", async () => {
  const { ledger, one, two, link, pass } = open();
  await take(two, 9, HOUR, 2);
  one.read([HOUR]);
  await pass(100);
  link.isAway = true;
  assert.equal(take(one, 4), undefined);
  assert.equal(take(one, 4), undefined);
  assert.ok(!(take(one, 4) instanceof Promise));
  assert.notEqual(take(one, 4), undefined);
  add(one, 10, DAY);
  await pass(60_000);
  assert.equal(ledger.sums.read([HOUR])[0], 2);
  assert.ok(!one.isSettled);
  link.isAway = false;
  one.resume();
  await settle();
  assert.deepEqual(ledger.sums.read([HOUR, DAY]), [4, 10]);
  assert.ok(one.isSettled);
});

Deno.test("reserve() waits no longer than it may, and what the ledger says later is made good", async (t) => {
  const cases = [
    { name: "granted by both", used: 0, elsewhere: 0, granted: true, sum: 1 },
    {
      name: "granted here, refused there",
      used: 0,
      elsewhere: 3,
      granted: true,
      sum: 4,
    },
    {
      name: "refused here, granted there",
      used: 3,
      elsewhere: -3,
      granted: false,
      sum: 0,
    },
    { name: "refused by both", used: 3, elsewhere: 0, granted: false, sum: 3 },
  ];
  for (const { name, used, elsewhere, granted, sum } of cases) {
    await t.step(name, async () => {
      const { ledger, one, two, pass } = open();
      add(one, used);
      await pass(100);
      add(two, elsewhere);
      await pass(100);
      ledger.behaviour = "waits";
      let refused: unknown = "none yet";
      const asked = Promise.resolve(take(one, 3)).then((told) =>
        refused = told
      );
      await pass(39);
      assert.equal(refused, "none yet");
      await pass(1);
      await asked;
      assert.equal(refused === undefined, granted);
      assert.deepEqual(one.read([HOUR]), [used + (granted ? 1 : 0)]);
      ledger.behaviour = "answers";
      ledger.release();
      await pass(200);
      assert.equal(ledger.sums.read([HOUR])[0], sum);
      assert.deepEqual(one.read([HOUR]), [sum]);
      assert.ok(one.isSettled);
    });
  }
});

Deno.test("reservations that nobody answers count against each other here", async () => {
  const { ledger, one, pass } = open();
  ledger.behaviour = "waits";
  const asked = Array.from({ length: 5 }, () => take(one, 3));
  await pass(40);
  const refused = (await Promise.all(asked)).filter((told) =>
    told !== undefined
  );
  assert.equal(refused.length, 2);
  assert.deepEqual(one.read([HOUR]), [3]);
  ledger.behaviour = "answers";
  ledger.release();
  await pass(200);
  assert.equal(ledger.sums.read([HOUR])[0], 3);
});

Deno.test("a reservation whose answer is lost is decided here, and counted", async () => {
  const { ledger, one, pass } = open();
  ledger.behaviour = "breaks before";
  assert.equal(await take(one, 1), undefined);
  assert.notEqual(await take(one, 1), undefined);
  ledger.behaviour = "answers";
  await pass(200);
  assert.equal(ledger.sums.read([HOUR])[0], 1);
  assert.deepEqual(one.read([HOUR]), [1]);
});

Deno.test("additions arrive once, however their batches break", async () => {
  const random = createRandom(15);
  const { ledger, one, pass } = open();
  const ways: Behaviour[] = ["answers", "breaks after", "breaks before"];
  let sum = 0;
  for (let round = 0; round < 300; round++) {
    ledger.behaviour = random.pick(ways);
    const amount = random.below(9) - 2;
    add(one, amount, random.pick([HOUR, DAY]));
    sum += amount;
    await pass(random.pick([100, 30]));
    const [hour = 0, day = 0] = one.read([HOUR, DAY]);
    assert.equal(hour + day, sum);
  }
  ledger.behaviour = "answers";
  await pass(200);
  const [hour = 0, day = 0] = ledger.sums.read([HOUR, DAY]);
  assert.equal(hour + day, sum);
  assert.ok(one.isSettled);
});

Deno.test("more than one batch holds arrives in several, in order", async () => {
  const { ledger, one, pass } = open();
  const sums = Array.from(
    { length: 1203 },
    (_, index) => ({ ...HOUR, field: String(index) }),
  );
  for (const sum of sums) add(one, 1, sum);
  await pass(100);
  assert.equal(ledger.batches, 3);
  assert.ok(ledger.sums.read(sums).every((value) => value === 1));
});

Deno.test("a ledger that lost everything gets back what processes know, and what it never had", async () => {
  const { ledger, one, two, link, pass } = open();
  add(one, 5);
  add(two, 7);
  await pass(100);
  one.read([HOUR]);
  await pass(1001);
  one.read([HOUR]);
  await pass(100);
  assert.deepEqual(one.read([HOUR]), [12]);
  link.isAway = true;
  add(one, 1);
  ledger.lose();
  link.isAway = false;
  one.resume();
  await pass(200);
  assert.equal(ledger.sums.read([HOUR])[0], 13);
  add(two, 2);
  await pass(100);
  await pass(100);
  assert.equal(ledger.sums.read([HOUR])[0], 15);
  assert.ok(one.isSettled && two.isSettled);
});

Deno.test("begin() gives a sum its beginning once, whoever begins it", async () => {
  const { ledger, one, two, pass } = open();
  one.begin([{ sum: HOUR, amount: 30 }]);
  assert.deepEqual(one.read([HOUR]), [30]);
  add(one, 1);
  await pass(100);
  two.begin([{ sum: HOUR, amount: 99 }]);
  await pass(100);
  assert.equal(ledger.sums.read([HOUR])[0], 31);
  assert.deepEqual(two.read([HOUR]), [31]);
  one.begin([{ sum: HOUR, amount: 99 }]);
  await pass(100);
  assert.equal(ledger.sums.read([HOUR])[0], 31);
});

Deno.test("table() shows what all have added, and what is known here when the ledger does not answer", async () => {
  const { ledger, one, two, link, pass } = open();
  const tokens = { ...HOUR, field: "tokens" };
  add(one, 1);
  add(two, 5, tokens);
  await pass(100);
  add(one, 1);
  const all = [["requests", 2], ["tokens", 5]];
  assert.deepEqual([...await one.table(HOUR.table)].sort(), all);
  ledger.behaviour = "breaks before";
  assert.deepEqual([...await one.table(HOUR.table)].sort(), all);
  ledger.behaviour = "waits";
  const late = Promise.resolve(one.table(HOUR.table));
  await pass(40);
  assert.deepEqual([...await late].sort(), all);
  ledger.release();
  link.isAway = true;
  assert.deepEqual([...await one.table(HOUR.table)].sort(), all);
  assert.deepEqual([...await one.table("another")], []);
});

Deno.test("a sum that has ended is nothing, and nothing is added to it", async () => {
  const { ledger, one, pass } = open();
  add(one, 5);
  await pass(100);
  await pass(3_600_000);
  assert.deepEqual(one.read([HOUR]), [0]);
  add(one, 5);
  one.begin([{ sum: HOUR, amount: 5 }]);
  const { batches } = ledger;
  await pass(200);
  assert.equal(ledger.batches, batches);
  assert.deepEqual([...await one.table(HOUR.table)], []);
});

Deno.test("a sum to which 0 is added is there, and one that is only read is not", async () => {
  const { ledger, one, two, link, pass } = open();
  add(one, 0);
  one.read([{ ...HOUR, field: "tokens" }]);
  assert.deepEqual([...await one.table(HOUR.table)], [["requests", 0]]);
  await pass(100);
  assert.deepEqual([...ledger.sums.table(HOUR.table)], [["requests", 0]]);
  assert.deepEqual([...await two.table(HOUR.table)], [["requests", 0]]);
  link.isAway = true;
  assert.deepEqual([...await one.table(HOUR.table)], [["requests", 0]]);
});

Deno.test("what others have counted in a table is known here afterwards, also while the ledger is away", async () => {
  const { one, two, link, pass } = open();
  const tokens = { ...HOUR, field: "tokens" };
  add(two, 5, tokens);
  await pass(100);
  add(one, 1);
  await one.table(HOUR.table);
  link.isAway = true;
  const all = [["requests", 1], ["tokens", 5]];
  assert.deepEqual([...await one.table(HOUR.table)].sort(), all);
});
