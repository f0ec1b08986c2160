import assert from "node:assert/strict";

const README = new URL("../../src/http1/README.md", import.meta.url);
const EXAMPLE_REGEXP = /```ts\n(.*?)```/gs;
const ROW_REGEXP = /^\| `(\w+)` /gm;

/** The files behind the two paths of the door. */
const DOORS = ["mod.ts", "deno/mod.ts"];

/** The most names of the door, types included. */
const MOST_NAMES = 18;

Deno.test("the example of the README runs", async () => {
  const page = await Deno.readTextFile(README);
  const examples = [...page.matchAll(EXAMPLE_REGEXP)];
  assert.ok(examples.length > 0);
  for (const [, example = ""] of examples) {
    const resolved = example.replace(
      /"(@gateway\/[^"]+)"/g,
      (_, name) => JSON.stringify(import.meta.resolve(name)),
    );
    await import(`data:application/typescript,${encodeURIComponent(resolved)}`);
  }
});

Deno.test("the README lists each name of the door, and they are few", async () => {
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
  assert.ok(names.length <= MOST_NAMES, String(names.length));
});
