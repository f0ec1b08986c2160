import assert from "node:assert/strict";
import {
  SOURCE,
  sourceFiles,
  sourcePath,
} from "./support/program/source_files.ts";

// The lint rule sees one file at a time and cannot find an import cycle; these tests read all files.

/** Matches an import, but not in the example of a docstring. */
const IMPORT_REGEXP = /(?<!^ *\*.*)(?:from|import)\s*\(?\s*"([^"]+)"/gm;

/** Returns the imports of every source file, of types too, as paths below `src/`. */
async function importGraph(): Promise<ReadonlyMap<string, readonly string[]>> {
  const graph = new Map<string, readonly string[]>();
  for await (const { path, url } of sourceFiles()) {
    const text = await Deno.readTextFile(url);
    const imported = [...text.matchAll(IMPORT_REGEXP)]
      .map(([, specifier = ""]) => sourcePath(specifier, url))
      .filter((to) => to?.endsWith(".ts") ?? false);
    graph.set(path, imported.filter((to) => to !== undefined));
  }
  return graph;
}

/** Returns the first import cycle found from `file`; `undefined` if there is none. */
function ringFrom(
  file: string,
  graph: ReadonlyMap<string, readonly string[]>,
  { path, clear }: {
    readonly path: readonly string[];
    readonly clear: Set<string>;
  },
): readonly string[] | undefined {
  if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
  if (clear.has(file)) return undefined;
  for (const next of graph.get(file) ?? []) {
    const ring = ringFrom(next, graph, { path: [...path, file], clear });
    if (ring !== undefined) return ring;
  }
  clear.add(file);
  return undefined;
}

function firstRing(
  graph: ReadonlyMap<string, readonly string[]>,
): readonly string[] | undefined {
  const clear = new Set<string>();
  for (const file of graph.keys()) {
    const ring = ringFrom(file, graph, { path: [], clear });
    if (ring !== undefined) return ring;
  }
  return undefined;
}

Deno.test("the source has no import cycle, not even of types", async () => {
  const graph = await importGraph();
  assert.ok(graph.size > 300);
  assert.ok(graph.get("tools/main.ts")?.includes("tools/mod.ts"));
  assert.deepEqual(firstRing(graph), undefined);
});

Deno.test("in the canonical form, requests do not import answers, and content imports neither", async () => {
  const graph = await importGraph();
  const room = (path: string) => /^codecs\/canonical\/(\w+)\//.exec(path)?.[1];
  const arrows = new Set(
    [...graph].flatMap(([file, imports]) =>
      imports.map((target) => `${room(file)} → ${room(target)}`)
    ),
  );
  assert.ok(arrows.has("request → content"));
  assert.ok(arrows.has("answer → content"));
  for (
    const arrow of ["request → answer", "content → answer", "content → request"]
  ) assert.ok(!arrows.has(arrow), arrow);
});

Deno.test("an import cycle is found from a file outside of the cycle", () => {
  const graph = new Map([
    ["a", ["b", "c"]],
    ["b", ["d"]],
    ["c", ["d"]],
    ["d", ["e"]],
    ["e", ["c"]],
  ]);
  assert.deepEqual(firstRing(graph), ["d", "e", "c", "d"]);
});

Deno.test("no folder of the source has more than 30 files", async () => {
  const graph = await importGraph();
  const counts = Map.groupBy(
    graph.keys(),
    (path) => path.slice(0, path.lastIndexOf("/") + 1),
  );
  for (const [folder, files] of counts) {
    assert.ok(files.length <= 30, `${folder} has ${files.length}`);
  }
});

Deno.test("no function of the source has more than 130 lines, apart from the list of the metrics", async () => {
  const long: string[] = [];
  for (const file of (await importGraph()).keys()) {
    const text = await Deno.readTextFile(new URL(file, SOURCE));
    for (
      const [body, name = "a command"] of text.matchAll(
        /^(?:export )?(?:(?:async )?function\*? (\w+)[\s\S]*?^}$|const \w+: Run<[\s\S]*?^[^ \n].*;$)/gm,
      )
    ) {
      if (body.split("\n").length > 130) long.push(`${file}: ${name}`);
    }
  }
  assert.deepEqual(long, ["gateway/observe/instruments.ts: define"]);
});
