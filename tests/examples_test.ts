import assert from "node:assert/strict";
import { fromFileUrl } from "./support/program/paths.ts";

const ROOT = new URL("../", import.meta.url);

/** Returns the files below a folder that contain an example: pages about a member, and TypeScript. */
async function filesWithExamples(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (
    const { name, isDirectory } of Deno.readDir(new URL(folder, ROOT))
  ) {
    const path = folder + name;
    if (isDirectory) found.push(...await filesWithExamples(`${path}/`));
    else if (/\.(ts|md)$/.test(name)) {
      const text = await Deno.readTextFile(new URL(path, ROOT));
      if (/^ +\* @example$|^```ts$/m.test(text)) found.push(path);
    }
  }
  return found;
}

// The types of examples are checked by task check.
Deno.test("every example in the source passes", async () => {
  const files = await filesWithExamples("src/");
  assert.ok(files.length >= 8);
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "test",
      "--doc",
      "--no-check",
      "--lock=tests/deno.lock",
      "--allow-read",
      "--allow-net=127.0.0.1",
      ...files,
    ],
    cwd: fromFileUrl(ROOT),
    env: { NO_COLOR: "1" },
  }).output();
  const output = new TextDecoder().decode(stdout);
  assert.ok(success, output + new TextDecoder().decode(stderr));
  const [, passed = ""] = /^ok \| (\d+) passed/m.exec(output) ?? [];
  assert.ok(Number(passed) >= files.length, output);
});
