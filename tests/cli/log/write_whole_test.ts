import assert from "node:assert/strict";
import { writeWhole } from "../../../src/cli/log/write_whole.ts";

Deno.test("writeWhole() writes all of what its sink takes in parts", () => {
  const parts: Uint8Array[] = [];
  writeWhole({
    writeSync(bytes) {
      parts.push(bytes.slice(0, 3));
      return Math.min(3, bytes.length);
    },
  }, "abcdé…\n");
  const text = new TextDecoder().decode(
    new Uint8Array(parts.flatMap((part) => [...part])),
  );
  assert.equal(text, "abcdé…\n");
});

Deno.test("writeWhole() stops where the reader has gone, and throws what else is wrong", () => {
  let asked = 0;
  const failing = (error: Error) => ({
    writeSync(): number {
      asked++;
      throw error;
    },
  });
  writeWhole(failing(new Deno.errors.BrokenPipe("broken pipe")), "text");
  assert.equal(asked, 1);
  const full = new Error("no space left");
  assert.throws(() => writeWhole(failing(full), "text"), full);
});
