import type { Rounds } from "./compare.ts";
import { quantile, type Shot } from "./load.ts";
import { type Program, threadsMs } from "./processes.ts";

/** Events of a paced stream. */
export const PACED_EVENTS = 60;

/** The time between two events of a paced stream, in milliseconds. */
export const PACE_MS = 50;

/** Returns a mark of the moment at which an event is sent, which {@linkcode delaysIn} finds in the received text. */
export function sentNow(): string {
  return `@${nowMs().toFixed(3)}@`;
}

function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

const SENT_REGEXP = /@(\d+\.\d+)@/g;

/** Returns the ages of the events in a text, in milliseconds. */
function delaysIn(text: string, atMs: number): number[] {
  return [...text.matchAll(SENT_REGEXP)].map(([, sent]) => atMs - Number(sent));
}

/** A program with the request for a paced stream. */
export interface PacedEntry {
  readonly name: string;
  readonly program: Program;
  readonly shot: Shot;
}

/** How many streams run at once. */
const STREAMS = 200;

/**
 * Runs 200 streams of 20 events a second through each program in turn. Prints the processor time of an event, the
 * median and the 99th percentile of the delays, and their excess over the first row.
 */
export async function reportPaced(
  entries: readonly PacedEntry[],
  { warmUp, measured }: Rounds,
): Promise<void> {
  console.log(
    `\npaced streams, ${STREAMS} at a time, ${
      1000 / PACE_MS
    } events a second each`,
  );
  const results = entries.map(() => ({ micros: [0], delays: [0] }));
  for (const result of results) result.micros.length = result.delays.length = 0;
  for (let round = -warmUp; round < measured; round++) {
    for (const [position, entry] of entries.entries()) {
      const { micros, delays } = await runPaced(entry);
      if (round < 0) continue;
      results[position]?.micros.push(micros);
      results[position]?.delays.push(...delays);
    }
  }
  const first = results[0]?.delays ?? [];
  entries.forEach(({ name }, position) => {
    const { micros = [], delays = [] } = results[position] ?? {};
    const late = quantile(delays, 0.99);
    console.log(
      `  ${name.padEnd(26)} ${
        quantile(micros, 0.5).toFixed(0).padStart(6)
      } µs CPU an event, late ${quantile(delays, 0.5).toFixed(2)} ms, p99 ${
        late.toFixed(2)
      } ms (+${(late - quantile(first, 0.99)).toFixed(2)})`,
    );
  });
}

async function runPaced(
  { program, shot }: PacedEntry,
): Promise<{ readonly micros: number; readonly delays: readonly number[] }> {
  const before = await usedMs(program);
  const delays: number[] = [];
  await Promise.all(Array.from({ length: STREAMS }, async (_, at) => {
    // Streams begin at different moments, as those of people do.
    await new Promise((resolve) =>
      setTimeout(resolve, 10 * PACE_MS * at / STREAMS)
    );
    delays.push(...await readPaced(program, shot));
  }));
  const used = await usedMs(program) - before;
  return { micros: used * 1000 / (STREAMS * PACED_EVENTS), delays };
}

async function readPaced(program: Program, shot: Shot): Promise<number[]> {
  const { path, ...init } = shot;
  const answer = await fetch(program.url + path, { method: "POST", ...init });
  const delays: number[] = [];
  const decoder = new TextDecoder();
  for await (const chunk of answer.body ?? []) {
    delays.push(...delaysIn(decoder.decode(chunk), nowMs()));
  }
  if (answer.status !== 200 || delays.length !== PACED_EVENTS) {
    throw new Error(`Got status ${answer.status}, ${delays.length} events`);
  }
  return delays;
}

async function usedMs({ pid }: Program): Promise<number> {
  return Deno.build.os === "linux" ? await threadsMs(pid) : NaN;
}
