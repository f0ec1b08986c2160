import assert from "node:assert/strict";
import { createColumnBook } from "../../src/shared/columns.ts";
import { createCountTable } from "../../src/shared/count_table.ts";
import { createThreadCounts } from "../../src/shared/thread_counts.ts";
import {
  connectionFile,
  minimalConfig,
  tokenFile,
} from "../support/gateway/config.ts";

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
  return { one: share(0), other: share(1), book, config };
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
