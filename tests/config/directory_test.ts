import assert from "node:assert/strict";
import {
  connectionFile,
  loadFile,
  minimalFile,
  problemsOf,
} from "../support/gateway/config.ts";

const ID = "0b1d3c52-6a0e-4a3e-8f0e-2f9c3b0d1a11";

async function problemsWith(connections: readonly unknown[]) {
  return problemsOf(await loadFile(minimalFile({ connections })));
}

Deno.test("two connections must not have one name", async () => {
  assert.deepEqual(
    await problemsWith([connectionFile(), connectionFile()]),
    ["connections[1].name: is also the name of connections[0]. Names must differ."],
  );
});

Deno.test("two connections must not have one id, in any case", async () => {
  assert.deepEqual(
    await problemsWith([
      connectionFile({ id: ID }),
      connectionFile({ name: "other", id: ID.toUpperCase() }),
    ]),
    ["connections[1].id: is also the id of connections[0]. Ids must differ."],
  );
});

Deno.test("an id must not be the one made from another's name", async () => {
  const made = "0e090408-0e68-585e-9b1c-8e6bf337403b";
  const problem = (own: number, other: number) =>
    `connections[${own}].id: is also the id of connections[${other}]. Ids must differ.`;
  const taker = connectionFile({ name: "taker", id: made });
  assert.deepEqual(await problemsWith([connectionFile(), taker]), [
    problem(1, 0),
  ]);
  assert.deepEqual(await problemsWith([taker, connectionFile()]), [
    problem(0, 1),
  ]);
});

Deno.test("a name must not be the id of another connection", async () => {
  assert.deepEqual(
    await problemsWith([
      connectionFile({ name: ID.toUpperCase() }),
      connectionFile({ name: "other", id: ID }),
    ]),
    ["connections[0].name: is the id of connections[1], so that references would be ambiguous."],
  );
});
