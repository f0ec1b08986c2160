import { pause } from "./ask.ts";
import { askAndCheck } from "./ask_and_check.ts";
import { sizeText, slope } from "./findings.ts";
import { hangUpOnce } from "./hang_up.ts";
import type { Question } from "./question.ts";
import { hasProc, type Scene, type Use, WAYS } from "./scene.ts";
import type { SceneOptions } from "./soak_options.ts";

/** The number of simultaneous requests. */
const CALLERS = 24;

/** The time between two measurements of the gateway's resources, in milliseconds. */
const POLL_MS = 1_000;

/** The time between two reloads, in milliseconds. */
const RELOAD_MS = 5_000;

/** The share of the time in which the gateway warms up. */
const WARM_UP = 0.4;

/** A larger growth is a leak, in bytes per request. */
const MAX_SLOPE_BYTES = 200;

/** The number of requests of each kind. */
interface Counts {
  requests: number;
  readonly byKind: Map<string, number>;
}

/** The resources at a moment, with the number of requests until then. */
type Sample = Use & { readonly requests: number };

/**
 * Sends every kind of request in all protocols, natively and translated, with JSON and streamed
 * answers, and checks each answer. Meanwhile callers disconnect, the upstream breaks off, the
 * configuration is reloaded and the quotas are read.
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
    every(POLL_MS, over.signal, async () => {
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

async function callOnce(options: SceneOptions, counts: Counts): Promise<void> {
  const { random, findings } = options;
  const kind = random.pick(KINDS);
  counts.requests++;
  counts.byKind.set(kind, (counts.byKind.get(kind) ?? 0) + 1);
  try {
    const fault = await call(kind, options);
    if (fault !== undefined) findings.fail(fault);
  } catch (error) {
    findings.fail(`A request (${kind}) failed: ${error}`);
  }
}

/** @returns The fault, if any. */
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
    behaviour: kind,
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
  return isGood ? undefined : `GET /${name} returned ${answer.status}: ${text}`;
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
    "  from the first to the last",
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
        ? "too short to distinguish a leak from a heap that grows to its size"
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

/** Returns nine samples at equal distances. */
function eighths(samples: readonly Sample[]): Sample[] {
  return samples.filter((_, index) =>
    index % Math.max(1, Math.floor(samples.length / 8)) === 0
  );
}

/** A smaller growth proves nothing, because garbage collection varies. */
const MIN_GROWTH_BYTES = 24 * 1024 * 1024;

/** The shortest run that judges growth, in seconds: before that, the heap still grows to its size. */
const MIN_JUDGED_SECONDS = 120;

const MAX_MORE_DESCRIPTORS = 100;
