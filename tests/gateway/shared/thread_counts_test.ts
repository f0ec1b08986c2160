import assert from "node:assert/strict";
import {
  addWithin,
  columnOf,
  createCountTable,
  createThreadCounts,
  emptyThread,
  removeOne,
  sumOf,
  sumWithout,
} from "../../../src/gateway/shared/thread_counts.ts";
import type {
  Hammered,
  Hammering,
} from "../../support/fakes/counting_worker.ts";
import { within } from "../../support/within.ts";

const ALICE = "a".repeat(64);

/** Creates the counts of two threads. */
function threads() {
  const table = createCountTable(2);
  const share = (thread: number) => createThreadCounts({ table, thread });
  return { one: share(0), other: share(1), table };
}

const CONNECTION_ID = "0b1d3c52-6a0e-4a3e-8f0e-2f9c3b0d1a11";

Deno.test("threads share the places of a caller and of a connection", () => {
  const { one, other } = threads();
  const counted = [["callers", ALICE], ["connections", CONNECTION_ID]] as const;
  for (const [kind, key] of counted) {
    const leave = one.running[kind].take(key, 2);
    assert.ok(leave && other.running[kind].take(key, 2));
    assert.equal(one.running[kind].take(key, 2), undefined);
    assert.equal(other.running[kind].take(key, 2), undefined);
    leave();
    leave();
    assert.ok(other.running[kind].take(key, 2));
    assert.equal(one.running[kind].take(key, 2), undefined);
  }
});

Deno.test("all threads together count a caller of an identity provider", () => {
  const { one, other, table } = threads();
  const [carol, dave] = ["c".repeat(64), `0${"c".repeat(63)}`];
  const leave = one.running.callers.take(carol, 1);
  assert.ok(leave);
  assert.equal(other.running.callers.take(carol, 1), undefined);
  assert.ok(other.running.callers.take(dave, 1));
  leave();
  assert.ok(other.running.callers.take(carol, 1));
  assert.equal(one.running.callers.take(carol, 1), undefined);
  emptyThread(table, 1);
  assert.ok(one.running.callers.take(carol, 1));
});

Deno.test("requests without a limit are counted", () => {
  const { one, other } = threads();
  assert.ok(one.running.connections.take(CONNECTION_ID, undefined));
  assert.equal(other.running.connections.take(CONNECTION_ID, 1), undefined);
});

Deno.test("threads see the memory of bodies in other threads, rounded up to whole KiB", () => {
  const { one, other } = threads();
  one.memory.publish(1025, 2);
  assert.equal(other.memory.usedBytes(), 2048);
  assert.equal(other.memory.running(), 2);
  assert.equal(one.memory.usedBytes(), 0);
  one.memory.publish(3 * 1024 ** 3, 0);
  assert.equal(other.memory.usedBytes(), 3 * 1024 ** 3);
});

Deno.test("a caller and a connection with the same name are counted separately", () => {
  const { one, other } = threads();
  assert.ok(one.running.callers.take("same", 1));
  assert.ok(other.running.connections.take("same", 1));
});

Deno.test("columnOf() returns a different column for each of thousands of keys, and the same in every thread", () => {
  const table = createCountTable(2);
  const keys = Array.from({ length: 20_000 }, (_, at) => `caller ${at}`);
  const found = keys.map((key) => columnOf(table, key));
  assert.equal(new Set(found).size, keys.length);
  assert.ok(!found.includes(undefined));
  const elsewhere = structuredClone(table);
  assert.deepEqual(keys.map((key) => columnOf(elsewhere, key)), found);
  for (const column of found.slice(0, 3)) {
    assert.ok(addWithin(table, { thread: 1, column: column ?? NaN }, 1));
    assert.ok(!addWithin(elsewhere, { thread: 0, column: column ?? NaN }, 1));
  }
});

Deno.test("each thread counts a key by itself when no column is left", () => {
  const table = createCountTable(2, 8);
  for (let at = 0; at < 8; at++) assert.ok(columnOf(table, `${at}`));
  assert.equal(columnOf(table, "one more"), undefined);
  const one = createThreadCounts({ table, thread: 0 });
  const other = createThreadCounts({ table, thread: 1 });
  const leave = one.running.callers.take("unknown", 1);
  assert.ok(leave);
  assert.equal(one.running.callers.take("unknown", 1), undefined);
  assert.ok(other.running.callers.take("unknown", 1));
  leave();
  assert.ok(one.running.callers.take("unknown", 1));
});

Deno.test("addWithin() applies a limit to all threads together", () => {
  const table = createCountTable(3);
  const one = { thread: 0, column: 5 };
  const other = { thread: 2, column: 5 };
  assert.ok(addWithin(table, one, 2));
  assert.ok(addWithin(table, other, 2));
  assert.ok(!addWithin(table, one, 2));
  assert.equal(sumOf(table, 5), 2);
  assert.equal(sumWithout(table, 5, 2), 1);
  assert.equal(sumOf(table, 4), 0);
  assert.ok(addWithin(table, one, Infinity));
  removeOne(table, other);
  assert.ok(!addWithin(table, other, 2));
});

Deno.test("emptyThread() frees all places of a thread, and its later releases have no effect", () => {
  const table = createCountTable(2);
  for (const column of [0, 7]) {
    for (const thread of [0, 1]) addWithin(table, { thread, column }, 9);
  }
  emptyThread(table, 1);
  assert.deepEqual([sumOf(table, 0), sumOf(table, 7)], [1, 1]);
  removeOne(table, { thread: 1, column: 7 });
  assert.equal(sumOf(table, 7), 1);
});

/** Runs this many real threads, which take and release one of `most` places. */
async function hammer(threads: number, most: number): Promise<Hammered[]> {
  const table = createCountTable(threads);
  const inside = new Int32Array(new SharedArrayBuffer(4));
  const path = "../../support/fakes/counting_worker.ts";
  const module = new URL(path, import.meta.url);
  const workers = Array.from(
    { length: threads },
    () => new Worker(module, { type: "module" }),
  );
  try {
    const results = workers.map((worker, thread) => {
      const { promise, resolve } = Promise.withResolvers<Hammered>();
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = ({ data }) => {
        port1.close();
        resolve(data);
      };
      const order: Hammering = { table, thread, most, rounds: 50_000, inside };
      worker.postMessage(order, [port2]);
      return promise;
    });
    const hammered = await within(Promise.all(results), "the threads");
    assert.equal(sumOf(table, 0), 0);
    return hammered;
  } finally {
    for (const worker of workers) worker.terminate();
  }
}

Deno.test("addWithin() never exceeds the limit when threads run at the same time", async () => {
  for (const most of [1, 2]) {
    const hammered = await hammer(3, most);
    assert.ok(hammered.some(({ got }) => got > 0));
    assert.ok(
      hammered.every(({ mostInside }) => mostInside <= most),
      JSON.stringify(hammered),
    );
  }
});
