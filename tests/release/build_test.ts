import assert from "node:assert/strict";
import manifest from "../../deno.json" with { type: "json" };
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { checksums } from "../../release/checksums.ts";
import { resultText } from "../../release/compile.ts";
import { releaseDenoError } from "../../release/executable.ts";
import {
  npmCache,
  packageUrl,
  readPackages,
  unusedFiles,
} from "../../release/packages.ts";
import { withoutTypes } from "../../release/program.ts";
import { V8_FLAGS } from "../../release/v8_flags.ts";
import { testNeeding } from "../support/ignored.ts";
import { hasProgram } from "../support/program/has_program.ts";
import { runOther } from "../support/program/run_program.ts";
import { openTempFolder } from "../support/temp_folder.ts";

Deno.test("checksums() lists every file of a folder with its SHA-256, sorted", async () => {
  await using folder = await openTempFolder();
  await Deno.writeTextFile(`${folder.path}/b`, "abc");
  await Deno.writeTextFile(`${folder.path}/a`, "");
  const text = await checksums(pathToFileURL(`${folder.path}/`));
  // FIPS 180-4 examples: of no byte, and of "abc".
  assert.equal(
    text,
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\n" +
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b\n",
  );
});

const OUTPUT = "dist/model-gateway";

Deno.test("compile prints the file, its size and the next commands, without the compiler's report", () => {
  const compiled = { outcome: "made", report: "Embedded Files\n" } as const;
  assert.equal(
    resultText(compiled, { output: OUTPUT, bytes: 121_202_939 }),
    `Made dist/model-gateway (121 MB). It needs no runtime and no other file.
Next:
  ./dist/model-gateway demo                             # try it, without a key
  ./dist/model-gateway init anthropic > gateway.yaml    # write a first configuration
  ./dist/model-gateway serve                            # serve it
`,
  );
});

Deno.test("compile prints what to do if the base of the executable cannot be downloaded", () => {
  const report = "error: ... \nStack backtrace:\n";
  const compiled = { outcome: "no base", report } as const;
  assert.equal(
    resultText(compiled, { output: OUTPUT, bytes: 0 }),
    "Cannot compile: the base of the executable cannot be downloaded from dl.deno.land, or read from the path in " +
      "DENORT_BIN. Name a local copy there.\n",
  );
});

Deno.test("compile prints why a new executable does not run", () => {
  const report = "error: no binary section\n\nStack backtrace:\n   0: x\n";
  const compiled = { outcome: "does not run", report } as const;
  assert.equal(
    resultText(compiled, { output: OUTPUT, bytes: 0 }),
    "Cannot compile: the new executable does not run. Its base must be of the version of Deno that compiles: " +
      "see DENORT_BIN. It printed:\nerror: no binary section\n",
  );
});

Deno.test("compile prints the compiler's whole report if it failed", () => {
  const report = "error: first\nerror: second\n\n";
  const compiled = { outcome: "failed", report } as const;
  assert.equal(
    resultText(compiled, { output: OUTPUT, bytes: 0 }),
    "Cannot compile: the compiler failed. Its report:\nerror: first\nerror: second\n",
  );
});

Deno.test("a release needs Deno 2.9 or newer", () => {
  for (const version of ["2.9.0", "2.9.6", "2.10.0", "3.0.1", "2.9.0-rc.1"]) {
    assert.equal(releaseDenoError(version), undefined, version);
  }
  for (const version of ["2.8.3", "2.7.11", "1.46.3", "", "canary"]) {
    const error = releaseDenoError(version) ?? assert.fail(version);
    assert.match(
      error,
      /^Cannot make a release with Deno .*: .*\. Use Deno 2\.9 or newer\.$/,
    );
  }
});

const SHA512 = new Uint8Array(64).fill(1);
const INTEGRITY = `sha512-${SHA512.toBase64()}`;

const LOCK = JSON.stringify({
  version: "5",
  npm: {
    "@scope/peer@2.0.0_zod@4.6.7": {
      integrity: INTEGRITY,
      dependencies: ["zod", "twice@1.0.0"],
    },
    "twice@1.0.0": { integrity: INTEGRITY },
    "twice@2.0.0": { integrity: INTEGRITY },
    "zod@4.6.7": { integrity: INTEGRITY },
  },
});

const readLicensed = () => Promise.resolve('{"license":"MIT OR Apache-2.0"}');

Deno.test("readPackages() lists the pinned packages, also with peers and several versions", async () => {
  const packages = await readPackages({
    lock: LOCK,
    readManifest: readLicensed,
  });
  assert.deepEqual(packages[0], {
    name: "@scope/peer",
    version: "2.0.0",
    license: "MIT OR Apache-2.0",
    sha512: "01".repeat(64),
    dependsOn: ["pkg:npm/twice@1.0.0", "pkg:npm/zod@4.6.7"],
  });
  assert.deepEqual(packages.map(packageUrl), [
    "pkg:npm/%40scope/peer@2.0.0",
    "pkg:npm/twice@1.0.0",
    "pkg:npm/twice@2.0.0",
    "pkg:npm/zod@4.6.7",
  ]);
});

Deno.test("readPackages() rejects a package without a licence, a checksum or a known version", async () => {
  const read = (lock: object, manifest = '{"license":"MIT"}') =>
    readPackages({
      lock: JSON.stringify(lock),
      readManifest: () => Promise.resolve(manifest),
    });
  const entry = { integrity: INTEGRITY };
  await assert.rejects(
    read({ npm: { "a@1.0.0": entry } }, "{}"),
    /^Error: Cannot list the packages: a@1\.0\.0 names no licence$/,
  );
  await assert.rejects(read({ npm: { "a@1.0.0": { integrity: "sha1-x" } } }));
  await assert.rejects(
    read({ npm: { a: entry } }),
    /: a is not a name and version$/,
  );
  await assert.rejects(
    read({ npm: { "a@1.0.0": { ...entry, dependencies: ["b"] } } }),
    /: b is not locked$/,
  );
});

/** Returns the packages' files that the executable leaves out, without versions. */
async function readUnused(): Promise<readonly string[]> {
  const lock = await Deno.readTextFile(new URL("deno.lock", ROOT));
  return (await unusedFiles(lock)).map((path) =>
    path.replace(/^.*\/registry\.npmjs\.org\//, "").replace(/\/\d[^/]*/, "")
  );
}

Deno.test("an executable has no type files, and no CommonJS copy of an ES module", async () => {
  const unused = await readUnused();
  assert.ok(unused.includes("zod/index.d.ts"));
  assert.ok(unused.includes("zod/index.cjs"));
  assert.ok(!unused.includes("zod/index.js"));
  assert.ok(!unused.some((path) => /^@opentelemetry\/.*\.cjs$/.test(path)));
});

Deno.test("an executable has only the imported files of a package", async () => {
  const unused = await readUnused();
  assert.ok(unused.includes("deno-std/semver"));
  assert.ok(unused.includes("deno-std/collections/chunk.js"));
  assert.ok(!unused.includes("deno-std/collections/map_values.js"));
  assert.ok(unused.includes("js-yaml/dist/js-yaml.js"));
  assert.ok(unused.includes("argparse"));
  assert.ok(!unused.includes("js-yaml/dist/js-yaml.mjs"));
  // A file that a used file imports.
  assert.ok(!unused.includes("deno-std/uuid/_common.js"));
  const [, version] = manifest.imports["js-yaml"].split("@");
  const parser = `${await npmCache()}/js-yaml/${version}/dist/js-yaml.mjs`;
  assert.doesNotMatch(await Deno.readTextFile(parser), /argparse/);
  assert.ok(!unused.some((path) => /^deno-std\/LICENSE/.test(path)));
});

Deno.test("the program of an executable has no types, and each statement keeps its line and column", () => {
  const source = `import type { A } from "./a.ts";
import { type B, c } from "../b/c.ts";
/** Doc. */
export function run<T extends A>(this: B, at: string): string {
  const worker = new URL("./worker.ts", import.meta.url) as URL; // in "./no.tsx"
  return c(at!, worker satisfies URL, () => import("./d.ts"));
}
`;
  const program = withoutTypes(source);
  assert.deepEqual(
    program.split("\n").map((line) => line.trimEnd()),
    [
      "",
      'import {         c } from "../b/c.js";',
      "/** Doc. */",
      "export function run             (         at        )         {",
      '  const worker = new URL("./worker.js", import.meta.url)       ; // in "./no.tsx"',
      '  return c(at , worker              , () => import("./d.js"));',
      "}",
      "",
    ],
  );
});

Deno.test("the tasks that serve pass the executable's flags to V8", () => {
  for (const { command } of [manifest.tasks.start, manifest.tasks.demo]) {
    assert.ok(command.startsWith(`deno run ${V8_FLAGS} `), command);
  }
});

const ROOT = new URL("../../", import.meta.url);

const imageSchema = z.object({
  OCIv1: z.object({
    config: z.object({
      User: z.string(),
      Entrypoint: z.array(z.string()),
      Cmd: z.array(z.string()),
    }),
  }),
});

/** The options for buildah without a daemon and with its own folder. */
function storeIn(folder: string): readonly string[] {
  return [
    ...["--storage-driver", "vfs"],
    ...["--root", `${folder}/root`, "--runroot", `${folder}/run`],
  ];
}

async function buildah(
  folder: string,
  args: readonly string[],
): Promise<string> {
  const ran = await runOther("buildah", [...storeIn(folder), ...args], {
    cwd: folder,
    env: { BUILDAH_ISOLATION: "chroot" },
  });
  assert.equal(ran.code, 0, ran.stderr);
  return ran.stdout.trim();
}

/** Returns true when this machine has buildah and this user may build. */
async function canBuild(): Promise<boolean> {
  if (!await hasProgram("buildah")) return false;
  const folder = await Deno.makeTempDir();
  const isAble = await hasProgram("buildah", [
    ...storeIn(folder),
    ...["from", "scratch"],
  ]);
  await Deno.remove(folder, { recursive: true });
  return isAble;
}

testNeeding(
  "buildah builds the image on an empty base",
  !await canBuild() && "there is no buildah here",
  async () => {
    await using temp = await openTempFolder();
    const { path: folder } = temp;
    const executable = "dist/release/model-gateway-1.0.0-linux-x64";
    await Deno.mkdir(`${folder}/dist/release`, { recursive: true });
    await Deno.writeTextFile(`${folder}/${executable}`, "an executable");
    const file = await Deno.readTextFile(new URL("packaging/Dockerfile", ROOT));
    // The base is on a registry that tests do not reach.
    await Deno.writeTextFile(
      `${folder}/Dockerfile`,
      file.replace(/^FROM .*$/m, "FROM scratch"),
    );
    await buildah(folder, [
      ...["bud", "--quiet", "--format", "docker", "--tag", "gateway"],
      ...["--build-arg", `EXECUTABLE=${executable}`, "."],
    ]);
    const { OCIv1: { config } } = imageSchema.parse(
      JSON.parse(await buildah(folder, ["inspect", "--type=image", "gateway"])),
    );
    assert.deepEqual(config, {
      User: "nonroot:nonroot",
      Entrypoint: ["/usr/local/bin/model-gateway"],
      Cmd: ["serve", "--host", "0.0.0.0", "--port", "8787"],
    });
    const container = await buildah(folder, ["from", "gateway"]);
    const mount = await buildah(folder, ["mount", container]);
    const [program = ""] = config.Entrypoint;
    const { mode } = await Deno.stat(mount + program);
    assert.equal((mode ?? 0) & 0o777, 0o555);
    await buildah(folder, ["rm", container]);
  },
);
