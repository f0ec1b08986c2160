import { joinForWrite, reuseWritten } from "../../../src/http1/joined_write.ts";
import assert from "node:assert/strict";
import { bytesOf, byteText } from "../../../src/base/streams/bytes.ts";

const KIB = 1024;

Deno.test("joinForWrite() joins text and parts of any length, and writes each character as one byte", () => {
  for (const length of [0, 1, 16 * KIB - 6, 16 * KIB, 200 * KIB]) {
    const part = "x".repeat(length);
    const joined = joinForWrite("é: ", [bytesOf(part), bytesOf("y")], "ÿ\n");
    assert.equal(byteText(joined), `é: ${part}yÿ\n`);
    reuseWritten(joined);
  }
});

Deno.test("the memory of a write is reused only after the write has ended", () => {
  for (const length of [10, 100 * KIB]) {
    const running = joinForWrite("", [bytesOf("a".repeat(length))]);
    const ended = joinForWrite("", [bytesOf("b".repeat(length))]);
    reuseWritten(ended);
    reuseWritten(ended);
    const [next, last] = ["c", "d"].map((letter) =>
      joinForWrite("", [bytesOf(letter.repeat(length))])
    );
    assert.equal(next?.buffer, ended.buffer);
    for (
      const [letter, bytes] of [["a", running], ["c", next], [
        "d",
        last,
      ]] as const
    ) {
      assert.equal(byteText(bytes ?? ended), letter.repeat(length));
    }
  }
});

Deno.test("reuseWritten() ignores bytes that joinForWrite() did not return", () => {
  const own = bytesOf("mine");
  reuseWritten(own);
  const joined = joinForWrite("", [bytesOf("theirs")]);
  assert.notEqual(joined.buffer, own.buffer);
  assert.equal(byteText(own), "mine");
});
