import assert from "node:assert/strict";

const README = new URL("../../src/http1/README.md", import.meta.url);
const ROW_REGEXP = /^\| `(\w+)` /gm;

/** The files behind the two paths of the door. */
const DOORS = ["mod.ts", "deno/mod.ts"];

Deno.test("the README lists each export of the door", async () => {
  const page = await Deno.readTextFile(README);
  const listed = [...page.matchAll(ROW_REGEXP)].map(([, name]) => name);
  const names: string[] = [];
  for (const door of DOORS) {
    const text = await Deno.readTextFile(new URL(door, README));
    for (const [, block = ""] of text.matchAll(/\{([^}]*)\}/g)) {
      names.push(...block.replaceAll(/\btype\b/g, "").match(/\w+/g) ?? []);
    }
  }
  assert.deepEqual(listed.toSorted(), names.toSorted());
});
