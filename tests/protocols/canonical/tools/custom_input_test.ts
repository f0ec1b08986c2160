import assert from "node:assert/strict";
import {
  createCustomInput,
  customInputOf,
} from "../../../../src/protocols/canonical/tools/custom_input.ts";

function read(text: string, size: number): string {
  const input = createCustomInput();
  let read = "";
  for (let from = 0; from < text.length; from += size) {
    read += input.push(text.slice(from, from + size));
  }
  return read + input.end();
}

Deno.test("a custom input is read out of its arguments, however they are cut", async (t) => {
  const inputs: Record<string, [text: string, input: string]> = {
    "plain": ['{"input":"hello"}', "hello"],
    "with spaces": [' {\n "input" : "hello" } ', "hello"],
    "with escapes": [
      JSON.stringify({ input: 'a\n\t"b"\\ \u2028 é 👋 \u0007' }),
      'a\n\t"b"\\ \u2028 é 👋 \u0007',
    ],
    "with escaped surrogates": ['{"input":"\\ud83d\\udc4b"}', "👋"],
    "empty": ['{"input":""}', ""],
    "behind another key": ['{"other":1,"input":"hello"}', "hello"],
    "before another key": ['{"input":"hello","other":1}', "hello"],
    "of another kind": ['{"input":7}', '{"input":7}'],
    "as bare text": ["*** Begin Patch", "*** Begin Patch"],
    "as long bare text": ["x".repeat(500), "x".repeat(500)],
    "of nothing": ["", ""],
    "with an escape that is none": ['{"input":"a\\uZZZZb"}', "auZZZZb"],
    "without its end": ['{"input":"abc', "abc"],
  };
  for (const [name, [text, input]] of Object.entries(inputs)) {
    for (const size of [1, 3, 1000]) {
      await t.step(
        `${name}, by ${size}`,
        () => assert.equal(read(text, size), input),
      );
    }
  }
});

Deno.test("a custom input streams before its end", () => {
  const input = createCustomInput();
  assert.equal(input.push('{"input":"ab'), "ab");
  assert.equal(input.push("c\\"), "c");
  assert.equal(input.push("nd"), "\nd");
  assert.equal(input.push('"}'), "");
  assert.equal(input.end(), "");
});

Deno.test("customInputOf() takes the text itself when it is of another form", () => {
  assert.equal(customInputOf('{"input":"a"}'), "a");
  assert.equal(customInputOf('{"x":1}'), '{"x":1}');
  assert.equal(customInputOf("raw"), "raw");
});
