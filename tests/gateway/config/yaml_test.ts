import assert from "node:assert/strict";
import { readYaml } from "../../../src/gateway/config/load.ts";
import {
  parseLinedYaml,
  YamlError,
} from "../../../src/gateway/config/yaml_lines.ts";
import type { Path } from "../../../src/base/problems.ts";
import { stringifyYaml } from "../../../src/base/yaml.ts";
import { parseYaml } from "../../support/yaml.ts";
import { steps } from "../../support/steps.ts";

/** Returns the value of a valid text. */
function valueOf(text: string): unknown {
  const result = readYaml(text);
  assert.ok("value" in result);
  return result.value;
}

Deno.test("readYaml() reads YAML, and JSON even with tabs", () => {
  assert.deepEqual(valueOf("a: 1\nb: [x, 'y']\n"), { a: 1, b: ["x", "y"] });
  assert.deepEqual(valueOf('\uFEFF{\n\t"a": {\n\t\t"b": 1\n\t}\n}\n'), {
    a: { b: 1 },
  });
});

Deno.test("readYaml() reads dates and merge keys as plain text", () => {
  assert.deepEqual(valueOf("a: 2027-01-01T00:00:00Z\n<<: { b: 1 }"), {
    a: "2027-01-01T00:00:00Z",
    "<<": { b: 1 },
  });
});

Deno.test("readYaml() reads the numbers of YAML 1.2, and underscores in them", () => {
  assert.deepEqual(valueOf("[5_000_000, -1_000.5, 017, 0o17, 0x1F, 1_, 08]"), [
    5_000_000,
    -1000.5,
    17,
    15,
    31,
    "1_",
    8,
  ]);
});

Deno.test("stringifyYaml() quotes texts that readYaml() would read as another type", () => {
  for (const text of ["5_000", "017", "null", "1e3", "2027-01-01", "a: b"]) {
    assert.deepEqual(valueOf(stringifyYaml({ text })), { text });
  }
});

Deno.test("readYaml() accepts closing brackets at the beginning of a line, as formatters write them", () => {
  assert.deepEqual(valueOf("a: [\n  1,\n]\nb:\n  c: {\n    d: 2,\n  }\n"), {
    a: [1],
    b: { c: { d: 2 } },
  });
});

Deno.test("readYaml() accepts tabs except for indentation", () => {
  assert.deepEqual(valueOf("a: 1\t# one\n\t# comment\nb:\t2\n"), {
    a: 1,
    b: 2,
  });
});

const FAULTS: Readonly<
  Record<string, readonly [text: string, path: string, message: RegExp]>
> = {
  "an unclosed list": [
    "a: [1,\n  2\n",
    "line 3, column 1",
    /^is not valid YAML: unexpected end of the stream within a flow collection\.$/,
  ],
  "an indent of a tab": [
    "server:\n\tport: 1\n",
    "line 2",
    /^a tab indents this line. Indent with spaces only\.$/,
  ],
  "an indent of spaces and a tab": [
    "a:\n  b:\n  \t c: 1\n",
    "line 3",
    /^a tab indents/,
  ],
  "a duplicate key": [
    "a: 1\nb:\n  c: 1\n  c: 2\n",
    "line 4",
    /^this key appears twice in one mapping, first in line 3\. Keep one of them\.$/,
  ],
  "a known duplicate key, with a list of entries": [
    "tokens:\n  - name: alice\n    sha256: a\nconnections: []\ntokens:\n  - name: bob\n",
    "line 5",
    /^`tokens` appears twice in one mapping, first in line 1\. Keep one of them\.$/,
  ],
  "a known duplicate key in an entry of a list": [
    "tokens:\n  - name: alice\n  - name: bob\n    expires: 1\n    # name:\n    name:\n      carol\n",
    "line 6",
    /^`name` appears twice in one mapping, first in line 3\./,
  ],
  "a known duplicate key in quotes": [
    "\"tokens\": []\r\n'tokens' : []\r\n",
    "line 2",
    /^`tokens` appears twice in one mapping, first in line 1\./,
  ],
  "a known duplicate key in braces": [
    "tokens:\n  - { name: alice, sha256: a, name: bob }\n",
    "line 2",
    /^`name` appears twice in one mapping, first in line 2\. Keep one of them\.$/,
  ],
  "a duplicate key in braces before other braces": [
    "auth: { key: a, key: { scheme: b } }\n",
    "line 1",
    /^`key` appears twice in one mapping, first in line 1\. Keep one of them\.$/,
  ],
  "a number with commas in braces": [
    "limits:\n  - { window: day, tokens: 5,000,000 }\n",
    "line 2",
    /^is a number in place of a key\. A comma ends a value: write 5000, not 5,000\.$/,
  ],
  "a duplicate key with a question mark": [
    "name: a\n? name\n: b\n",
    "line 2",
    /^`name` appears twice in one mapping, first in line 1\. Keep one of them\.$/,
  ],
  "a duplicate JSON key": [
    '{"a": 1,\n"a": 2}',
    "line 2",
    /^this key appears twice in one mapping, first in line 1\./,
  ],
  "two documents": ["a: 1\n---\nb: 2\n", "line 2, column 1", /1 document/],
  "brackets without end": ["[".repeat(100_000), "", /^is nested too deeply/],
  "a control character": ["a: \u0007", "line 1, column 5", /non-printable/],
};

Deno.test("readYaml() names the line and column of", (t) =>
  steps(t, Object.entries(FAULTS), ([, [text, path, message]]) => {
    const result = readYaml(text);
    assert.ok("problem" in result);
    assert.equal(result.problem.path, path);
    assert.match(result.problem.message, message);
    assert.doesNotMatch(result.problem.message, /\n|\^/);
  }));

Deno.test("readYaml() quotes no part of the text in its errors", async (t) => {
  const texts = [
    "key: *sk-canary",
    "key: !sk-canary x",
    "key: !sk!canary x",
    "key: !<sk-canary> x",
    "key: 'sk-canary",
    'key: "sk-canary\\q"',
    "key: %sk-canary",
    "key: @sk-canary",
    "key: sk-canary: b",
    "%TAG sk-canary a\n---\na",
    "sk-canary: 1\nsk-canary: 2",
    "{ canary: 1, canary: 2 }",
  ];
  await steps(t, texts, (text) => {
    const result = readYaml(text);
    assert.ok("problem" in result);
    assert.doesNotMatch(JSON.stringify(result), /canary/);
  });
});

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

Deno.test("parseLinedYaml() returns the list's line for every item if an item is empty", () => {
  const { value, lineOf } = parseLinedYaml("list:\n  -\n  - a: 1\n  - b: 2\n");
  assert.deepEqual(value, { list: [null, { a: 1 }, { b: 2 }] });
  assert.equal(lineOf(["list", 2, "b"]), 4);
  for (const index of [0, 1, 2]) assert.equal(lineOf(["list", index]), 1);
});

Deno.test("parseLinedYaml() returns the enclosing entry's line for a missing value", () => {
  const { lineOf } = parseLinedYaml(TEXT);
  assert.equal(lineOf(["a", 1, "sha256"]), 6);
  assert.equal(lineOf(["a", 2, "below", "a text"]), 8);
  assert.equal(lineOf(["nothing"]), 1);
});

Deno.test("parseLinedYaml() skips long comments and white space", () => {
  const rest = ["# ".repeat(100_000), "#\n".repeat(100_000), " ".repeat(1e6)];
  for (const part of rest) {
    const { value, lineOf } = parseLinedYaml(`a: [1, ${part}\n 2]\nb: 3\n`);
    assert.deepEqual(value, { a: [1, 2], b: 3 });
    assert.equal(lineOf(["b"]), part.split("\n").length + 2);
  }
});

Deno.test("parseLinedYaml() reads the same values as another parser", () => {
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

Deno.test("parseLinedYaml() names a duplicate key, and the line where the key first occurs", () => {
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
      assert.ok(error instanceof YamlError);
      assert.deepEqual(error.duplicate, { key, line, firstLine });
      return true;
    });
  }
});

Deno.test("parseLinedYaml() accepts keys that are collections", () => {
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
