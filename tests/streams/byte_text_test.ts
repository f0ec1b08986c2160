import assert from "node:assert/strict";
import { byteText, utf8InByteText } from "../../src/streams/bytes.ts";

const every = Uint8Array.from({ length: 256 }, (_, byte) => byte);

Deno.test("byteText() has a character for each byte, at the place of the byte", () => {
  const text = byteText(every.subarray(10, 250));
  assert.equal(text.length, 240);
  for (let index = 0; index < text.length; index++) {
    assert.equal(text.charCodeAt(index), index + 10);
  }
  assert.equal(byteText(new Uint8Array()), "");
});

Deno.test("utf8InByteText() decodes ASCII and other bytes", () => {
  for (const said of ["", "[DONE]", '{"type":"é…🌻"}']) {
    const bytes = new TextEncoder().encode(said);
    assert.equal(utf8InByteText(byteText(bytes)), said);
  }
  assert.equal(utf8InByteText("a\xff"), "a\ufffd");
});
