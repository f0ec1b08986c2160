import assert from "node:assert/strict";
import { fitId } from "../../../../src/protocols/canonical/tools/tool_call_id.ts";

Deno.test("fitId() does not change a legal id", () => {
  assert.equal(fitId("call_1-A", { maxLength: 64 }), "call_1-A");
});

Deno.test("fitId() cleans an illegal id and keeps different ones different", () => {
  const one = fitId("functions.add:0", { maxLength: 64 });
  const other = fitId("functions_add.0", { maxLength: 64 });
  assert.match(one, /^functions_add_0_[0-9a-f]{8}$/);
  assert.notEqual(one, other);
  assert.equal(fitId("functions.add:0", { maxLength: 64 }), one);
});

Deno.test("fitId() cuts a long id to the limit", () => {
  const one = fitId("x".repeat(65), { maxLength: 64 });
  assert.equal(one.length, 64);
  assert.notEqual(one, fitId("x".repeat(66), { maxLength: 64 }));
});

Deno.test("fitId() keeps unusual characters where they are allowed", () => {
  const rule = { maxLength: 64, anyCharacter: true };
  assert.equal(fitId("functions.add:0", rule), "functions.add:0");
  assert.equal(fitId("é".repeat(65), rule).length, 64);
});
