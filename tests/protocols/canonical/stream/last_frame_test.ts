import assert from "node:assert/strict";
import { wholePart } from "../../../../src/protocols/canonical/stream/last_frame.ts";

Deno.test("wholePart() leaves a last frame that came whole, be it of several lines", () => {
  const whole = [
    '{"a":1}',
    "[DONE]",
    "[DONE] ",
    "[]",
    '{"a":1}\n{"a":2}\n[DONE]',
    '{"a":\n1}',
  ];
  for (const data of whole) assert.deepEqual(wholePart({ data }), { data });
});

Deno.test("wholePart() takes nothing of a last frame that was cut", () => {
  const cut = ['{"a":1', '{"a":"[DONE', "[DON", "{", "", '{"a":\n[1,'];
  for (const data of cut) assert.equal(wholePart({ data }), undefined, data);
});

Deno.test("wholePart() takes the events before one that was cut, where no blank line parted them", () => {
  assert.deepEqual(
    wholePart({ event: "x", data: '{"a":1}\n{"a":2}\n{"a":' }),
    { event: "x", data: '{"a":1}\n{"a":2}' },
  );
});
