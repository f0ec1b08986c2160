import { startGateway } from "./gateway.ts";
import { median, shoot, type Shot } from "./load.ts";
import { memory, type Program, resetPeak, startProgram } from "./processes.ts";

/** The program and the body to send. */
export interface MemoryOptions {
  readonly upstream: Program;
  readonly shot: Shot;
  /** The length of the body. */
  readonly bytes: number;
  readonly rounds: number;
}

/**
 * Prints how far big bodies raise the peak of a fresh program's resident memory, one at a time and
 * two at once. It separates the first body from the later ones, which reuse its memory.
 */
export async function reportMemory(
  { upstream, shot, bytes, rounds }: MemoryOptions,
): Promise<void> {
  const floor = new URL("floor.ts", import.meta.url).pathname;
  const starts = [
    () => startProgram("bare floor", [floor, "bare", upstream.url]),
    () => startGateway({ name: "gateway", upstreamUrl: upstream.url }),
  ];
  for (const atOnce of [1, 2]) {
    console.log(
      `\npeak memory, in bodies of ${bytes} bytes, ${atOnce} at once`,
    );
    for (const start of starts) {
      await using program = await start();
      const rises = await risesOf(program, { shot, bytes, rounds, atOnce });
      const [first = NaN, ...later] = rises;
      console.log(
        `  ${program.name.padEnd(26)} the first ${first.toFixed(2)}, then ${
          median(later).toFixed(2)
        } (at most ${Math.max(...later).toFixed(2)})`,
      );
    }
  }
}

async function risesOf(
  { url, pid }: Program,
  { shot, bytes, rounds, atOnce }: Omit<MemoryOptions, "upstream"> & {
    readonly atOnce: number;
  },
): Promise<number[]> {
  const rises: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await resetPeak(pid);
    const { now } = await memory(pid);
    await Promise.all(Array.from({ length: atOnce }, () => shoot(url, shot)));
    rises.push(((await memory(pid)).peak - now) / bytes);
  }
  return rises;
}
