import { parseArgs } from "node:util";
import type { Fault } from "./fault.ts";
import { RELAY_FAULTS } from "./relay.ts";
import { ROUTING_FAULTS } from "./routing.ts";
import { SHARED_FAULTS } from "./shared.ts";
import { UPSTREAM_FAULTS } from "./upstream.ts";
import { USAGE_FAULTS } from "./usage.ts";

/*
 * Plants one fault after another into a copy of the program, and lives histories there until a promise breaks. Prints
 * the seed that found each fault and the seconds that it took, and the faults to which the simulation is blind.
 */

const { seeds, scenes, first, only, seconds } = parseArgs({
  args: Deno.args,
  options: {
    /** The most seeds for each fault. */
    seeds: { type: "string", default: "60" },
    /** The seeds of each scene; scenes come first. */
    scenes: { type: "string", default: "2" },
    first: { type: "string", default: "1" },
    /** Plants only faults whose file and name match this regular expression. */
    only: { type: "string", default: "" },
    /** The most seconds for each fault. */
    seconds: { type: "string", default: "300" },
  },
}).values;

const ROOT = new URL("../../../", import.meta.url);

/** The parts of the repository that a history needs. */
const COPIED = ["src", "tests/simulation", "tests/support", "tests/deno.lock"];

interface PlacedFault extends Fault {
  readonly file: string;
}

const faults: readonly PlacedFault[] = [
  RELAY_FAULTS,
  ROUTING_FAULTS,
  USAGE_FAULTS,
  UPSTREAM_FAULTS,
  SHARED_FAULTS,
].flatMap((byFile) => Object.entries(byFile))
  .flatMap(([file, all]) => all.map((fault) => ({ ...fault, file })));
const chosen = faults.filter(({ name, file }) =>
  new RegExp(only).test(`${file}: ${name}`)
);
const problems = await problemsOf(faults);
if (problems.length > 0) {
  for (const problem of problems) console.log(problem);
  Deno.exit(2);
}

const copy = await Deno.makeTempDir({ prefix: "planted-" });
try {
  await Promise.all(
    [...COPIED, "deno.json", "deno.lock"].map((path) => copyTo(copy, path)),
  );
  await plantAll();
} finally {
  await Deno.remove(copy, { recursive: true });
}

async function plantAll(): Promise<void> {
  const blind: PlacedFault[] = [];
  const surprising: PlacedFault[] = [];
  let seen = 0;
  for (const fault of chosen) {
    const { name, file, unseen } = fault;
    const found = await plant(fault);
    if (unseen === undefined) {
      if (found === undefined) blind.push(fault);
      else seen++;
    } else if (found !== undefined) surprising.push(fault);
    const mark = found === undefined ? unseen ? "none" : "BLIND" : "found";
    console.log(
      `${mark.padEnd(5)} ${file}: ${name}${found ? ` (${found})` : ""}${
        unseen ? ` [not to be seen: ${unseen}]` : ""
      }`,
    );
  }
  const all = seen + blind.length;
  console.log(
    `${seen} of ${all} faults found (${
      Math.round(100 * seen / Math.max(1, all))
    } %); ${chosen.length - all} more cannot be seen`,
  );
  for (const { file, name } of surprising) {
    console.log(
      `Found, though it is listed as not to be seen: ${file}: ${name}`,
    );
  }
}

/** Returns which seed broke which promise after how long; `undefined` when none did. */
async function plant(fault: PlacedFault): Promise<string | undefined> {
  const path = `${copy}/src/${fault.file}`;
  const before = await Deno.readTextFile(path);
  const startedMs = performance.now();
  await Deno.writeTextFile(path, before.replace(fault.text, () => fault.wrong));
  try {
    const played = await live(scenes, ["--scene", "all"]);
    const isFound = !/^\d+ histories, 0 failed/m.test(played);
    const output = isFound ? played : await live(seeds, []);
    const took = ((performance.now() - startedMs) / 1000).toFixed(1);
    const [, seed] = /^seed (\d+) breaks/m.exec(output) ?? [];
    const [, promise] = /^seed .*\n {2}(.*?):/m.exec(output) ?? [];
    if (seed !== undefined) return `seed ${seed}, ${took} s, ${promise}`;
    if (/^\d+ histories, 0 failed/m.test(output)) return undefined;
    return `${took} s, ${output.trim().slice(-200) || "no end"}`;
  } finally {
    await Deno.writeTextFile(path, before);
  }
}

/** Lives histories or scenes in the copy until one breaks a promise; returns what it printed. */
async function live(count: string, more: string[]): Promise<string> {
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-check", "--lock=tests/deno.lock"],
      ...["--allow-read", "--allow-env", "tests/simulation/main.ts"],
      ...["--seed", first, "--seeds", count, "--until-broken", ...more],
    ],
    cwd: copy,
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.timeout(Number(seconds) * 1000),
  }).output();
  return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
}

/** Returns what is wrong with the table: a text that is not there once, or a name that is not unique. */
async function problemsOf(all: readonly PlacedFault[]): Promise<string[]> {
  const found: string[] = [];
  const names = new Set<string>();
  for (const { name, file, text } of all) {
    const source = await Deno.readTextFile(new URL(`src/${file}`, ROOT))
      .catch(() => "");
    const count = source.split(text).length - 1;
    if (count !== 1) {
      found.push(
        `Cannot plant "${name}": src/${file} has its text ${count} times. Bring the table up to date.`,
      );
    }
    if (names.has(name)) found.push(`Two faults have the name "${name}".`);
    names.add(name);
  }
  return found;
}

async function copyTo(target: string, path: string): Promise<void> {
  const from = new URL(path, ROOT).pathname;
  const info = await Deno.stat(from);
  if (info.isFile) {
    await Deno.mkdir(`${target}/${path}`.replace(/\/[^/]*$/, ""), {
      recursive: true,
    });
    return await Deno.copyFile(from, `${target}/${path}`);
  }
  await Deno.mkdir(`${target}/${path}`, { recursive: true });
  for await (const { name } of Deno.readDir(from)) {
    await copyTo(target, `${path}/${name}`);
  }
}
