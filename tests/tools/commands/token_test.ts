import assert from "node:assert/strict";
import { runToken } from "../../../src/tools/commands/token.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { includedFaults } from "../../support/gateway/config_schema.ts";
import { createMemoryIo } from "../../support/fakes/memory_io.ts";
import { loadFile, minimalFile } from "../../support/gateway/config.ts";
import { parseYaml } from "../../support/yaml.ts";
import { steps } from "../../support/steps.ts";

async function run(...args: string[]) {
  const io = createMemoryIo();
  const code = await runToken(args, io);
  return { code, out: io.written(), error: io.complained() };
}

Deno.test("token new prints the token once and an entry that admits it", async () => {
  const { code, out, error } = await run("new", "alice: the 1st");
  assert.equal(code, 0);
  assert.equal(error, "");
  const tokens = out.match(/mg_[\w-]+/g) ?? [];
  assert.equal(tokens.length, 1);
  const yaml = parseYaml(`tokens:\n${out.slice(out.indexOf("  - "))}`);
  assert.deepEqual(yaml, {
    tokens: [{
      name: "alice: the 1st",
      sha256: sha256Hex(tokens[0] ?? ""),
      connections: ["*"],
    }],
  });
  assert.ok("config" in await loadFile({ ...minimalFile(), ...Object(yaml) }));
});

Deno.test("token new never makes the same token twice", async () => {
  const first = await run("new", "alice");
  assert.notEqual((await run("new", "alice")).out, first.out);
});

Deno.test("token new writes 256 bits as 43 characters of base64url", async () => {
  const { out } = await run("new", "alice");
  assert.match(out, /\bmg_[\w-]{43}(?![\w=-])/);
});

Deno.test("token rejects a name that the configuration would reject", async () => {
  assert.deepEqual(await run("new", "*"), {
    code: 2,
    out: "",
    error:
      "Cannot create a token:\n  name: must not be *, which means every name.\n",
  });
});

Deno.test("token prints its usage after bad arguments", async () => {
  const cases = [
    [],
    ["new"],
    ["old", "alice"],
    ["new", "alice", "bob"],
    ["new", "alice", "--many", "names.txt"],
    ["--many", "names.txt"],
  ];
  for (const args of cases) {
    assert.deepEqual(await run(...args), {
      code: 2,
      out: "",
      error:
        "Cannot run token: it needs the word new, and one name or --many FILE.\n" +
        "usage: model-gateway token new [NAME] [--many FILE] [--ignore-columns] [--to FILE]\n" +
        "       [--secrets FILE] [--group NAMES] [--connections NAMES] [--models IDS]\n" +
        "       [--expires TIME] [--config FILE]\n" +
        "Run model-gateway token --help for more.\n",
    });
  }
});

/** Runs `token new --many` on a file with this text, in a folder with other files. */
async function runMany(
  names: string,
  options: readonly string[] = [],
  files: Readonly<Record<string, string>> = {},
) {
  const directory = await Deno.makeTempDir();
  await Deno.mkdir(`${directory}/tokens.d`);
  const all = { "names.txt": names, ...files };
  for (const [name, text] of Object.entries(all)) {
    await Deno.writeTextFile(`${directory}/${name}`, text);
  }
  const here = options.map((one) => one.replace("HERE", directory));
  try {
    const { error, ...rest } = await run(
      ...["new", "--many", `${directory}/names.txt`, ...here],
    );
    return { ...rest, error: error.replaceAll(directory, "HERE") };
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("token new --many prints a file for include, and each token once on standard error", async () => {
  const { code, out, error } = await runMany(
    "# the team\nalice\n\n  bob \r\ncarol",
  );
  assert.equal(code, 0);
  const rows = error.trimEnd().split("\n").map((row) => row.split("\t"));
  assert.deepEqual(rows.map(([name]) => name), ["alice", "bob", "carol"]);
  assert.equal(new Set(rows.map(([, token]) => token)).size, 3);
  assert.doesNotMatch(out, /mg_/);
  assert.match(
    out,
    /^# yaml-language-server: \$schema=\.\.\/tokens\.schema\.json\n/,
  );
  assert.deepEqual(includedFaults(parseYaml(out)), []);
  assert.deepEqual(parseYaml(out), {
    tokens: rows.map(([name, token = ""]) => ({
      name,
      sha256: sha256Hex(token),
      connections: ["*"],
    })),
  });
  const result = await loadFile(
    minimalFile({ include: ["staff.yaml"], tokens: undefined }),
    { readFile: () => Promise.resolve(out) },
  );
  assert.ok("config" in result);
  assert.equal(result.config.callers.size, 3);
});

Deno.test("token new --many makes no token when a name is bad, and names each line", async () => {
  assert.deepEqual(await runMany("alice\n*\nbob\nalice\n"), {
    code: 2,
    out: "",
    error:
      "Cannot create a token:\n  line 2: must not be *, which means every name.\n" +
      "  line 4: is also the name in line 1. Name it once.\n",
  });
  assert.deepEqual(await runMany("# nobody\n"), {
    code: 2,
    out: "",
    error:
      "Cannot create a token:\n  file: has no names. Write one name a line.\n",
  });
});

Deno.test("token new --many reports why it cannot read the names", async () => {
  assert.deepEqual(await run("new", "--many", "/no/such/names"), {
    code: 2,
    out: "",
    error: "Cannot read /no/such/names: it does not exist.\n",
  });
});

/** The entries in the output, without their hashes. */
function entriesIn(out: string) {
  const { tokens } = Object(parseYaml(out));
  assert.ok(Array.isArray(tokens));
  return tokens.map(({ sha256, ...rest }) => {
    assert.match(sha256, /^[0-9a-f]{64}$/);
    return rest;
  });
}

const OPTIONS = [
  ...["--group", "platform, research", "--connections", "GLM team"],
  ...["--models", "glm-5.1,glm-fast", "--expires", "2027-01-31"],
];

const ACCESS = {
  group: ["platform", "research"],
  connections: ["GLM team"],
  models: ["glm-5.1", "glm-fast"],
  expires_at: "2027-01-31",
};

Deno.test("the options of token new apply to a single token, and to each token of --many", async () => {
  const one = await run("new", "alice", ...OPTIONS);
  assert.deepEqual(
    entriesIn(`tokens:\n${one.out.slice(one.out.indexOf("  - "))}`),
    [{ name: "alice", ...ACCESS }],
  );
  const many = await runMany("alice\nbob\n", OPTIONS);
  assert.deepEqual(entriesIn(many.out), [
    { name: "alice", ...ACCESS },
    { name: "bob", ...ACCESS },
  ]);
  assert.doesNotMatch(many.out, /[&*]ref/, "aliases, which people cannot edit");
});

/** Returns the listed problems of an error message. */
function problemsIn(error: string): readonly string[] {
  const [head, ...lines] = error.trimEnd().split("\n");
  assert.equal(head, "Cannot create a token:");
  return lines.map((line) => line.trim());
}

Deno.test("token new --many prints a problem of an option once, not once for each name", async () => {
  const bad = ["--expires", "soon", "--group", "a,a"];
  for (
    const { code, out, error } of [
      await run("new", "alice", ...bad),
      await runMany("alice\nbob", bad),
    ]
  ) {
    assert.deepEqual([code, out], [2, ""]);
    assert.deepEqual([...problemsIn(error)].sort(), [
      "--expires: must be an ISO 8601 time with a zone, such as 2027-01-01T00:00:00Z.",
      "--group: must not name a group twice.",
    ]);
  }
});

Deno.test("a table of people has a column with each person's groups", async (t) => {
  const tables = {
    "with commas":
      'name,group\nalice,platform\nbob,"platform;research"\n\n"Müller, Zoë",research\n',
    "with semicolons, as some spreadsheets write it":
      'name;group\r\nalice;platform\r\nbob;"platform,research"\r\n"Müller, Zoë";research\r\n',
    "with tabs, in another order, after a byte order mark":
      "\uFEFFGroups\tName\nplatform\talice\nplatform; research\tbob\nresearch\tMüller, Zoë",
    "with every cell in quotes":
      '"name","group"\n"alice","platform"\n"bob","platform,research"\n"Müller, Zoë","research"',
  };
  await steps(t, Object.entries(tables), async ([, table]) => {
    const { code, out, error } = await runMany(table);
    assert.equal(code, 0, error);
    assert.deepEqual(entriesIn(out), [
      { name: "alice", group: "platform" },
      { name: "bob", group: ["platform", "research"] },
      { name: "Müller, Zoë", group: "research" },
    ]);
  });
});

Deno.test("token new --many creates no token from an unclear list, and names the line", async (t) => {
  const notFirst =
    "line 1: is not a name, and not the first line of a table, which needs the column name. Begin a table with name,group. Put a name with a comma, a semicolon or a tab into double quotes.";
  const unknown = (name: string) =>
    `line 1: has the column "${name}", which is not known. The columns are name and group. Remove it, or skip it with --ignore-columns.`;
  const notOne =
    "is not one name. Put a name with a comma, a semicolon or a tab into double quotes, or begin the file with the line name,group.";
  const noGroup = (line: number) =>
    `line ${line}: has no group, so its token would have every connection. Name the group, or use --group or --connections.`;
  const lists: Record<string, readonly [list: string, ...problems: string[]]> =
    {
      "a third column": [
        "name,group,email\nuser1,interns,a@x\n",
        unknown("email"),
      ],
      "another name of a column": [
        "name,team\nuser1,interns\n",
        unknown("team"),
      ],
      "columns of a directory's export": [
        "name;department;title\nuser1;interns;x",
        unknown("department"),
        unknown("title"),
      ],
      "a column without a name": ["name,group,\nuser1,interns,", unknown("")],
      "no first line with the columns": [
        "user1,interns\nuser2,interns\n",
        notFirst,
      ],
      "no column with the names": ["email,group\na@x,interns", notFirst],
      "groups alone": ["group\ninterns", notFirst],
      "a column twice": [
        "name,group,groups\nuser1,interns,staff",
        "line 1: has the column group twice. Remove one.",
      ],
      "separators in a plain list": [
        'user1\nuser2,interns\nuser3;interns\nuser4\tinterns\n"user5",interns',
        ...[2, 3, 4, 5].map((line) => `line ${line}: ${notOne}`),
      ],
      "separators below the one column of the names": [
        "name\nuser1,interns",
        "line 2: is not a row of the table: it needs as many cells as the first line, 1. Put a cell with a comma or a quote into double quotes.",
      ],
      "other separators than the first line's": [
        "name,group\nuser1;interns",
        "line 2: is not a row of the table: it needs as many cells as the first line, 2. Put a cell with a comma or a quote into double quotes.",
      ],
      "a group that is missing": [
        'name,group\nuser1,\nuser2,interns\nuser3," ; "',
        noGroup(2),
        noGroup(4),
      ],
    };
  await steps(t, Object.entries(lists), async ([, [list, ...problems]]) => {
    const { code, out, error } = await runMany(list);
    assert.deepEqual([code, out], [2, ""]);
    assert.deepEqual(problemsIn(error), problems);
  });
});

Deno.test("--ignore-columns skips all columns except name and group", async () => {
  const list =
    'email;name;Group;title\na@x;alice;platform;"Dr.; h. c."\nb@x;bob;a,b;\n';
  const { code, out, error } = await runMany(list, ["--ignore-columns"]);
  assert.equal(code, 0, error);
  assert.deepEqual(entriesIn(out), [
    { name: "alice", group: "platform" },
    { name: "bob", group: ["a", "b"] },
  ]);
  const unnamed = await runMany("email;group\na@x;staff", ["--ignore-columns"]);
  assert.deepEqual([unnamed.code, unnamed.out], [2, ""]);
});

Deno.test("--connections and --group give access to people without a group in the table", async () => {
  const list = "name,group\nalice,\nbob,platform\n";
  const named = await runMany(list, ["--connections", "GLM team"]);
  const connections = ["GLM team"];
  assert.deepEqual(entriesIn(named.out), [
    { name: "alice", connections },
    { name: "bob", group: "platform", connections },
  ]);
  const grouped = await runMany(list, ["--group", "staff"]);
  assert.deepEqual(entriesIn(grouped.out), [
    { name: "alice", group: "staff" },
    { name: "bob", group: ["staff", "platform"] },
  ]);
});

Deno.test("a table may have the column name alone", async () => {
  const { out } = await runMany('Name\nalice\n"Müller, Zoë"\nda"ve\n');
  const names = entriesIn(out).map(({ name }) => name);
  assert.deepEqual(names, ["alice", "Müller, Zoë", 'da"ve']);
});

Deno.test("an option with an empty list creates no token", async () => {
  for (const option of ["--group", "--connections", "--models"]) {
    for (const value of ["", " ", ",", "a,"]) {
      const { code, out } = await run("new", "alice", option, value);
      assert.deepEqual([code, out], [2, ""], `${option} "${value}"`);
    }
  }
});

Deno.test("--group adds to the groups of a table, each once", async () => {
  const { out } = await runMany("name,group\nalice,a;b", ["--group", "b,c"]);
  assert.deepEqual(entriesIn(out)[0].group, ["b", "c", "a"]);
});

Deno.test("a malformed row of the table creates no token", async () => {
  const { code, out, error } = await runMany(
    'name,group\nalice,a\nbob,a,b\n"carol,a\n,a\nda"ve,a\n',
  );
  assert.deepEqual([code, out], [2, ""]);
  assert.deepEqual(
    problemsIn(error).map((line) => line.slice(0, 22)).sort(),
    [
      "line 3: is not a row o",
      "line 4: is not a row o",
      "line 5: must not be em",
      "line 6: is not a row o",
    ],
  );
});

Deno.test("names with any characters are read unchanged from the printed file", async () => {
  const names = [
    ...["no", "null", "~", "1", "1e3", "0x1f", "2027-01-31", "true", "- a"],
    ...["a: b", "a #b", "'", '"', '"quoted"', "*x", "&x", "!x", "%x", "@x"],
    ...[
      "{a}",
      "[a]",
      "a, b",
      "Zoë",
      "zoe\u0308",
      "名前",
      "🙂",
      "a\\b",
      "%{HOME}",
    ],
    ...["<b>", "a|b", ">", "? a", "=", "name", "x".repeat(256)],
  ];
  const quoted = (name: string) =>
    /[,"]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
  const { code, out, error } = await runMany(names.map(quoted).join("\n"));
  assert.equal(code, 0, error);
  const result = await loadFile(
    minimalFile({ include: ["staff.yaml"], tokens: undefined }),
    { readFile: () => Promise.resolve(out) },
  );
  assert.ok("config" in result, JSON.stringify(result));
  const callers = [...result.config.callers.values()];
  assert.deepEqual(callers.map(({ name }) => name), names);
  assert.deepEqual(
    error.trimEnd().split("\n").map((row) => row.split("\t")[0]),
    names,
  );
});

Deno.test("a list with bad names names each line, and makes no token", async () => {
  const { code, out, error } = await runMany(
    `alice\na\tb\n${"x".repeat(257)}\n\u0007\n*\n\${HOME}\n$HOME\n`,
  );
  assert.deepEqual([code, out], [2, ""]);
  assert.deepEqual(
    problemsIn(error).map((line) => line.split(":")[0]),
    [2, 3, 4, 5, 6, 7].map((line) => `line ${line}`),
  );
  assert.doesNotMatch(error, /mg_/);
});

const CONFIG = {
  "gateway.yaml": `connections:
  - { name: GLM team, service: zai, auth: { key: "\${NOT_SET}" }, models: [glm-5.1] }
groups: { platform: { connections: ["*"] }, budget: {} }
tokens: [{ name: carol, sha256: ${"0".repeat(64)}, connections: ["*"] }]
include: [tokens.d/*.yaml]
`,
  "tokens.d/old.yaml": `groups: { research: { connections: [GLM team] } }
tokens: [{ name: bob, sha256: ${"1".repeat(64)}, connections: ["*"] }]
`,
  // The shell makes the file of the output before the command begins.
  "tokens.d/staff.yaml": "",
};

Deno.test("--config rejects a token whose groups have no connections", async () => {
  const config = ["--config", "HERE/gateway.yaml"];
  const list = "name,group\nalice,budget\ndave,budget;platform\n";
  const { code, error } = await runMany(list, config, CONFIG);
  assert.equal(code, 2);
  assert.deepEqual(problemsIn(error), [
    'line 2: would have no connections: the group "budget" has none. Give the group some, or use --connections.',
  ]);
  const named = await runMany(
    list,
    [...config, "--connections", "GLM team"],
    CONFIG,
  );
  assert.equal(named.code, 0, named.error);
});

Deno.test("--config rejects names that have a token, and unknown groups and connections", async () => {
  const config = ["--config", "HERE/gateway.yaml"];
  const list = "name,group\nalice,platform\nbob,research\ncarol,platfrom\n";
  const { code, out, error } = await runMany(list, config, CONFIG);
  assert.deepEqual([code, out], [2, ""]);
  assert.deepEqual(problemsIn(error), [
    'line 3: "bob" has a token already, in tokens.d/old.yaml. Create tokens only for other names.',
    'line 4: "carol" has a token already, in HERE/gateway.yaml. Create tokens only for other names.',
    'line 4: "platfrom" is not in the configuration. Did you mean "platform"?',
  ]);
  const options = ["--group", "finance", "--connections", "GLM tea,*"];
  const bad = await runMany("alice", [...config, ...options], CONFIG);
  assert.deepEqual(problemsIn(bad.error), [
    '--group: "finance" is not in the configuration.',
    '--connections: "GLM tea" is not in the configuration. Did you mean "GLM team"?',
  ]);
  const good = await runMany(
    "alice\ndave",
    [...config, "--group", "platform,research", "--connections", "GLM team"],
    CONFIG,
  );
  assert.equal(good.code, 0, good.error);
  assert.equal(entriesIn(good.out).length, 2);
});

Deno.test("--config reports why it cannot read the configuration", async () => {
  const config = ["--config", "HERE/gateway.yaml"];
  assert.equal(
    (await runMany("alice", config)).error,
    "Cannot read HERE/gateway.yaml: it does not exist.\n",
  );
  assert.equal(
    (await runMany("alice", config, { "gateway.yaml": "- a" })).error,
    "Cannot read HERE/gateway.yaml: it is not a configuration.\n",
  );
});
