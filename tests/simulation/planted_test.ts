import assert from "node:assert/strict";
import { FAULTS, problemsOf } from "./planted/table.ts";

Deno.test("each planted fault has a unique name and a text that its file has once", async () => {
  assert.deepEqual(await problemsOf(FAULTS), []);
  const [fault] = FAULTS;
  assert.ok(fault !== undefined);
  const stale = { ...fault, text: "not in the file" };
  assert.equal((await problemsOf([...FAULTS, stale])).length, 2);
});
