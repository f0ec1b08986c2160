import assert from "node:assert/strict";
import { isWholeFrame } from "../../../src/protocols/canonical/last_frame.ts";

Deno.test("isWholeFrame() knows a last frame that came whole from one that was cut", () => {
  const whole = ['{"a":1}', "[DONE]", "[DONE] ", "[]"];
  for (const data of whole) assert.ok(isWholeFrame({ data }), data);
  const cut = ['{"a":1', '{"a":"[DONE', "[DON", "{", ""];
  for (const data of cut) assert.ok(!isWholeFrame({ data }), data);
});
