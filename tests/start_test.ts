import assert from "node:assert/strict";
import {
  SOURCE,
  sourceFiles,
  sourcePath,
} from "./support/program/source_files.ts";

/** Matches what a module loads before it runs: imports and exports of other modules, but not of types alone. */
const LOADED_REGEXP =
  /^(?:import\s+(?!type\b)(?:[^;"(]*?\sfrom\s+)?|export\s+(?:\{[^}]*\}|\*(?:\s+as\s+\w+)?)\s+from\s+)"([^"]+)"/gm;

/** Matches an import that waits until its code runs. */
const LATE_REGEXP = /\bawait import\(\s*"([^"]+)"/g;

/** Returns the files below `src/` and the packages that Deno loads before the first statement of these modules runs. */
async function loadedBy(...roots: readonly string[]) {
  const files = new Set(roots);
  const packages = new Set<string>();
  // A set also visits what is added to it on the way.
  for (const path of files) {
    const url = new URL(path, SOURCE);
    const text = await Deno.readTextFile(url);
    for (const [, specifier = ""] of text.matchAll(LOADED_REGEXP)) {
      const file = sourcePath(specifier, url);
      if (file === undefined) packages.add(specifier);
      else files.add(file);
    }
  }
  return { files, packages: [...packages].sort() };
}

/** The modules of a process and its threads. `tools/main.ts` imports `serve.ts` late, for each start of a server. */
const ROOTS = {
  gateway: ["tools/main.ts", "tools/commands/serve.ts"],
  worker: ["gateway/process/threads/worker.ts"],
  translation: ["gateway/process/threads/translation_worker.ts"],
};

/** What each of them needs from packages and from Node's modules. Anything else delays every start and stays in memory. */
const TRANSLATION = [
  ...["@std/collections/map-values", "@std/streams/to-text", "@std/uuid/v5"],
  "@std/streams/limited-bytes-transform-stream",
  ...["eventsource-parser", "node:buffer", "node:crypto", "node:timers", "zod"],
];
const WORKER = [
  ...TRANSLATION,
  ...["itty-router", "node:dns/promises", "node:net"],
  ...["node:util", "node:zlib"],
];
const PACKAGES = {
  gateway: [...WORKER, "js-yaml", "node:path"],
  worker: WORKER,
  translation: [...TRANSLATION, "node:v8", "node:vm"],
};

for (const thread of ["gateway", "worker", "translation"] as const) {
  Deno.test(`the start of a ${thread} loads no package that it may not need`, async () => {
    const { packages } = await loadedBy(...ROOTS[thread]);
    assert.deepEqual(packages, PACKAGES[thread].toSorted());
  });
}

Deno.test("what some code imports late is not loaded at the start either", async () => {
  const { files, packages } = await loadedBy(...ROOTS.gateway);
  assert.ok(files.has("gateway/app.ts"));
  const early: string[] = [];
  let count = 0;
  for await (const { path, url } of sourceFiles()) {
    const text = await Deno.readTextFile(url);
    for (const [, specifier = ""] of text.matchAll(LATE_REGEXP)) {
      count += 1;
      const late = sourcePath(specifier, url) ?? specifier;
      if (ROOTS.gateway.includes(late)) continue;
      if (files.has(late) || packages.includes(late)) {
        early.push(`${path} imports ${late} late`);
      }
    }
  }
  assert.ok(count > 15, `${count}`);
  assert.deepEqual(early, []);
});
