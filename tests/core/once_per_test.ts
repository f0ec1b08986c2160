import assert from "node:assert/strict";
import { oncePer } from "../../src/core/memo.ts";

Deno.test("oncePer() computes any value once per object", () => {
  const asked: string[] = [];
  const lengthOf = oncePer(({ name }: { readonly name: string }) => {
    asked.push(name);
    return name.length === 0 ? undefined : name.length;
  });
  const [empty, one, other] = [{ name: "" }, { name: "abc" }, { name: "abc" }];
  for (const key of [empty, one, other, empty, one, other]) {
    assert.equal(lengthOf(key), key.name.length || undefined);
  }
  assert.deepEqual(asked, ["", "abc", "abc"]);
});

Deno.test("oncePer() computes again after a failure", () => {
  let failures = 1;
  const make = oncePer(() => {
    if (failures-- > 0) throw new Error("not yet");
    return "made";
  });
  const key = {};
  assert.throws(() => make(key), /not yet/);
  assert.equal(make(key), "made");
});
