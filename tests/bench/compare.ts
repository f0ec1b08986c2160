import { type Load, median, run, type Shot } from "./load.ts";
import { type Program, threadsMs } from "./processes.ts";

/** A load and the programs to compare under it. */
export interface Comparison {
  readonly title: string;
  /** The first is the floor for the others. */
  readonly entries: readonly Entry[];
  /** The program without anything before it: then each row has the time that is added to a direct call, too. */
  readonly direct?: Program;
  readonly load: Load;
}

/** A program with its request. */
export interface Entry {
  readonly program: Program;
  readonly shot: Shot;
  /** The name in the table; default: the program's name. */
  readonly name?: string;
}

/** The number of runs of each load. */
export interface Rounds {
  /**
   * The minimum number of rounds before the measurement: a gateway runs for days with compiled
   * code. More rounds follow while the programs become faster.
   */
  readonly warmUp: number;
  readonly measured: number;
}

/** One program in one round. */
interface Measured {
  readonly perSecond: number;
  readonly medianMs: number;
  /** Processor time of one request; `NaN` when it is unknown. */
  readonly processorMicros: number;
}

/**
 * Measures programs under one load, in turn in every round. Prints the rate, the median time and
 * the processor time of each, each with its ratio to the floor: the median of the rounds' ratios.
 */
export async function compare(
  { title, entries, direct, load }: Comparison,
  { warmUp, measured }: Rounds,
): Promise<void> {
  const measureAll = async () => {
    const row: Measured[] = [];
    for (const entry of entries) row.push(await measure(entry, load));
    return row;
  };
  await warm(measureAll, warmUp);
  const rounds: Measured[][] = [];
  for (let round = 0; round < measured; round++) {
    rounds.push(await measureAll());
  }
  console.log(`\n${title}, ${load.concurrency} at a time`);
  const directAt = entries.findIndex(({ program }) => program === direct);
  const addedMs = (row: readonly Measured[], position: number) =>
    (row[position]?.medianMs ?? NaN) - (row[directAt]?.medianMs ?? NaN);
  entries.forEach(({ name, program }, position) => {
    const of = (field: keyof Measured) => {
      const value = median(rounds.map((row) => row[position]?.[field] ?? NaN));
      const ratio = median(
        rounds.map((row) =>
          (row[position]?.[field] ?? NaN) / (row[0]?.[field] ?? NaN)
        ),
      );
      return { value, ratio };
    };
    const rate = of("perSecond");
    const half = of("medianMs");
    const cpu = of("processorMicros");
    console.log(
      `  ${(name ?? program.name).padEnd(26)} ${cell(rate, "/s", 1)} ${
        cell(half, " ms", 2)
      } ${cell(cpu, " µs CPU", 0)}${
        directAt < 0 ? "" : cell(
          {
            value: median(rounds.map((row) => addedMs(row, position))),
            ratio: median(
              rounds.map((row) => addedMs(row, position) / addedMs(row, 0)),
            ),
          },
          " ms added",
          2,
        )
      }`,
    );
  });
}

/** The most warm-ups, as a multiple of `warmUp`, even if the programs still become faster. */
const MAX_WARM_UPS = 4;

/** A program that needs less than this share of its earlier processor time still becomes faster. */
const FASTER_SHARE = 0.95;

/** Runs rounds until no program needs clearly less processor time than some rounds before. */
async function warm(
  measureAll: () => Promise<readonly Measured[]>,
  warmUp: number,
): Promise<void> {
  let before: readonly number[] = [];
  for (let part = 0; part < MAX_WARM_UPS; part++) {
    const rounds: (readonly Measured[])[] = [];
    for (let round = 0; round < warmUp; round++) {
      rounds.push(await measureAll());
    }
    const now = (rounds[0] ?? []).map((_, position) =>
      median(rounds.map((row) => row[position]?.processorMicros ?? NaN))
    );
    const isFaster = now.some((micros, position) =>
      micros < FASTER_SHARE * (before[position] ?? Infinity)
    );
    if (!isFaster) return;
    before = now;
  }
}

function cell(
  { value, ratio }: { readonly value: number; readonly ratio: number },
  unit: string,
  digits: number,
): string {
  if (Number.isNaN(value)) return "".padStart(24);
  return `${value.toFixed(digits)}${unit}`.padStart(15) +
    ` (${ratio.toFixed(2)})`.padEnd(9);
}

async function measure(
  { program, shot }: Entry,
  load: Load,
): Promise<Measured> {
  const before = await processorOf(program);
  const figures = await run(program.url, shot, load);
  const usedMs = await processorOf(program) - before;
  return { ...figures, processorMicros: usedMs * 1000 / load.requests };
}

/** Only Linux reports the processor time of another process. */
async function processorOf({ pid }: Program): Promise<number> {
  if (Deno.build.os !== "linux" || Number.isNaN(pid)) return NaN;
  return await threadsMs(pid);
}
