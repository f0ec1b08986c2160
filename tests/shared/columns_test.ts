import assert from "node:assert/strict";
import { createColumnBook, FIXED_COLUMNS } from "../../src/shared/columns.ts";
import {
  addWithin,
  createCountTable,
  removeOne,
} from "../../src/shared/count_table.ts";
import {
  connectionFile,
  minimalConfig,
  tokenFile,
} from "../support/gateway/config.ts";

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
