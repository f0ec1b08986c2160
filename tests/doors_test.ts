import assert from "node:assert/strict";
import {
  DOORS,
  SOURCE,
  sourceFiles,
  sourcePath,
} from "./support/program/source_files.ts";

// Other members use a member of `src/` only through its door, so a newcomer needs to know only that.

/**
 * The most names of a door. These numbers only shrink; the aim for `codecs` is 45. `base` has no bound because all
 * members use it, and `tools` because only the program does.
 */
const MAX_NAMES: Readonly<Record<string, number>> = {
  codecs: 45,
  gateway: 54,
  http1: 18,
  services: 13,
};

/** The most lines of `base` and `gateway`, which everybody who changes the gateway has to know. */
const MAX_OPEN_LINES = 47_000;

/** Matches the names that a door's file declares or exports again. */
const EXPORT_REGEXP =
  /^export (?:declare )?(?:abstract |async )*(?:class|const|function\*?|interface|type|let) (\w+)|^export (?:type )?\{([^}]*)\}/gm;

/** Matches imports from doors, with their names; without names for `import()` of a whole file. */
const IMPORT_REGEXP =
  /(?:\{([^}]*)\} from|import\()\s*"(@gateway\/[^"]+)"|import\("(@gateway\/[^"]+)"\)\.(\w+)/g;

/** Matches a path in any import, even in JSDoc. */
const PATH_REGEXP = /(?:\bfrom|\bimport)\s*\(?\s*"(\.{1,2}\/[^"]+)"/g;

function namesIn(list: string): readonly string[] {
  return list.split(",").map((name) => name.trim().replace(/^type /, ""))
    .filter((name) => name !== "");
}

/** Returns the exported names of a member's door with their paths, such as `./time#delay`. */
async function namesOf(member: string): Promise<readonly string[]> {
  const paths = Object.entries(DOORS.get(member) ?? {});
  const names = await Promise.all(paths.map(async ([path, file]) => {
    const text = await Deno.readTextFile(new URL(`${member}/${file}`, SOURCE));
    return [...text.matchAll(EXPORT_REGEXP)].flatMap(([, name, list = ""]) =>
      name === undefined
        ? namesIn(list).map((one) => one.split(" as ").at(-1) ?? one)
        : [name]
    ).map((name) => `${path}#${name}`);
  }));
  return names.flat();
}

Deno.test("each member exports few names", async (t) => {
  for (const [member, most] of Object.entries(MAX_NAMES)) {
    await t.step(member, async () => {
      const names = await namesOf(member);
      assert.ok(names.length > 5);
      assert.ok(names.length <= most, `${names.length}: ${names.join(" ")}`);
    });
  }
});

Deno.test("each exported name of a member is imported by another member", async () => {
  const used = new Set<string>();
  for await (const { path, url } of sourceFiles()) {
    const text = await Deno.readTextFile(url);
    for (
      const [, list = "", from, inner, name = ""] of text.matchAll(
        IMPORT_REGEXP,
      )
    ) {
      const [, member = "", rest = ""] =
        /^@gateway\/(\w+)(.*)$/.exec(from ?? inner ?? "") ?? [];
      if (path.startsWith(`${member}/`)) continue;
      for (const one of [...namesIn(list), name]) {
        used.add(`${member} .${rest}#${one.split(" as ")[0]}`);
      }
    }
  }
  const unused: string[] = [];
  for (const member of Object.keys(MAX_NAMES)) {
    for (const name of await namesOf(member)) {
      if (!used.has(`${member} ${name}`)) unused.push(`${member} ${name}`);
    }
  }
  assert.deepEqual(unused, []);
});

Deno.test("no file of a member is imported by its path from another member", async () => {
  const around: string[] = [];
  let count = 0;
  for await (const ending of [".ts", ".js"]) {
    for await (const { path, url } of sourceFiles({ ending })) {
      const text = await Deno.readTextFile(url);
      for (const [, specifier = ""] of text.matchAll(PATH_REGEXP)) {
        count += 1;
        const target = sourcePath(specifier, url) ?? "";
        if (target.split("/")[0] === path.split("/")[0]) continue;
        around.push(`${path} imports ${specifier}`);
      }
    }
  }
  assert.ok(count > 1_000);
  assert.deepEqual(around, []);
});

Deno.test("base and gateway, which export many names, have a limited number of lines", async () => {
  let lines = 0;
  for await (const ending of [".ts", ".js"]) {
    for (const member of ["base", "gateway"]) {
      const folder = new URL(`${member}/`, SOURCE);
      for await (const { url } of sourceFiles({ ending, folder })) {
        lines += (await Deno.readTextFile(url)).split("\n").length - 1;
      }
    }
  }
  assert.ok(lines > 30_000);
  assert.ok(lines <= MAX_OPEN_LINES, `${lines} lines`);
});

Deno.test("each member has a page about itself", async () => {
  for (const member of DOORS.keys()) {
    const page = await Deno.readTextFile(
      new URL(`${member}/README.md`, SOURCE),
    );
    assert.ok(page.length < 8_000, `${member}: ${page.length}`);
    for (const heading of ["## Door", "## Tests"]) {
      assert.ok(page.includes(`\n${heading}\n`), `${member}: ${heading}`);
    }
  }
});
