import { parseArgs } from "node:util";
import { withCopy } from "./copy.ts";
import { FAULTS, type PlacedFault, problemsOf } from "./table.ts";
import { createRandom } from "../../support/fakes/random.ts";
import { mutationOf } from "./mutations.ts";

/*
 * Plants one fault after another into copies of the program, and runs scenes and histories there until a promise
 * breaks. Prints the seed and the seconds that found each fault, and the faults that no seed found.
 */

const { seeds, scenes, scene, first, only, seconds, again, ...flags } =
  parseArgs({
    args: Deno.args,
    options: {
      /** The most histories for each fault. */
      seeds: { type: "string", default: "60" },
      /** The seeds of each scene; scenes come first. */
      scenes: { type: "string", default: "2" },
      /** The scenes that run after those of the fault's group; see `task simulate --scene`. */
      scene: { type: "string", default: "all" },
      first: { type: "string", default: "1" },
      /** Plants only faults whose file and name match this regular expression. */
      only: { type: "string", default: "" },
      /** The seconds for each fault after which no other run begins. */
      seconds: { type: "string", default: "300" },
      /** The number of faults that are tested at once, each in its own copy. */
      "at-once": { type: "string", default: "1" },
      /** A file with the output of an earlier call: plants only the faults that it did not find. */
      again: { type: "string" },
      /** Plants this many random changes of the source, which `--mutation-seed` chooses, instead of the table. */
      mutations: { type: "string", default: "0" },
      "mutation-seed": { type: "string", default: "1" },
    },
  }).values;

const ROOT = new URL("../../../", import.meta.url);

/** The folders whose files `--mutations` changes. */
const MUTATED = ["relay", "shared", "upstream", "usage"];

const mutations = Number(flags.mutations);
const faults = mutations === 0 ? FAULTS : await mutated(mutations);
const known = again === undefined ? "" : await Deno.readTextFile(again);
const chosen = faults.filter((fault) =>
  new RegExp(only).test(titleOf(fault)) &&
  !known.includes(`found ${titleOf(fault)} (`)
);
const problems = await problemsOf(faults);
if (problems.length > 0) {
  for (const problem of problems) console.log(problem);
  Deno.exit(2);
}

if (chosen.length > 0) await checkUnplanted();

/** How the search for a fault ended. */
type Outcome = "found" | "BLIND" | "unseen" | "surprising";

const outcomes = new Map<PlacedFault, Outcome>();
const waiting = [...chosen];
await Promise.all(
  Array.from({ length: Number(flags["at-once"]) }, plantInCopy),
);
for (const [group, own] of Map.groupBy(chosen, ({ group }) => group)) {
  console.log(`${group}: ${summaryOf(own)}`);
}
console.log(`all: ${summaryOf(chosen)}`);

/** Returns random changes of files in these folders. A longer file has more of them. */
async function mutated(count: number): Promise<PlacedFault[]> {
  const files = await Promise.all(
    MUTATED.map(async (folder) => await Array.fromAsync(sourcesIn(folder))),
  ).then((all) => all.flat().sort());
  const sources = await Promise.all(
    files.map((file) => Deno.readTextFile(new URL(`src/${file}`, ROOT))),
  );
  const lines = sources.flatMap((source, at) =>
    Array.from({ length: source.split("\n").length }, () => at)
  );
  const random = createRandom(Number(flags["mutation-seed"]));
  const found = new Map<string, PlacedFault>();
  while (found.size < count) {
    const at = random.pick(lines);
    const [file = "", source = ""] = [files[at], sources[at]];
    const fault = mutationOf(source, random);
    if (fault === undefined) continue;
    const [, group = ""] = /^(?:relay\/)?([^/]*)\//.exec(file) ?? [];
    const placed = {
      ...{ ...fault, file, name: `${fault.name} of ${file}` },
      group: FAULTS.some((one) => one.group === group) ? group : "relay",
    };
    found.set(placed.name, placed);
  }
  return [...found.values()];
}

async function* sourcesIn(folder: string): AsyncIterable<string> {
  for await (
    const { name, isFile } of Deno.readDir(`${ROOT.pathname}src/${folder}`)
  ) {
    const path = `${folder}/${name}`;
    if (!isFile) yield* sourcesIn(path);
    else if (name.endsWith(".ts")) yield path;
  }
}

function titleOf({ file, name }: PlacedFault): string {
  return `${file}: ${name}`;
}

function summaryOf(all: readonly PlacedFault[]): string {
  const count = (wanted: Outcome) =>
    all.filter((one) => outcomes.get(one) === wanted).length;
  const [seen, missed] = [count("found"), count("BLIND")];
  const percent = Math.round(100 * seen / Math.max(1, seen + missed));
  return [
    `${seen} of ${seen + missed} found (${percent} %)`,
    `${count("unseen")} cannot be seen`,
    `${count("surprising")} were found although they cannot be seen`,
  ].join(", ");
}

/** Ends the program if a promise breaks without any fault: each fault would then seem to be found. */
async function checkUnplanted(): Promise<void> {
  const groups = scene === "all" ? [] : chosen.map(({ group }) => group);
  await withCopy(async (copy) => {
    for (const one of new Set([...groups, scene])) {
      const options = ["--seeds", scenes, "--scene", one];
      const output = await run(options, Number(seconds), copy);
      if (/^\d+ histories, 0 failed/m.test(output)) continue;
      console.log(`A promise breaks without any fault:\n${output}`);
      Deno.exit(2);
    }
  });
}

async function plantInCopy(): Promise<void> {
  await withCopy(async (copy) => {
    for (;;) {
      const fault = waiting.shift();
      if (fault === undefined) return;
      const found = await plant(fault, copy);
      const { unseen } = fault;
      const outcome = found === undefined
        ? unseen === undefined ? "BLIND" : "unseen"
        : unseen === undefined
        ? "found"
        : "surprising";
      outcomes.set(fault, outcome);
      console.log(`${outcome} ${titleOf(fault)} (${found ?? unseen ?? ""})`);
    }
  });
}

/** Returns the time, the seed and the promise that broke; `undefined` if none broke. */
async function plant(
  fault: PlacedFault,
  copy: string,
): Promise<string | undefined> {
  const path = `${copy}/src/${fault.file}`;
  const before = await Deno.readTextFile(path);
  const startedMs = performance.now();
  const tookSeconds = () => (performance.now() - startedMs) / 1000;
  await Deno.writeTextFile(path, before.replace(fault.text, () => fault.wrong));
  try {
    for (
      const options of [
        ["--seeds", scenes, "--scene", fault.group],
        ["--seeds", scenes, "--scene", scene],
        ["--seeds", seeds],
      ]
    ) {
      const left = Number(seconds) - tookSeconds();
      if (left < 0) return undefined;
      const output = await run(options, left, copy);
      if (/^\d+ histories, 0 failed/m.test(output)) continue;
      const [, seed] = /^seed (\d+) breaks/m.exec(output) ?? [];
      const [, promise] = /^seed .*\n {2}(.*?):/m.exec(output) ?? [];
      const what = seed === undefined
        ? output.trim().slice(-200).replaceAll("\n", " ") || "no end"
        : `seed ${seed}, ${promise}`;
      return `${tookSeconds().toFixed(1)} s, ${what}`;
    }
    return undefined;
  } finally {
    await Deno.writeTextFile(path, before);
  }
}

/** Runs histories or scenes in a copy until one breaks a promise, and returns the output. */
async function run(
  options: readonly string[],
  left: number,
  copy: string,
): Promise<string> {
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-check", "--lock=tests/deno.lock"],
      ...["--allow-read", "--allow-env", "tests/simulation/main.ts"],
      ...["--seed", first, ...options, "--until-broken"],
      ...["--seconds", String(left), "--jobs", "1"],
    ],
    cwd: copy,
    stdout: "piped",
    stderr: "piped",
    // Kills a run that is stuck.
    signal: AbortSignal.timeout(1000 * (left + 120)),
  }).output();
  return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
}
