import { median, run, type Shot } from "./load.ts";
import { type Program, threadsMs } from "./processes.ts";

/** The programs to compare under one load. */
export interface Comparison {
  readonly title: string;
  /** The first is the floor for the others. */
  readonly entries: readonly Entry[];
  /** The upstream alone. If given, each row also has the time that its program adds to a direct call. */
  readonly direct?: Program;
  /** The number of requests at a time. */
  readonly concurrency: number;
}

/** A program with its request. */
export interface Entry {
  readonly program: Program;
  readonly shot: Shot;
  /** The name in the table; default: the program's name. */
  readonly name?: string;
}

/** The number of runs of each program under each load. */
export interface Rounds {
  /** The rounds before the measurement: a gateway runs for days with compiled code. */
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
  { title, entries, direct, concurrency }: Comparison,
  { warmUp, measured }: Rounds,
): Promise<void> {
  const measureAll = async () => {
    const row: Measured[] = [];
    for (const entry of entries) row.push(await measure(entry, concurrency));
    return row;
  };
  for (let round = 0; round < warmUp; round++) await measureAll();
  const rounds: Measured[][] = [];
  for (let round = 0; round < measured; round++) {
    rounds.push(await measureAll());
  }
  console.log(`\n${title}, ${concurrency} at a time`);
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
  concurrency: number,
): Promise<Measured> {
  const before = await processorOf(program);
  const figures = await run(program.url, shot, concurrency);
  const usedMs = await processorOf(program) - before;
  return { ...figures, processorMicros: usedMs * 1000 / figures.requests };
}

/** Only Linux reports the processor time of another process. */
async function processorOf({ pid }: Program): Promise<number> {
  if (Deno.build.os !== "linux" || Number.isNaN(pid)) return NaN;
  return await threadsMs(pid);
}
