/** A row of a table with a name: the name itself, a list that begins with it, or an object that has it. */
type Row =
  | string
  | readonly [name: string, ...more: readonly unknown[]]
  | { readonly name: string };

/** Runs a step for each row of a table, one after another. A step has the name of its row. */
export async function steps<One extends Row>(
  t: Deno.TestContext,
  rows: Iterable<One>,
  run: (row: One, t: Deno.TestContext) => void | Promise<void>,
): Promise<void> {
  for (const row of rows) await t.step(nameOf(row), (own) => run(row, own));
}

function nameOf(row: Row): string {
  if (typeof row === "string") return row;
  return "name" in row ? row.name : row[0];
}
