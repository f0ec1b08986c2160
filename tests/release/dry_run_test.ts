import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import manifest from "../../deno.json" with { type: "json" };
import { sha256Of } from "../../release/checksums.ts";
import { type Compiled, TARGETS } from "../../release/executable.ts";
import { writeRelease } from "../../release/release.ts";
import { openTempFolder } from "../support/temp_folder.ts";

/** Writes a release without running the compiler or downloading. */
async function dryRun(
  path: string,
  outcomes: readonly Compiled["outcome"][] = [],
) {
  const folder = pathToFileURL(`${path}/`);
  const lines: string[] = [];
  const isWhole = await writeRelease({
    folder,
    async compile({ name }, file) {
      const outcome = outcomes[
        TARGETS.findIndex((target) => target.name === name)
      ] ?? "made";
      if (outcome === "made") {
        await Deno.writeTextFile(new URL(file, folder), `for ${name}`);
      }
      return { outcome, report: "no such target" };
    },
    key: undefined,
    base: undefined,
    report: (line) => lines.push(line),
  });
  const names: string[] = [];
  for await (const { name } of Deno.readDir(folder)) names.push(name);
  const read = (name: string) => Deno.readTextFile(new URL(name, folder));
  return { folder, lines, isWhole, names: names.sort(), read };
}

Deno.test("a dry run has every file of a release, with a checksum and in the provenance", async () => {
  await using temp = await openTempFolder();
  const { folder, isWhole, lines, names, read } = await dryRun(temp.path);
  assert.equal(isWhole, true, lines.join("\n"));
  const executables = TARGETS.map(({ name }) =>
    `model-gateway-${manifest.version}-${name}`
  );
  for (const one of executables) {
    assert.ok(names.some((name) => name.startsWith(one)), one);
  }
  for (
    const one of [
      ...["gateway.schema.json", "tokens.schema.json", "model-gateway.1"],
      ...["model-gateway.bash", "_model-gateway", "model-gateway.fish"],
      ...["model-gateway.cdx.json", "model-gateway.intoto.json", "SHA256SUMS"],
    ]
  ) assert.ok(names.includes(one), one);
  const sums = new Map(
    (await read("SHA256SUMS")).trimEnd().split("\n").map((line) => {
      const [sum = "", name = ""] = line.split("  ");
      return [name, sum] as const;
    }),
  );
  assert.deepEqual(
    [...sums.keys()],
    names.filter((name) => name !== "SHA256SUMS"),
  );
  for (const [name, sum] of sums) {
    assert.equal(await sha256Of(new URL(name, folder)), sum, name);
  }
  const { subject } = JSON.parse(await read("model-gateway.intoto.json"));
  for (const { name, digest } of subject) {
    assert.equal(digest.sha256, sums.get(name), name);
  }
  assert.equal(subject.length, sums.size - 1);
});

Deno.test("the bill of materials and the manual of a release have the version of deno.json", async () => {
  await using temp = await openTempFolder();
  const { read } = await dryRun(temp.path);
  const { metadata } = JSON.parse(await read("model-gateway.cdx.json"));
  assert.equal(metadata.component.version, manifest.version);
  assert.ok((await read("model-gateway.1")).includes(manifest.version));
});

const FAULTS: readonly (readonly [Compiled["outcome"], RegExp, boolean])[] = [
  ["no base", /its base cannot be downloaded from dl\.deno\.land\.$/, true],
  ["failed", /no such target$/, false],
  ["does not run", /no such target$/, false],
];

for (const [outcome, words, isWhole] of FAULTS) {
  Deno.test(`a release is ${isWhole ? "" : "not "}whole when an executable's outcome is "${outcome}", and reports the file`, async () => {
    await using temp = await openTempFolder();
    const run = await dryRun(temp.path, [outcome]);
    assert.equal(run.isWhole, isWhole);
    assert.match(run.lines[0] ?? "", words);
    assert.match(run.lines[0] ?? "", /model-gateway-\S+-linux-x64/);
  });
}
