import assert from "node:assert/strict";
import { formatProblem } from "../../../src/base/problems.ts";
import type { LoadResult } from "../../../src/gateway/config/load.ts";
import {
  configOf,
  loadText,
  warningsOf,
} from "../../support/gateway/config.ts";

const CONNECTIONS = `connections:
  - name: main
    service: custom
    family: A
    endpoints: { chat: "http://127.0.0.1:9/v1" }
    auth: { key: upstream-key }
    models: [model-a]
`;

const MAIN = `include: ["tokens.d/*.yaml"]
${CONNECTIONS}`;

/** Returns an entry of `tokens`, with a hash of one repeated digit. */
const entry = (name: string, digit: string, more = "") =>
  `  - name: ${name}
    sha256: "${digit.repeat(64)}"
    connections: ["*"]
${more}`;

/** Loads a configuration with other files beside it; a pattern matches all of them. */
function load(
  main: string,
  files: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
): Promise<LoadResult> {
  return loadText(main, {
    env: (name) => env[name],
    readFile: (path) => {
      const text = files[path];
      return text === undefined
        ? Promise.reject(new Deno.errors.NotFound())
        : Promise.resolve(text);
    },
    listFiles: (pattern) =>
      Promise.resolve(
        pattern.includes("*") ? Object.keys(files).sort() : [pattern],
      ),
  });
}

async function problemLines(
  ...args: Parameters<typeof load>
): Promise<readonly string[]> {
  const result = await load(...args);
  assert.ok("problems" in result);
  return result.problems.map(formatProblem);
}

Deno.test("include adds the tokens and the groups of other files", async () => {
  const config = configOf(
    await load(`${MAIN}tokens:\n${entry("alice", "a", "    group: two\n")}`, {
      "tokens.d/1.yaml": `tokens:\n${entry("bob", "b", "    group: one\n")}`,
      "tokens.d/2.yaml": `groups:
  one: { limits: [{ window: day, requests: 1 }] }
  two: { limits: [{ window: day, requests: 2 }] }
tokens:
${entry("${NAME}", "c")}`,
    }, { NAME: "carol" }),
  );
  assert.deepEqual(
    [...config.callers.values()].map(({ name, groups }) => [
      name,
      groups.map((group) => group.name),
    ]),
    [["alice", ["two"]], ["bob", ["one"]], ["carol", []]],
  );
  assert.deepEqual(config.include, ["tokens.d/*.yaml"]);
});

Deno.test("a file that matches two patterns is read once", async () => {
  const main = `include: ["tokens.d/*.yaml", tokens.d/1.yaml]\n${CONNECTIONS}`;
  const files = { "tokens.d/1.yaml": `tokens:\n${entry("bob", "b")}` };
  assert.equal(configOf(await load(main, files)).callers.size, 1);
});

Deno.test("each problem names its file, the entry and the line", async () => {
  const main = `${MAIN}tokens:\n${entry("alice", "a")}`;
  const lines = await problemLines(main, {
    "tokens.d/1.yaml": `# staff
tokens:
${entry("bob", "b", "    conections: []\n")}${entry("alice", "c")}`,
    "tokens.d/2.yaml": `tokens:\n${entry("dave", "a", "    group: none\n")}`,
  });
  assert.deepEqual(lines, [
    'tokens.d/1.yaml: tokens[0] "bob".conections, line 6: is not a known key. Did you mean "connections"?',
    'tokens.d/1.yaml: tokens[1] "alice".name, line 7: is also the name of tokens[0], line 10. Each token needs its own.',
    'tokens.d/2.yaml: tokens[0] "dave".sha256, line 3: is also the sha256 of tokens[0], line 10. Each token needs its own.',
    'tokens.d/2.yaml: tokens[0] "dave".group, line 5: is not a name in `groups`.',
  ]);
});

Deno.test("a duplicate name in two included files is a problem that names both", async () => {
  const lines = await problemLines(MAIN, {
    "a.yaml": `tokens:\n${entry("bob", "b")}`,
    "b.yaml": `tokens:\n${entry("bob", "c")}`,
  });
  assert.deepEqual(lines, [
    'b.yaml: tokens[0] "bob".name, line 2: is also the name of tokens[0] of a.yaml, line 2. Each token needs its own.',
  ]);
});

Deno.test("a duplicate group in two files is a problem that names both", async () => {
  const main = `${MAIN}groups:\n  team: {}\n`;
  assert.deepEqual(
    await problemLines(main, { "a.yaml": "groups:\n  team: {}\n" }),
    ["a.yaml: groups.team, line 2: is also in groups.team, line 10. Keep one of them."],
  );
});

const BROKEN: readonly (readonly [text: string, problem: string])[] = [
  ["", "a.yaml: is empty. It needs at least `tokens` or `groups`."],
  ["- a\n", "a.yaml: must be a mapping with `tokens` or `groups`, not a list."],
  [
    "tokens:\n  - name: [\n",
    "a.yaml: line 3, column 1: is not valid YAML: unexpected end of the stream within a flow collection.",
  ],
  [
    "tokens: []\ntokens: []\n",
    "a.yaml: line 2: `tokens` appears twice in one mapping, first in line 1. Keep one of them.",
  ],
  [
    "tokens: []\nserver: {}\n",
    "a.yaml: server, line 2: is not a known key. Known here: groups, tokens.",
  ],
  [
    "tokens: {}\ngroups: {}\n",
    "a.yaml: tokens, line 1: must be a list, not a mapping.",
  ],
  [
    `tokens:\n${entry("${NOBODY}", "a")}`,
    'a.yaml: tokens[0] "${NOBODY}".name, line 2: needs the environment variable NOBODY, which is not set.',
  ],
  [
    "a: &x [*x]\n",
    "a.yaml: a[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]: is nested too deeply for a configuration.",
  ],
];

Deno.test("an included file that cannot be used is a problem", async (t) => {
  for (const [text, problem] of BROKEN) {
    await t.step(problem.slice(0, 80), async () => {
      assert.deepEqual(await problemLines(MAIN, { "a.yaml": text }), [problem]);
    });
  }
});

Deno.test("the problems of all files are reported at once", async () => {
  const lines = await problemLines(`${MAIN}timeouts: { idel: 1 }\n`, {
    "a.yaml": "tokens: [\n",
    "b.yaml": "tokens: {}\n\n",
  });
  assert.deepEqual(lines.map((line) => line.split(":")[0]), [
    "a.yaml",
    "timeouts.idel, line 9",
    "b.yaml",
  ]);
});

Deno.test("an included file that does not exist is a problem; a pattern without a file is a warning", async () => {
  assert.deepEqual(
    await problemLines(`include: [absent.yaml]\n${CONNECTIONS}`, {}),
    ["absent.yaml: does not exist."],
  );
  assert.deepEqual(warningsOf(await load(MAIN, {})), [
    "include[0]: matches no file.",
    "tokens: is empty: nobody can call the gateway.",
  ]);
});

Deno.test("a pattern in a missing folder is a problem, so that a reload keeps the folder's tokens", async () => {
  const result = await loadText(MAIN, {
    listFiles: () => Promise.reject(new Deno.errors.NotFound()),
  });
  assert.ok("problems" in result);
  assert.deepEqual(result.problems.map(formatProblem), [
    "include[0], line 1: names a folder that does not exist.",
  ]);
});

Deno.test("include rejects **, and a file without include needs tokens", async () => {
  assert.deepEqual(
    await problemLines(`include: ["**/*.yaml"]\n${CONNECTIONS}`, {}),
    ["include[0], line 1: must not hold **. Name each folder, such as tokens.d/*.yaml."],
  );
  assert.deepEqual(await problemLines(CONNECTIONS, {}), [
    "tokens, line 1: is missing.",
  ]);
});

Deno.test("too many included files are rejected", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 10_001 }, (_, index) => [`${index}`, "groups: {}"]),
  );
  assert.deepEqual(await problemLines(MAIN, files), [
    "include[0], line 1: matches more than 10000 files.",
  ]);
});

Deno.test("a problem or warning in the main file names the entry and its line", async () => {
  const many = Array.from(
    { length: 37 },
    (_, index) =>
      entry(`user-${index}`, (index + 10).toString(36)).replace(
        /"\w+"/,
        `"${index.toString(16).padStart(64, "0")}"`,
      ),
  ).join("");
  const bob = entry("bob", "a", "    expires_at: 2020-01-01\n");
  const result = await loadText(`${CONNECTIONS}tokens:\n${many}${bob}`);
  assert.ok("config" in result);
  assert.deepEqual(result.warnings.map(formatProblem), [
    'tokens[37] "bob".expires_at, line 123: has passed. The gateway rejects the token.',
  ]);
});
