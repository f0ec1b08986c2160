import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { sha256Of } from "../../release/checksums.ts";
import { provenance } from "../../release/provenance.ts";
import { PROVENANCE_FILE, sealRelease } from "../../release/seal.ts";
import { testNeeding } from "../support/ignored.ts";
import { hasProgram } from "../support/program/has_program.ts";
import { runOther } from "../support/program/run_program.ts";
import { openTempFolder, type TempFolder } from "../support/temp_folder.ts";

const ROOT = new URL("../../", import.meta.url);

const digest = z.strictObject({ sha256: z.string().regex(/^[0-9a-f]{64}$/) });

/** The fields of in-toto.io/Statement/v1 and slsa.dev/provenance/v1 that a release has. */
const statementSchema = z.strictObject({
  _type: z.literal("https://in-toto.io/Statement/v1"),
  subject: z.array(z.strictObject({ name: z.string(), digest })),
  predicateType: z.literal("https://slsa.dev/provenance/v1"),
  predicate: z.strictObject({
    buildDefinition: z.strictObject({
      buildType: z.url(),
      externalParameters: z.strictObject({ command: z.string() }),
      internalParameters: z.strictObject({}),
      resolvedDependencies: z.array(z.strictObject({
        name: z.string(),
        uri: z.string().optional(),
        digest: z.union([
          digest,
          z.strictObject({ gitCommit: z.string().regex(/^[0-9a-f]{40}$/) }),
        ]).optional(),
        annotations: z.strictObject({ dirty: z.literal(true) }).optional(),
      })),
    }),
    runDetails: z.strictObject({
      builder: z.strictObject({
        id: z.url(),
        version: z.strictObject({ deno: z.string(), v8: z.string() }),
      }),
    }),
  }),
});

const COMMIT = "0123456789abcdef0123456789abcdef01234567";
const SHA256 = "ab".repeat(32);

function statement(
  parts: Partial<Parameters<typeof provenance>[0]> = {},
): z.output<typeof statementSchema> {
  return statementSchema.parse(provenance({
    commit: COMMIT,
    lockSha256: SHA256,
    baseSha256: undefined,
    runtime: { deno: "2.9.6", v8: "15" },
    files: [{ name: "model-gateway", sha256: SHA256 }],
    ...parts,
  }));
}

function dependenciesOf(parts: Parameters<typeof statement>[0]) {
  return statement(parts).predicate.buildDefinition.resolvedDependencies;
}

Deno.test("the provenance names the command, the files, the commit, the lock and Deno", () => {
  const { subject, predicate: { buildDefinition } } = statement();
  assert.deepEqual(subject, [
    { name: "model-gateway", digest: { sha256: SHA256 } },
  ]);
  assert.deepEqual(buildDefinition.externalParameters, {
    command: "npx -y deno@2.9.6 task release",
  });
  assert.deepEqual(buildDefinition.resolvedDependencies, [
    { name: "source", digest: { gitCommit: COMMIT } },
    { name: "deno.lock", digest: { sha256: SHA256 } },
    { name: "deno", uri: "pkg:github/denoland/deno@v2.9.6" },
  ]);
});

Deno.test("the provenance marks a commit with local changes, and names no commit if it is unknown", () => {
  const [source] = dependenciesOf({ commit: `${COMMIT}-dirty` });
  assert.deepEqual(source, {
    name: "source",
    digest: { gitCommit: COMMIT },
    annotations: { dirty: true },
  });
  const [first] = dependenciesOf({ commit: undefined });
  assert.equal(first?.name, "deno.lock");
});

Deno.test("the provenance names the compiler's base if it is a local file", () => {
  assert.deepEqual(dependenciesOf({ baseSha256: SHA256 }).at(-1), {
    name: "DENORT_BIN",
    digest: { sha256: SHA256 },
  });
});

/** Creates a folder with two files of a release. */
async function folderOfFiles(): Promise<TempFolder> {
  const folder = await openTempFolder();
  const { path } = folder;
  await Deno.writeTextFile(`${path}/model-gateway`, "the executable");
  await Deno.writeTextFile(`${path}/model-gateway.1`, "the manual");
  return folder;
}

async function seal(path: string, key?: string): Promise<string> {
  const folder = pathToFileURL(`${path}/`);
  return await sealRelease({ folder, key, base: undefined });
}

Deno.test("two releases of the same files have the same provenance, which names every file and this lock", async () => {
  await using first = await folderOfFiles();
  await using second = await folderOfFiles();
  const texts = await Promise.all([first, second].map(async ({ path }) => {
    await seal(path);
    return await Deno.readTextFile(`${path}/${PROVENANCE_FILE}`);
  }));
  assert.equal(texts[0], texts[1]);
  const { subject, predicate } = statementSchema.parse(
    JSON.parse(texts[0] ?? ""),
  );
  assert.deepEqual(subject.map(({ name }) => name), [
    "model-gateway",
    "model-gateway.1",
  ]);
  const { resolvedDependencies } = predicate.buildDefinition;
  const lock = resolvedDependencies.find(({ name }) => name === "deno.lock");
  const sha256 = await sha256Of(new URL("deno.lock", ROOT));
  assert.deepEqual(lock?.digest, { sha256 });
});

Deno.test("a release without a key has checksums of every file, no signature, and reports it", async () => {
  await using folder = await folderOfFiles();
  for (const key of [undefined, ""]) {
    assert.match(
      await seal(folder.path, key),
      /not signed: no key is given\. Set RELEASE_SIGNING_KEY /,
    );
  }
  const sums = await Deno.readTextFile(`${folder.path}/SHA256SUMS`);
  for (const name of ["model-gateway", "model-gateway.1", PROVENANCE_FILE]) {
    assert.match(sums, new RegExp(`^[0-9a-f]{64}  ${name}$`, "m"));
  }
  await assert.rejects(Deno.stat(`${folder.path}/SHA256SUMS.sig`));
});

const needs = await hasProgram("ssh-keygen", ["-Y", "check-novalidate"]) ||
  await hasProgram("sh", ["-c", "command -v ssh-keygen"]);
const lack = (!needs || !await hasProgram("sha256sum")) &&
  "there is no ssh-keygen here";

/** Creates a key for a test, and returns the path of its private part and its line for `allowed_signers`. */
async function createKey(folder: string, name: string) {
  const path = `${folder}/${name}`;
  await run(`ssh-keygen -q -t ed25519 -N '' -C test -f '${path}'`, folder);
  const [type, text] = (await Deno.readTextFile(`${path}.pub`)).split(" ");
  return { path, line: `release namespaces="model-gateway" ${type} ${text}\n` };
}

async function run(
  script: string,
  cwd: string,
): Promise<{ readonly success: boolean; readonly output: string }> {
  const ran = await runOther("sh", ["-c", script], { cwd });
  return { success: ran.code === 0, output: ran.stdout + ran.stderr };
}

/** The two commands of SECURITY.md that check a download. */
async function checkCommands(): Promise<readonly string[]> {
  const text = await Deno.readTextFile(new URL("SECURITY.md", ROOT));
  const [, section = ""] = text.split("## Checking a download\n");
  const [, block = ""] = /^```sh\n([^]*?)^```$/m.exec(section) ?? [];
  const commands = block.split("\n").slice(0, 2);
  assert.match(commands[0] ?? "", /^ssh-keygen -Y verify /);
  assert.match(commands[1] ?? "", /^sha256sum --check /);
  return commands;
}

testNeeding(
  "the commands of SECURITY.md accept a signed release, and reject other files, checksums, keys and purposes",
  lack,
  async () => {
    await using folder = await folderOfFiles();
    const { path } = folder;
    await using temp = await openTempFolder();
    const { path: keys } = temp;
    const [key, other] = [
      await createKey(keys, "key"),
      await createKey(keys, "other"),
    ];
    assert.match(await seal(path, key.path), /is the signature of SHA256SUMS/);
    await Deno.writeTextFile(`${path}/allowed_signers`, key.line);
    const commands = await checkCommands();
    const results = () => Promise.all(commands.map((one) => run(one, path)));
    const accepted = async () =>
      (await results()).map(({ success }) => success);
    const [first] = await results();
    assert.match(first?.output ?? "", /^Good "model-gateway" signature for r/);
    assert.deepEqual(await accepted(), [true, true]);

    await Deno.writeTextFile(`${path}/model-gateway`, "another executable");
    assert.deepEqual(await accepted(), [true, false]);
    await Deno.writeTextFile(`${path}/model-gateway`, "the executable");

    const sums = await Deno.readTextFile(`${path}/SHA256SUMS`);
    await Deno.writeTextFile(`${path}/SHA256SUMS`, sums.replace("1", "2"));
    assert.equal((await accepted())[0], false);
    await Deno.writeTextFile(`${path}/SHA256SUMS`, sums);
    assert.deepEqual(await accepted(), [true, true]);

    await Deno.writeTextFile(`${path}/allowed_signers`, other.line);
    assert.equal((await accepted())[0], false);
    await Deno.writeTextFile(`${path}/allowed_signers`, key.line);

    await Deno.remove(`${path}/SHA256SUMS.sig`);
    await run(`ssh-keygen -q -Y sign -n git -f '${key.path}' SHA256SUMS`, path);
    assert.equal((await accepted())[0], false);
  },
);

testNeeding(
  "a release whose key cannot sign fails with the reason",
  lack,
  async () => {
    await using folder = await folderOfFiles();
    await assert.rejects(
      seal(folder.path, `${folder.path}/nothing`),
      /^Error: Cannot sign SHA256SUMS: .*(No such file|load).*RELEASE_SIGNING_KEY/s,
    );
    await assert.rejects(Deno.stat(`${folder.path}/SHA256SUMS.sig`));
  },
);

Deno.test("the list of signers has only lines for the signatures of releases", async () => {
  const text = await Deno.readTextFile(
    new URL("release/allowed_signers", ROOT),
  );
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    assert.match(line, /^release namespaces="model-gateway" ssh-\S+ \S+$/);
  }
});
