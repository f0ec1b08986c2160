import assert from "node:assert/strict";
import {
  addWithin,
  createCountTable,
  emptyThread,
  growTable,
  removeOne,
  sumOf,
  sumWithout,
} from "../../src/shared/count_table.ts";
import type { Hammered, Hammering } from "../support/fakes/counting_worker.ts";
import { within } from "../support/within.ts";

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
