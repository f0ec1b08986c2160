import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { checksums } from "../../release/checksums.ts";

Deno.test("checksums() lists every file of a folder with its SHA-256, sorted", async () => {
  const directory = await Deno.makeTempDir();
  await Deno.writeTextFile(`${directory}/b`, "abc");
  await Deno.writeTextFile(`${directory}/a`, "");
  const text = await checksums(pathToFileURL(`${directory}/`));
  await Deno.remove(directory, { recursive: true });
  // FIPS 180-4 examples: of no byte, and of "abc".
  assert.equal(
    text,
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\n" +
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b\n",
  );
});
