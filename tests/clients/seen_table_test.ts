import assert from "node:assert/strict";
import { hasPrinted, readSeenRows } from "./seen_table.ts";

/** A page with one table below a heading. */
function pageOf(row: string): string {
  return `| before | \`x\` | never |

## It is off

| client | it prints | it ends |
| ------ | --------- | ------- |
${row}
`;
}

Deno.test("readSeenRows() reads the rows below each heading, without the heads of the tables", () => {
  const row = "| Codex CLI | `a … b`, then `c` | never: stop it |";
  assert.deepEqual(readSeenRows(pageOf(row)), [{
    failure: "It is off",
    client: "Codex CLI",
    printed: ["a … b", "c"],
    ends: "never",
  }]);
});

Deno.test("readSeenRows() rejects a row that cannot be checked", () => {
  for (const row of ["| Codex | words | never |", "| Codex | `a` | soon |"]) {
    assert.throws(
      () => readSeenRows(pageOf(row)),
      /cannot be checked: \| Codex/,
    );
  }
});

Deno.test("hasPrinted() finds a text within a line of any colours", () => {
  const output = "\x1b[31mError:\x1b[0m (used) 'all' of 2.\nOver.";
  assert.ok(hasPrinted(output, "Error: (used) … of …."));
  assert.ok(hasPrinted(output, "used) … all"));
  assert.ok(!hasPrinted(output, "Error: … Over"));
  assert.ok(!hasPrinted(output, "Error: used"));
});
