import assert from "node:assert/strict";
import { runToken } from "../../../src/tools/commands/token.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { createMemoryIo } from "../../support/fakes/memory_io.ts";
import { parseYaml } from "../../support/yaml.ts";
import { steps } from "../../support/steps.ts";

/** A folder with a list of people. The command runs in it. */
async function folderOf(files: Readonly<Record<string, string>>) {
  const directory = await Deno.makeTempDir();
  await Deno.mkdir(`${directory}/tokens.d`);
  const path = (name: string) => `${directory}/${name}`;
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(path(name), text);
  }
  return {
    path,
    read: (name: string) => Deno.readTextFile(path(name)),
    write: (name: string, text: string) => Deno.writeTextFile(path(name), text),
    async run(...more: string[]) {
      const io = createMemoryIo();
      const paths = { many: "list", to: STAFF, secrets: SECRETS };
      const given = Object.entries(paths)
        .flatMap(([option, name]) => [`--${option}`, path(name)]);
      const args = ["new", ...given, ...more]
        .map((one) => one.replace("HERE", directory));
      const code = await runToken(args, io);
      const clean = (text: string) => text.replaceAll(`${directory}/`, "");
      return {
        code,
        out: clean(io.written()),
        error: clean(io.complained()),
      };
    },
    async names() {
      const names = [];
      for await (const { name } of Deno.readDir(directory)) names.push(name);
      for await (const { name } of Deno.readDir(path("tokens.d"))) {
        names.push(`tokens.d/${name}`);
      }
      return names.sort();
    },
    [Symbol.asyncDispose]: () => Deno.remove(directory, { recursive: true }),
  };
}

const STAFF = "tokens.d/staff.yaml";
const SECRETS = "tokens.txt";

Deno.test("token new --to writes the hashes, and the tokens into a file that only its owner can read", async () => {
  await using folder = await folderOf({ list: "alice\nbob\n" });
  assert.deepEqual(await folder.run(), {
    code: 0,
    out: "Added to tokens.d/staff.yaml: alice, bob.\n" +
      "Their tokens are in tokens.txt. Hand them out, then delete it.\n",
    error: "",
  });
  const rows = (await folder.read(SECRETS)).trimEnd().split("\n")
    .map((row) => row.split("\t"));
  assert.deepEqual(parseYaml(await folder.read(STAFF)), {
    tokens: rows.map(([name, token = ""]) => ({
      name,
      sha256: sha256Hex(token),
      connections: ["*"],
    })),
  });
  for (const name of [STAFF, SECRETS]) {
    const { mode } = await Deno.stat(folder.path(name));
    assert.equal((mode ?? 0) & 0o777, 0o600, name);
  }
});

Deno.test("token new --to keeps the people, the comments and the mode of the file", async () => {
  const old = `# Berlin\ntokens:
  - name: alice # since May
    sha256: ${"0".repeat(64)}
    connections: ["*"]
  - { name: carol, sha256: ${"1".repeat(64)}, group: a }
`;
  await using folder = await folderOf({ [STAFF]: old });
  await folder.write("list", "name,group\nalice,\nbob,b\n");
  await Deno.chmod(folder.path(STAFF), 0o640);
  assert.deepEqual((await folder.run()).out.split("\n"), [
    "Added to tokens.d/staff.yaml: bob.",
    "Their tokens are in tokens.txt. Hand them out, then delete it.",
    "Kept: alice.",
    "Not in the list: carol. They keep their access until you remove their entries.",
    "",
  ]);
  const text = await folder.read(STAFF);
  const token = (await folder.read(SECRETS)).trim().split("\t")[1] ?? "";
  assert.equal(
    text,
    `${old}  - name: bob\n    sha256: ${sha256Hex(token)}\n    group: b\n`,
  );
  const { mode } = await Deno.stat(folder.path(STAFF));
  assert.equal((mode ?? 0) & 0o777, 0o640);
});

Deno.test("token new --to writes no file when all people have a token, and names people whose groups differ", async () => {
  const old = `tokens: [{ name: alice, sha256: ${"0".repeat(64)}, group: a }]`;
  await using folder = await folderOf({
    list: "name,group\nalice,b\n",
    [STAFF]: old,
  });
  assert.deepEqual(await folder.run(), {
    code: 0,
    out: "Added nobody to tokens.d/staff.yaml, and wrote no tokens.txt.\n" +
      "Kept: alice.\nIn other groups in the list: alice. Change their entries.\n",
    error: "",
  });
  assert.equal(await folder.read(STAFF), old);
  assert.ok(!(await folder.names()).includes(SECRETS));
});

/** The files beside the list, and the error, by the reason why no file is written. */
const REFUSED: Readonly<
  Record<string, readonly [Readonly<Record<string, string>>, RegExp]>
> = {
  "the file of tokens exists": [
    { [SECRETS]: "old\tmg_1\n" },
    /^Cannot write tokens\.txt: it exists already\./,
  ],
  "a draft is left": [
    { "tokens.d/staff.yaml.new": "" },
    /^Cannot write tokens\.d\/staff\.yaml\.new: it exists already\./,
  ],
  "the file is no file of tokens": [
    { [STAFF]: "groups: {}\n" },
    /^Cannot read tokens\.d\/staff\.yaml: it is not a file with `tokens`/,
  ],
  "the file is not YAML": [
    { [STAFF]: "tokens: [\n" },
    /^Cannot read tokens\.d\/staff\.yaml: it is not a file with `tokens`/,
  ],
  "the tokens do not end the file": [
    { [STAFF]: "tokens: []\ngroups: { a: {} }\n" },
    /^Cannot add to tokens\.d\/staff\.yaml: its `tokens` are not a list of blocks/,
  ],
};

Deno.test("token new --to writes both files or none", async (t) => {
  await steps(t, Object.entries(REFUSED), async ([, [files, expected]]) => {
    await using folder = await folderOf({ list: "alice\n", ...files });
    const before = await folder.names();
    const { code, out, error } = await folder.run();
    assert.deepEqual([code, out], [1, ""]);
    assert.match(error, expected);
    assert.deepEqual(await folder.names(), before);
    for (const [name, text] of Object.entries(files)) {
      assert.equal(await folder.read(name), text);
    }
  });
  await t.step("a name is invalid", async () => {
    await using folder = await folderOf({ list: "alice\n*\n" });
    assert.equal((await folder.run()).code, 2);
    assert.deepEqual(await folder.names(), ["list", "tokens.d"]);
  });
  await t.step("the folder does not exist", async () => {
    await using folder = await folderOf({ list: "alice\n" });
    const { code, error } = await folder.run("--to", "HERE/nowhere/a.yaml");
    assert.equal(code, 1);
    assert.match(error, /its folder does not exist\. Make it\.\n$/);
    assert.deepEqual(await folder.names(), ["list", "tokens.d"]);
  });
});

Deno.test("token new accepts --to and --secrets only together, and only with --many", async () => {
  for (
    const args of [
      ["new", "--many", "list", "--to", "a.yaml"],
      ["new", "--many", "list", "--secrets", "a.txt"],
      ["new", "alice", "--to", "a.yaml", "--secrets", "a.txt"],
    ]
  ) {
    const io = createMemoryIo();
    assert.equal(await runToken(args, io), 2, args.join(" "));
    assert.match(io.complained(), /^Cannot run token: --to (and|needs)/);
  }
});
