import { type Load, median, run, type Shot } from "./load.ts";
import { processorMs, type Program } from "./processes.ts";

/** What is measured, and with whom it is compared. */
export interface Comparison {
  readonly title: string;
  /** The first is the floor that the others are compared with. */
  readonly entries: readonly Entry[];
  readonly load: Load;
}

/** A program with what it is asked. */
export interface Entry {
  readonly program: Program;
  readonly shot: Shot;
  /** What stands in the table; default: the program's name. */
  readonly name?: string;
}

/** How often each load runs. */
export interface Rounds {
  /** Before it is measured: a gateway runs for days, its code is compiled by then. */
  readonly warmUp: number;
  readonly measured: number;
}

/** One program in one round. */
interface Measured {
  readonly perSecond: number;
  readonly medianMs: number;
  /** Processor time for one request; `NaN` where it cannot be read. */
  readonly processorMicros: number;
}

/**
 * Measures some programs under one load, in turn in every round, and prints for each its rate, its half-way time and
 * its processor time, each with its ratio to the floor: the median of the rounds' ratios.
 */
export async function compare(
  { title, entries, load }: Comparison,
  { warmUp, measured }: Rounds,
): Promise<void> {
  for (let round = 0; round < warmUp; round++) {
    for (const { program, shot } of entries) await run(program.url, shot, load);
  }
  const rounds: Measured[][] = [];
  for (let round = 0; round < measured; round++) {
    const row: Measured[] = [];
    for (const entry of entries) row.push(await measure(entry, load));
    rounds.push(row);
  }
  console.log(`\n${title}, ${load.concurrency} at a time`);
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
      } ${cell(cpu, " µs CPU", 0)}`,
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
  load: Load,
): Promise<Measured> {
  const before = await processorOf(program);
  const figures = await run(program.url, shot, load);
  const usedMs = await processorOf(program) - before;
  return { ...figures, processorMicros: usedMs * 1000 / load.requests };
}

/** Only Linux tells it of a process that is not this one. */
async function processorOf({ pid }: Program): Promise<number> {
  if (Deno.build.os !== "linux" || Number.isNaN(pid)) return NaN;
  return await processorMs(pid);
}
