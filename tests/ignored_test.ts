import assert from "node:assert/strict";

const ROOT = new URL("./", import.meta.url);

/** Yields every test file below a folder. */
async function* testFiles(folder: URL): AsyncGenerator<URL> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) yield* testFiles(new URL(`${name}/`, folder));
    else if (name.endsWith("_test.ts")) yield new URL(name, folder);
  }
}

/** Matches the option or the call that ignores a test. */
const IGNORES_REGEXP = /^ +ignore(: .*)?,$|Deno\.test\.ignore\(/m;

Deno.test("each ignored test has the reason in its name", async () => {
  let saying = 0;
  for await (const file of testFiles(ROOT)) {
    const text = await Deno.readTextFile(file);
    const says = text.includes("(ignored: ");
    if (IGNORES_REGEXP.test(text)) assert.ok(says, file.pathname);
    saying +=
      text.match(/\(ignored: |\.{3}needing\(|\btestNeeding\(/g)?.length ?? 0;
  }
  assert.ok(saying > 20, `${saying} places`);
});
