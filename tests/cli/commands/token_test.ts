import assert from "node:assert/strict";
import { createToken, runToken } from "../../../src/cli/commands/token.ts";
import { parseYaml } from "../../../src/core/std.ts";
import { sha256Hex } from "../../../src/core/sha256.ts";
import { createMemoryIo } from "../../support/fakes/memory_io.ts";
import {
  configOf,
  loadFile,
  minimalFile,
} from "../../support/gateway/config.ts";

async function run(...args: string[]) {
  const io = createMemoryIo();
  const code = await runToken(args, io);
  return { code, out: io.written(), error: io.complained() };
}

Deno.test("token new prints the token once and an entry that lets it in", async () => {
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

Deno.test("createToken() writes 256 bits as 43 characters of base64url", () => {
  const ones = createToken(new Uint8Array(32).fill(255));
  assert.equal(ones, `mg_${"_".repeat(42)}8`);
  const mixed = createToken(new Uint8Array(32).fill(0xfb));
  assert.match(mixed, /^mg_[\w-]{43}$/);
});

Deno.test("token refuses a name that the configuration would refuse", async () => {
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
        "usage: model-gateway token new [NAME] [--many FILE] [--group NAME]\n" +
        "Run model-gateway token --help for more.\n",
    });
  }
});

/** Runs `token new --many` on a file with this text. */
async function runMany(names: string, ...options: string[]) {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/names.txt`;
  await Deno.writeTextFile(path, names);
  try {
    return await run("new", "--many", path, ...options);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("token new --many prints a file for include, and apart from it each token once", async () => {
  const { code, out, error } = await runMany(
    "# the team\nalice\n\n  bob \r\ncarol",
  );
  assert.equal(code, 0);
  const rows = error.trimEnd().split("\n").map((row) => row.split("\t"));
  assert.deepEqual(rows.map(([name]) => name), ["alice", "bob", "carol"]);
  assert.equal(new Set(rows.map(([, token]) => token)).size, 3);
  assert.doesNotMatch(out, /mg_/);
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

Deno.test("token new --group names the group in each entry, of one token and of many", async () => {
  const { code, out } = await runMany("alice\nbob\n", "--group", "interns");
  assert.equal(code, 0);
  const result = await loadFile(
    minimalFile({
      include: ["staff.yaml"],
      tokens: undefined,
      groups: { interns: { limits: [{ window: "day", requests: 9 }] } },
    }),
    { readFile: () => Promise.resolve(out) },
  );
  assert.deepEqual(
    configOf(result).callers.values().map(({ groups }) =>
      groups.map(({ name }) => name)
    ).toArray(),
    [["interns"], ["interns"]],
  );
  const one = await run("new", "carol", "--group", "interns");
  assert.match(one.out, /^ {2}- name: carol$/m);
  assert.match(one.out, /^ {4}group: interns$/m);
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
    error: "Cannot create a token:\n  file: has no names. Write one a line.\n",
  });
});

Deno.test("token new --many says why it cannot read the names", async () => {
  assert.deepEqual(await run("new", "--many", "/no/such/names"), {
    code: 2,
    out: "",
    error: "Cannot read /no/such/names: it does not exist.\n",
  });
});
