import { pause } from "./ask.ts";
import { askAndCheck } from "./ask_and_check.ts";
import { sizeText, slope } from "./findings.ts";
import { hangUpOnce } from "./hang_up.ts";
import type { Question } from "./question.ts";
import { hasProc, type Scene, type Use, WAYS } from "./scene.ts";
import type { SceneOptions } from "./soak_options.ts";

/** How many requests run at a time. */
const CALLERS = 24;

/** Between two looks at what the gateway uses, in milliseconds. */
const LOOK_MS = 1_000;

/** Between two reloads, in milliseconds. */
const RELOAD_MS = 5_000;

/** The share of the time that the gateway has to warm up. */
const WARM_UP = 0.4;

/** More than this is a leak, in bytes a request. */
const MAX_SLOPE_BYTES = 200;

/** How many requests there were, and of what kind. */
interface Counts {
  requests: number;
  readonly byKind: Map<string, number>;
}

/** A moment's use with the requests until then. */
type Sample = Use & { readonly requests: number };

/**
 * Asks everything in all protocols, natively and translated, whole and as streams; checks each answer; leaves
 * in the middle, lets the upstream break off, reloads the configuration and reads the quotas meanwhile.
 */
export async function soakTraffic(options: SceneOptions): Promise<void> {
  const { scene, findings, trafficSeconds } = options;
  const counts: Counts = { requests: 0, byKind: new Map() };
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), trafficSeconds * 1_000);
  const samples: Sample[] = [];
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!over.signal.aborted && findings.faults.length < 10) {
      await callOnce(options, counts);
    }
  });
  const beside = [
    every(LOOK_MS, over.signal, async () => {
      samples.push({ ...await scene.use(), requests: counts.requests });
    }),
    every(RELOAD_MS, over.signal, scene.reload),
  ];
  await Promise.all(callers);
  clearTimeout(timer);
  over.abort();
  await Promise.all(beside);
  report(samples, counts, options);
}

async function every(
  ms: number,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await work();
    await pause(ms);
  }
}

const KINDS = [
  ...Array<"whole">(14).fill("whole"),
  ...Array<"leave">(3).fill("leave"),
  "cut",
  "refuse",
  "limits",
  "models",
] as const;

let nextTag = 0;

async function callOnce(
  options: SceneOptions,
  counts: Counts,
): Promise<void> {
  const { random, findings } = options;
  const kind = random.pick(KINDS);
  counts.requests++;
  counts.byKind.set(kind, (counts.byKind.get(kind) ?? 0) + 1);
  try {
    const fault = await call(kind, options);
    if (fault !== undefined) findings.fail(fault);
  } catch (error) {
    findings.fail(`A request of the kind ${kind} failed: ${error}`);
  }
}

/** @returns What was wrong. */
async function call(
  kind: (typeof KINDS)[number],
  { scene, random }: SceneOptions,
): Promise<string | undefined> {
  const way = random.pick(WAYS);
  const isStream = random.below(2) === 0;
  if (kind === "limits") return await readList("limits", scene);
  if (kind === "models") return await readList("models", scene);
  if (kind === "leave") {
    await hangUpOnce({ scene, way, random, tag: `t${nextTag++}` });
    return;
  }
  const question: Question = {
    tag: `t${nextTag++}`,
    manner: kind,
    words: 4 + random.below(40),
  };
  return await askAndCheck({ way, question, isStream }, scene);
}

async function readList(
  name: "limits" | "models",
  { gateway, headers }: Scene,
): Promise<string | undefined> {
  const { authorization = "" } = headers;
  const answer = await fetch(`${gateway.url}/v1/${name}`, {
    headers: { authorization },
  });
  const text = await answer.text();
  const isGood = answer.status === 200 && text.includes('"data":[{');
  return isGood ? undefined : `GET /${name} gave ${answer.status}: ${text}`;
}

function report(
  samples: readonly Sample[],
  { requests, byKind }: Counts,
  { findings, trafficSeconds }: SceneOptions,
): void {
  const kinds = [...byKind].map(([kind, count]) => `${count} ${kind}`);
  findings.note(
    "requests",
    `${requests} in ${trafficSeconds.toFixed(0)} s (${
      kinds.sort().join(", ")
    })`,
  );
  findings.note("wrong answers", `${findings.faults.length}`);
  if (!hasProc) return;
  const warm = samples.slice(Math.floor(samples.length * WARM_UP));
  const perRequest = slope(
    warm.map((one) => [one.requests, one.residentBytes]),
  );
  const perMinute = slope(
    warm.map((one) => [one.atMs / 60_000, one.residentBytes]),
  );
  const [first, last] = [warm[0], warm.at(-1)];
  findings.note(
    "resident memory after warm-up",
    `${sizeText(first?.residentBytes ?? NaN)} to ${
      sizeText(last?.residentBytes ?? NaN)
    }, ${sizeText(1000 * perRequest)} per 1000 requests, ${
      sizeText(perMinute)
    } per minute`,
  );
  findings.note(
    "  from begin to end",
    `${
      eighths(samples).map(({ residentBytes }) =>
        Math.round(residentBytes / MIB)
      ).join(", ")
    } MiB`,
  );
  const open = warm.map(({ descriptors }) => descriptors);
  findings.note(
    "descriptors after warm-up",
    `${Math.min(...open)} to ${Math.max(...open)}`,
  );
  const hasGrown = (last?.residentBytes ?? 0) - (first?.residentBytes ?? 0) >
    MIN_GROWTH_BYTES;
  if (perRequest > MAX_SLOPE_BYTES && hasGrown) {
    findings.exceed(
      `Memory grows by ${sizeText(1000 * perRequest)} per 1000 requests`,
      trafficSeconds < MIN_JUDGED_SECONDS
        ? "too short to tell it from a heap that takes its size"
        : undefined,
    );
  }
  const perDescriptor = slope(
    warm.map((one) => [one.requests, one.descriptors]),
  );
  if (perDescriptor * requests > MAX_MORE_DESCRIPTORS) {
    findings.exceed("The number of open descriptors grows with the requests");
  }
}

const MIB = 1024 * 1024;

/** Nine samples, equally far apart. */
function eighths(samples: readonly Sample[]): Sample[] {
  return samples.filter((_, index) =>
    index % Math.max(1, Math.floor(samples.length / 8)) === 0
  );
}

/** Less than this says nothing, the collector has its moods. */
const MIN_GROWTH_BYTES = 24 * 1024 * 1024;

/** After less than this the heap still takes its size, in seconds. */
const MIN_JUDGED_SECONDS = 120;

const MAX_MORE_DESCRIPTORS = 100;
