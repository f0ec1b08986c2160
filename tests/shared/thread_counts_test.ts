import assert from "node:assert/strict";
import {
  addWithin,
  createColumnBook,
  createCountTable,
  createThreadCounts,
  emptyThread,
  FIXED_COLUMNS,
  growTable,
  removeOne,
  sumOf,
  sumWithout,
} from "../../src/shared/thread_counts.ts";
import type { Hammered, Hammering } from "../support/fakes/counting_worker.ts";
import {
  connectionFile,
  minimalConfig,
  tokenFile,
} from "../support/gateway/config.ts";
import { within } from "../support/within.ts";

const ALICE = "a".repeat(64);

/** Two threads that count together. */
async function threads() {
  const table = createCountTable(2);
  const book = createColumnBook(table);
  const config = await minimalConfig({
    tokens: [tokenFile({ sha256: ALICE })],
    connections: [connectionFile({ id: CONNECTION_ID })],
  });
  const columns = book.assign(config);
  const share = (thread: number) =>
    createThreadCounts({ table, thread, columns });
  return { one: share(0), other: share(1), table, book, config };
}

const CONNECTION_ID = "0b1d3c52-6a0e-4a3e-8f0e-2f9c3b0d1a11";

Deno.test("what one thread takes of a caller's or a connection's places the other has not", async () => {
  const { one, other } = await threads();
  for (
    const [kind, key] of [["callers", ALICE], [
      "connections",
      CONNECTION_ID,
    ]] as const
  ) {
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

Deno.test("a place is given back where it was taken, whatever the configuration is by then", async () => {
  const { one, other, book, config } = await threads();
  const leave = one.running.callers.take(ALICE, 1);
  const without = book.assign({ ...config, callers: new Map() });
  const again = book.assign(config);
  one.adopt(without);
  other.adopt(again);
  leave?.();
  assert.ok(other.running.callers.take(ALICE, 1));
});

Deno.test("what has no column is counted by each thread alone", async () => {
  const { one, other } = await threads();
  const leave = one.running.callers.take("unknown", 1);
  assert.ok(leave);
  assert.equal(one.running.callers.take("unknown", 1), undefined);
  assert.ok(other.running.callers.take("unknown", 1));
  leave();
  assert.ok(one.running.callers.take("unknown", 1));
});

Deno.test("a caller of an identity provider is counted by all threads together", async () => {
  const { one, other, table } = await threads();
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

Deno.test("what has no limit is counted all the same", async () => {
  const { one, other } = await threads();
  assert.ok(one.running.connections.take(CONNECTION_ID, undefined));
  assert.equal(other.running.connections.take(CONNECTION_ID, 1), undefined);
});

Deno.test("threads see what bodies take of memory in the others, rounded up to whole KiB", async () => {
  const { one, other } = await threads();
  one.memory.publish(1025, 2);
  assert.equal(other.memory.usedBytes(), 2048);
  assert.equal(other.memory.running(), 2);
  assert.equal(one.memory.usedBytes(), 0);
  one.memory.publish(3 * 1024 ** 3, 0);
  assert.equal(other.memory.usedBytes(), 3 * 1024 ** 3);
});

/** Callers with the digests `a…`, `b…` and so on, and one connection of each name. */
async function configWith(callers: string, connections = "1") {
  return await minimalConfig({
    tokens: [...callers].map((letter) =>
      tokenFile({ name: letter, sha256: letter.repeat(64) })
    ),
    connections: [...connections].map((name) =>
      connectionFile({ name, models: [`model-${name}`] })
    ),
  });
}

Deno.test("assign() gives every caller and connection a column of its own, beside the fixed ones", async () => {
  const book = createColumnBook(createCountTable(2));
  const { callers, connections } = book.assign(await configWith("abc", "12"));
  const all = [
    ...Object.values(FIXED_COLUMNS),
    ...callers.values(),
    ...connections.values(),
  ];
  assert.deepEqual([callers.size, connections.size], [3, 2]);
  assert.equal(new Set(all).size, all.length);
});

Deno.test("assign() keeps the columns of what stays, and reuses one once nothing is counted there", async () => {
  const table = createCountTable(2);
  const book = createColumnBook(table);
  const first = book.assign(await configWith("ab"));
  const ofB = first.callers.get("b".repeat(64)) ?? NaN;
  const held = { thread: 1, column: ofB };
  addWithin(table, held, 1);
  const second = book.assign(await configWith("ac"));
  assert.equal(
    second.callers.get("a".repeat(64)),
    first.callers.get("a".repeat(64)),
  );
  assert.notEqual(second.callers.get("c".repeat(64)), ofB);
  removeOne(table, held);
  const third = book.assign(await configWith("acd"));
  assert.equal(third.callers.get("d".repeat(64)), ofB);
});

Deno.test("assign() makes room in the table for thousands", async () => {
  const table = createCountTable(2);
  const config = await configWith("a");
  const [caller] = config.callers.values();
  assert.ok(caller);
  const callers = new Map(
    Array.from({ length: 20_000 }, (_, index) => {
      const sha256 = index.toString(16).padStart(64, "0");
      return [sha256, { ...caller, sha256 }] as const;
    }),
  );
  const columns = createColumnBook(table).assign({ ...config, callers });
  for (const column of columns.callers.values()) {
    assert.ok(addWithin(table, { thread: 1, column }, 1));
    assert.ok(!addWithin(table, { thread: 0, column }, 1));
  }
});

Deno.test("addWithin() counts what all threads take against one limit", () => {
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

Deno.test("emptyThread() gives back what one thread held, and what it gives back afterwards counts for nothing", () => {
  const table = createCountTable(2);
  for (const column of [0, 7]) {
    for (const thread of [0, 1]) addWithin(table, { thread, column }, 9);
  }
  emptyThread(table, 1);
  assert.deepEqual([sumOf(table, 0), sumOf(table, 7)], [1, 1]);
  removeOne(table, { thread: 1, column: 7 });
  assert.equal(sumOf(table, 7), 1);
});

Deno.test("growTable() makes room and keeps what is counted, also for who has the table already", () => {
  const table = createCountTable(2);
  const known = structuredClone(table);
  addWithin(table, { thread: 1, column: 3 }, 1);
  growTable(table, 100_000);
  const far = { thread: 0, column: 99_999 };
  assert.ok(addWithin(known, far, 1));
  assert.ok(!addWithin(table, { ...far, thread: 1 }, 1));
  assert.equal(sumOf(known, 3), 1);
});

/** Lets so many threads take and give back places of `most` at the same time. */
async function hammer(threads: number, most: number): Promise<Hammered[]> {
  const table = createCountTable(threads);
  const inside = new Int32Array(new SharedArrayBuffer(4));
  const module = new URL(
    "../support/fakes/counting_worker.ts",
    import.meta.url,
  );
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

Deno.test("addWithin() never lets threads that run at the same time hold more than there is", async () => {
  for (const most of [1, 2]) {
    const hammered = await hammer(3, most);
    assert.ok(hammered.some(({ got }) => got > 0));
    assert.ok(
      hammered.every(({ mostInside }) => mostInside <= most),
      JSON.stringify(hammered),
    );
  }
});
