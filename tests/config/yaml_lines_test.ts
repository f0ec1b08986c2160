import assert from "node:assert/strict";
import {
  DuplicateKeyError,
  parseLinedYaml,
} from "../../src/config/yaml_lines.ts";
import type { Path } from "../../src/config/problems.ts";
import { parseYaml } from "../support/yaml.ts";

const TEXT = `# a comment
a:
  - name: x
    b: 1
  -
    name: "y
      and more"
  - z
c: { d: 1,
  e: [1,
   2, {f: 3, g}] }
h:
- |
  text
  more
- &k { l: 1 }
- *k
? m
: - 1
"n": 1
`;

const LINES: readonly (readonly [path: Path, line: number])[] = [
  [[], 1],
  [["a"], 2],
  [["a", 0], 3],
  [["a", 0, "name"], 3],
  [["a", 0, "b"], 4],
  [["a", 1, "name"], 6],
  [["a", 2], 8],
  [["c"], 9],
  [["c", "d"], 9],
  [["c", "e"], 10],
  [["c", "e", 0], 10],
  [["c", "e", 1], 11],
  [["c", "e", 2, "f"], 11],
  [["c", "e", 2, "g"], 11],
  [["h", 0], 13],
  [["h", 1, "l"], 16],
  [["h", 2], 17],
  [["n"], 20],
];

Deno.test("parseLinedYaml() returns the line of every key and item", () => {
  const { lineOf } = parseLinedYaml(TEXT);
  for (const [path, line] of LINES) {
    assert.equal(lineOf(path), line, path.join("."));
  }
});

Deno.test("parseLinedYaml() names the list's line for the items of one with an empty item", () => {
  const { value, lineOf } = parseLinedYaml("list:\n  -\n  - a: 1\n  - b: 2\n");
  assert.deepEqual(value, { list: [null, { a: 1 }, { b: 2 }] });
  assert.equal(lineOf(["list", 2, "b"]), 4);
  for (const index of [0, 1, 2]) assert.equal(lineOf(["list", index]), 1);
});

Deno.test("parseLinedYaml() returns the line of the enclosing entry for a missing value", () => {
  const { lineOf } = parseLinedYaml(TEXT);
  assert.equal(lineOf(["a", 1, "sha256"]), 6);
  assert.equal(lineOf(["a", 2, "below", "a text"]), 8);
  assert.equal(lineOf(["nothing"]), 1);
});

Deno.test("parseLinedYaml() reads the same values as the parser of the library", () => {
  const texts = [
    TEXT,
    "",
    "# nothing",
    "1",
    "\uFEFFa: 1",
    "a: 1\r\nb: 2",
    "- \n- 1",
    "[a, {b: c}]",
  ];
  for (const text of texts) {
    assert.deepEqual(
      parseLinedYaml(text).value,
      parseYaml(text, { schema: "core" }),
    );
  }
});

Deno.test("parseLinedYaml() names a duplicate key, and the line of the first", () => {
  const cases: readonly (readonly [
    text: string,
    key: string,
    line: number,
    firstLine: number,
  ])[] = [
    ["a: 1\ntokens: []\n\nb: 1\ntokens: []\n", "tokens", 5, 2],
    ['{"a": 1,\n"b": 2,\n"a": 3}', "a", 3, 1],
    ["a:\n  - b: 1\n    c: 2\n    b: 3\n", "b", 4, 2],
    ["1: a\n1: b\n", "1", 2, 1],
  ];
  for (const [text, key, line, firstLine] of cases) {
    assert.throws(() => parseLinedYaml(text), (error) => {
      assert.ok(error instanceof DuplicateKeyError);
      assert.deepEqual(error.duplicate, { key, line, firstLine });
      return true;
    });
  }
});

Deno.test("parseLinedYaml() survives keys that are collections", () => {
  const bomb = [
    "a: &a [x, x]",
    ...["b", "c", "d"].map((name, index) =>
      `${name}: &${name} [${`*${"abc"[index]}, `.repeat(9)}]`
    ),
    "? *d",
    ": 1",
  ].join("\n");
  assert.throws(() => parseLinedYaml(bomb), SyntaxError);
  assert.deepEqual(parseLinedYaml("? {a: 1}\n: 2\n").value, {
    "[object Object]": 2,
  });
});
