import assert from "node:assert/strict";
import { readCommit, versionText } from "../../src/cli/version.ts";
import { sourceCommit } from "../../release/commit.ts";

Deno.test("the version names what runs the program, and no commit where it runs from the source", async () => {
  const lines = (await versionText()).split("\n");
  assert.deepEqual(lines.map((line) => line.split(" ")[0]), [
    "model-gateway",
    "commit",
    "deno",
    "v8",
    "",
  ]);
  assert.equal(lines[1], "commit unknown: run from the source");
});

Deno.test("the commit is read from what was embedded, if one is there", () => {
  assert.equal(readCommit('{"commit":"abc-dirty"}'), "abc-dirty");
  for (const text of ["{}", "null", '{"commit":1}']) {
    assert.equal(readCommit(text), undefined);
  }
});

Deno.test("the commit of a clone is told in full", async () => {
  // A source without its history has none.
  assert.match(
    await sourceCommit() ?? "0".repeat(40),
    /^[0-9a-f]{40}(-dirty)?$/,
  );
});
