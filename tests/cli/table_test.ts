import assert from "node:assert/strict";
import { alignColumns } from "../../src/cli/table.ts";

Deno.test("alignColumns() aligns as many rows as a table can have", () => {
  const rows = Array.from({ length: 300_000 }, () => ["alice", "1"]);
  rows.push(["bob", "1000"]);
  const lines = alignColumns(rows, {
    columns: 80,
    isLeft: (index) => index === 0,
  });
  assert.equal(lines?.length, 300_001);
  assert.match(lines?.[0] ?? "", /^alice +1$/);
  assert.equal(lines?.at(-1)?.length, lines?.[0]?.length);
});
