import assert from "node:assert/strict";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import { randomIds } from "../../../src/base/ids.ts";
import { RemoteSums } from "../../../src/gateway/shared/remote_sums.ts";
import {
  type Decision,
  type Soon,
  type Sum,
  usedOf,
} from "../../../src/gateway/usage/sums.ts";
import { daysTable } from "../../../src/gateway/usage/history.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { createRandom } from "../../support/fakes/random.ts";
import { NOW_MS } from "../../support/gateway/config.ts";
import { settle } from "../../support/settle.ts";
import { type Behaviour, createFakeLedger } from "./fake_ledger.ts";

import { to } from "../../support/fakes/addition.ts";
import { steps } from "../../support/steps.ts";

const HOUR: Sum = {
  table: "hour alice",
  field: "requests",
  endsAtMs: NOW_MS + 3_600_000,
};
const DAY: Sum = { ...HOUR, table: "day alice", endsAtMs: NOW_MS + 86_400_000 };

/** Opens processes with a common ledger. */
function open(processes = 2) {
  const clock = createFakeClock(NOW_MS);
  const timers = createFakeTimers();
  const ledger = createFakeLedger(clock);
  const connections = Array.from({ length: processes }, ledger.connect);
  const all = connections.map((connection) =>
    new RemoteSums({
      ledger: connection,
      clock,
      deadlines: createDeadlines(timers),
      ids: randomIds,
      gatherMs: 100,
      waitMs: 40,
    })
  );
  const [one, two] = all;
  const [link, secondLink] = connections;
  assert.ok(one && two && link && secondLink);
  async function pass(ms: number): Promise<void> {
    await settle();
    clock.advance(ms);
    timers.advance(ms);
    await settle();
  }
  return { clock, ledger, all, one, two, link, secondLink, pass };
}

let requests = 0;

/** Returns a claim on the sum of an hour. */
function claim(most: number, { sum = HOUR, amount = 1 } = {}) {
  return { sums: [sum], key: "alice", amount, most };
}

/** Claims one request, each time for a new one. */
function take(sums: RemoteSums, most: number): Soon<Decision> {
  return sums.reserve(`request ${++requests}`, [claim(most)]);
}

async function isGranted(decision: Soon<Decision>): Promise<boolean> {
  return (await decision).isGranted;
}

function add(sums: RemoteSums, amount: number, sum = HOUR): void {
  sums.apply({ additions: [to(sum, amount)] });
}

async function used(sums: RemoteSums, sum = HOUR): Promise<number> {
  const [use] = await sums.uses([{ sums: [sum], key: "alice" }]);
  return usedOf(use);
}

Deno.test("a process sees its additions at once, and other processes see them after they are sent", async () => {
  const { ledger, one, two, pass } = open();
  add(one, 5);
  add(one, 2);
  assert.deepEqual(await one.read([HOUR]), [7]);
  assert.deepEqual(await two.read([HOUR]), [0]);
  assert.equal(ledger.batches, 0);
  await pass(100);
  assert.equal(ledger.batches, 1);
  assert.deepEqual(await two.read([HOUR]), [7]);
  assert.ok(one.isSettled);
});

Deno.test("the first read of a process returns the ledger's number", async () => {
  const { one, two, pass } = open();
  add(one, 100);
  await pass(100);
  assert.equal(await used(two), 100);
  assert.deepEqual([...await two.table(HOUR.table)], [["requests", 100]]);
});

Deno.test("read() asks the ledger only for sums that are too old", async () => {
  const { one, two, pass } = open();
  assert.deepEqual(await two.read([HOUR], 1000), [0]);
  add(one, 5);
  await pass(999);
  const fresh = two.read([HOUR], 1000);
  assert.ok(!(fresh instanceof Promise));
  assert.deepEqual(fresh, [0]);
  await pass(2);
  assert.deepEqual(await two.read([HOUR], 1000), [5]);
});

Deno.test("concurrent claims of several processes never exceed the limit", async () => {
  const { all } = open(3);
  const asking = Array.from({ length: 90 }, (_, index) => {
    const sums = all[index % 3];
    assert.ok(sums);
    return isGranted(take(sums, 50));
  });
  const granted = (await Promise.all(asking)).filter((one) => one);
  assert.equal(granted.length, 50);
});

Deno.test("a request gets all of its claims or none, with the use of each limit", async () => {
  const { one, two, pass } = open();
  add(two, 4, DAY);
  await pass(100);
  const decision = await one.reserve("all or none", [
    claim(10),
    { ...claim(5, { sum: DAY, amount: 2 }), key: "alice by day" },
  ]);
  assert.deepEqual(decision, {
    isGranted: false,
    uses: [{ counted: [0], held: 0 }, { counted: [4], held: 0 }],
  });
  assert.equal(await used(one), 0);
});

Deno.test("a claim counts additions that are not sent yet", async () => {
  const { one, two } = open();
  add(one, 3);
  assert.equal(await isGranted(take(one, 3)), false);
  assert.equal(await isGranted(take(two, 3)), false);
  assert.equal(await isGranted(take(one, 4)), true);
});

Deno.test("a claim sends additions to its own tables at once, and additions to other tables later", async () => {
  const { one, ledger, pass } = open();
  add(one, 1);
  add(one, 5, DAY);
  await take(one, 9);
  assert.deepEqual(ledger.sums.read([HOUR, DAY]), [1, 0]);
  await pass(100);
  assert.deepEqual(ledger.sums.read([HOUR, DAY]), [1, 5]);
  assert.ok(one.isSettled);
});

Deno.test("all additions to one table arrive in one batch", async () => {
  const { one, ledger, pass } = open();
  const input = { ...HOUR, field: "input" };
  for (let index = 0; index < 600; index++) {
    add(one, 1, { ...HOUR, field: `other ${index}` });
  }
  add(one, 1);
  add(one, 3, input);
  await take(one, 9);
  assert.deepEqual(ledger.sums.read([HOUR, input]), [1, 3]);
  assert.equal(ledger.batches, 1);
  await pass(100);
  assert.equal(ledger.batches, 1);
});

Deno.test("the end of a request counts it and releases its holds in one batch", async () => {
  const { one, two, ledger, pass } = open();
  const hold = { key: "alice", id: "request", amount: 1 };
  await one.reserve(hold.id, [claim(9)]);
  assert.equal(await used(two), 1);
  one.apply({ additions: [to(HOUR, 1)], releases: [hold] });
  const before = ledger.batches;
  await pass(100);
  assert.equal(ledger.batches, before + 1);
  const uses = await two.uses([{ sums: [HOUR], key: "alice" }]);
  assert.deepEqual(uses, [{ counted: [1], held: 0 }]);
});

Deno.test("the last reading decides at once while the ledger is away, and the ledger gets all additions later", async () => {
  const { ledger, one, two, link, pass } = open();
  add(two, 2);
  await pass(100);
  assert.equal(await used(one), 2);
  link.isAway = true;
  const decisions = [take(one, 4), take(one, 4), take(one, 4)];
  assert.ok(decisions.every((decision) => !(decision instanceof Promise)));
  const granted = await Promise.all(decisions.map(isGranted));
  assert.deepEqual(granted, [true, true, false]);
  add(one, 10, DAY);
  await pass(60_000);
  assert.ok(!one.isSettled);
  assert.equal(await used(one), 4);
  link.isAway = false;
  one.resume();
  await settle();
  assert.deepEqual(ledger.sums.read([HOUR, DAY]), [2, 10]);
  assert.equal(await used(two), 4);
  assert.ok(one.isSettled);
});

Deno.test("a claim is decided locally after its timeout, and the ledger gets the decision", async (t) => {
  const cases = [
    ["granted by both", 0, 0, true, 1],
    ["granted here, refused there", 0, 3, true, 4],
    ["refused here, granted there", 3, -3, false, 0],
    ["refused by both", 3, 0, false, 3],
  ] as const;
  await steps(t, cases, async ([, here, there, granted, sum]) => {
    const { ledger, one, two, pass } = open();
    add(one, here);
    await pass(100);
    assert.equal(await used(one), here);
    add(two, there);
    await pass(100);
    ledger.behaviour = "waits";
    const decided: boolean[] = [];
    const asked = isGranted(take(one, 3))
      .then((isGranted) => decided.push(isGranted));
    await pass(35);
    assert.deepEqual(decided, []);
    await pass(5);
    await asked;
    assert.deepEqual(decided, [granted]);
    ledger.behaviour = "answers";
    ledger.release();
    await pass(200);
    assert.equal(await used(two), sum);
    assert.ok(one.isSettled);
  });
});

Deno.test("a late answer of the ledger leaves no hold for a request that has ended", async () => {
  const { ledger, one, two, pass } = open();
  ledger.behaviour = "waits";
  const asked = one.reserve("late", [claim(3)]);
  await pass(35);
  await pass(5);
  assert.equal((await asked).isGranted, true);
  const hold = { key: "alice", id: "late", amount: 1 };
  one.apply({ additions: [], releases: [hold] });
  ledger.behaviour = "answers";
  ledger.release();
  await pass(200);
  assert.equal(await used(two), 0);
  assert.equal(await used(one), 0);
});

Deno.test("claims without an answer of the ledger count against each other locally", async () => {
  const { ledger, one, pass } = open();
  ledger.behaviour = "waits";
  const asked = Array.from({ length: 5 }, () => isGranted(take(one, 3)));
  await pass(35);
  await pass(5);
  const granted = (await Promise.all(asked)).filter((one) => one);
  assert.equal(granted.length, 3);
  ledger.behaviour = "answers";
  ledger.release();
  await pass(200);
  assert.equal(await used(one), 3);
});

Deno.test("a claim is decided locally when its answer is lost, and the ledger gets its holds", (t) =>
  steps(t, ["breaks before", "breaks after"] as const, async (behaviour) => {
    const { ledger, one, two, pass } = open();
    ledger.behaviour = behaviour;
    assert.equal(await isGranted(take(one, 1)), true);
    assert.equal(await isGranted(take(one, 1)), false);
    ledger.behaviour = "answers";
    await pass(200);
    assert.equal(await used(two), 1);
  }));

Deno.test("each addition arrives once, however often the sending of a batch fails", async () => {
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
    const [hour = 0, day = 0] = await one.read([HOUR, DAY]);
    assert.equal(hour + day, sum);
  }
  ledger.behaviour = "answers";
  await pass(200);
  const [hour = 0, day = 0] = ledger.sums.read([HOUR, DAY]);
  assert.equal(hour + day, sum);
  assert.ok(one.isSettled);
});

Deno.test("many additions arrive in several batches", async () => {
  const { ledger, one, pass } = open();
  const tables = Array.from({ length: 1203 }, (_, index) => `table ${index}`);
  const sums = tables.map((table) => ({ ...HOUR, table }));
  for (const sum of sums) add(one, 1, sum);
  await pass(100);
  assert.equal(ledger.batches, 3);
  assert.ok(ledger.sums.read(sums).every((value) => value === 1));
});

Deno.test("a ledger that lost sums gets unsent additions once, and no earlier additions again", async (t) => {
  for (const isSnapshot of [false, true]) {
    await t.step(isSnapshot ? "the last writes" : "everything", async () => {
      const { ledger, one, two, link, pass } = open();
      add(one, 5);
      add(two, 7);
      await pass(100);
      if (isSnapshot) ledger.snapshot();
      add(one, 100);
      await pass(100);
      link.isAway = true;
      add(one, 1);
      ledger.lose();
      link.isAway = false;
      one.resume();
      await pass(200);
      const left = isSnapshot ? 13 : 1;
      for (const sums of [one, two]) assert.equal(await used(sums), left);
      const { batches } = ledger;
      await pass(60_000);
      assert.equal(ledger.batches, batches, "no batch is sent again");
      add(two, 2);
      await pass(100);
      assert.equal(await used(one), left + 2);
    });
  }
});

Deno.test("additions after days without a message count once", async () => {
  const { ledger, one, link, pass } = open();
  const month = { ...HOUR, table: "month", endsAtMs: NOW_MS + 2_592_000_000 };
  add(one, 5, month);
  await pass(100);
  await pass(3 * 86_400_000);
  add(one, 1, month);
  await pass(100);
  link.isAway = true;
  one.resume();
  link.isAway = false;
  one.resume();
  await pass(100);
  assert.deepEqual(ledger.sums.read([month]), [6]);
});

Deno.test("an emptied ledger grants claims by its own sums, whatever a process remembers", async () => {
  const { ledger, one } = open();
  add(one, 500);
  assert.equal(await isGranted(take(one, 500)), false);
  ledger.lose();
  assert.equal(await isGranted(take(one, 500)), true);
  assert.deepEqual(await one.read([HOUR]), [0]);
  assert.deepEqual([...await one.table(HOUR.table)], []);
});

Deno.test("holds of a dead process end after two minutes, and holds of a running process stay", async () => {
  const { one, two, link, pass } = open();
  await one.reserve("of a dead process", [claim(9)]);
  await two.reserve("of a living one", [claim(9)]);
  link.isAway = true;
  for (let count = 0; count < 4; count++) await pass(29_999);
  assert.equal(await used(two), 2);
  for (let count = 0; count < 2; count++) await pass(30_000);
  assert.equal(await used(two), 1);
});

Deno.test("a ledger that returns gets all running holds, even the holds that it had lost", async () => {
  const { ledger, one, two } = open();
  await take(one, 9);
  ledger.lose();
  assert.equal(await used(two), 0);
  one.resume();
  await settle();
  assert.equal(await used(two), 1);
});

Deno.test("changes of holds take limited memory while the ledger is away", async () => {
  const { ledger, one, link, pass } = open();
  link.isAway = true;
  for (let count = 0; count < 12_000; count++) {
    const hold = { key: "alice", id: `old ${count}`, amount: 1 };
    one.apply({ additions: [], releases: [hold] });
  }
  link.isAway = false;
  one.resume();
  await pass(100);
  assert.equal(ledger.batches, 20);
});

Deno.test("a table has the additions of all processes, or the last reading when the ledger does not answer", async () => {
  const { ledger, one, two, link, pass } = open();
  const tokens = { ...HOUR, field: "tokens" };
  add(one, 1);
  add(two, 5, tokens);
  await pass(100);
  add(one, 1);
  const all = [["requests", 2], ["tokens", 5]];
  const table = async () => [...await one.table(HOUR.table)].sort();
  assert.deepEqual(await table(), all);
  ledger.behaviour = "breaks before";
  assert.deepEqual(await table(), all);
  ledger.behaviour = "waits";
  const late = table();
  await pass(35);
  await pass(5);
  assert.deepEqual(await late, all);
  ledger.release();
  link.isAway = true;
  assert.deepEqual(await table(), all);
  assert.deepEqual([...await one.table("another")], []);
});

Deno.test("a sum that has ended is 0, and nothing is added to it", async () => {
  const { ledger, one, pass } = open();
  add(one, 5);
  await pass(100);
  await pass(3_600_000);
  assert.deepEqual(await one.read([HOUR]), [0]);
  add(one, 5);
  const { batches } = ledger;
  await pass(200);
  assert.equal(ledger.batches, batches);
  assert.deepEqual([...await one.table(HOUR.table)], []);
});

Deno.test("a table has a sum after an addition of 0, but not after a read alone", async () => {
  const { ledger, one, two, link, pass } = open();
  add(one, 0);
  await one.read([{ ...HOUR, field: "tokens" }]);
  assert.deepEqual([...await one.table(HOUR.table)], [["requests", 0]]);
  await pass(100);
  assert.deepEqual([...ledger.sums.table(HOUR.table)], [["requests", 0]]);
  assert.deepEqual([...await two.table(HOUR.table)], [["requests", 0]]);
  link.isAway = true;
  assert.deepEqual([...await one.table(HOUR.table)], [["requests", 0]]);
});

Deno.test("once() returns true in only one process, or in each process while the ledger is away", async () => {
  const { one, two, link, secondLink } = open();
  const endsAtMs = NOW_MS + 60_000;
  assert.equal(await one.once("first", endsAtMs), true);
  assert.equal(await two.once("first", endsAtMs), false);
  assert.equal(await one.once("first", endsAtMs), false);
  link.isAway = secondLink.isAway = true;
  assert.equal(await one.once("second", endsAtMs), true);
  assert.equal(await one.once("second", endsAtMs), false);
  assert.equal(await two.once("second", endsAtMs), true);
});

Deno.test("sinceMs is the start of counting that the ledger reports", async () => {
  const { clock, ledger, pass } = open();
  clock.advance(5000);
  const late = new RemoteSums({
    ...{ ledger: ledger.connect(), clock, ids: randomIds },
    ...{ deadlines: createDeadlines(), gatherMs: 100, waitMs: 40 },
  });
  assert.equal(late.sinceMs, NOW_MS + 5000);
  await late.table(HOUR.table);
  assert.equal(late.sinceMs, NOW_MS);
  late.close();
  await pass(0);
});

Deno.test("remote sums report a token's days complete before and after they are sent", async () => {
  const { one, two, pass } = open();
  const days = daysTable({ kind: "token", name: "alice" }, NOW_MS);
  const sum = { ...days, field: "00" };
  add(one, 3, sum);
  add(two, 4, sum);
  await pass(100);
  add(one, 5, sum);
  assert.deepEqual(await one.table(days.table), new Map([["00", 12]]));
  await pass(100);
  assert.deepEqual(await two.table(days.table), new Map([["00", 12]]));
  assert.deepEqual(await one.table(days.table), new Map([["00", 12]]));
});
