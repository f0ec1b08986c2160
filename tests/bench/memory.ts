import { startGateway } from "./gateway.ts";
import { median, shoot, type Shot } from "./load.ts";
import { memory, type Program, resetPeak, startProgram } from "./processes.ts";
import { shotFor } from "./shots.ts";

const MIB = 1024 * 1024;

/** The time after which a gateway should have returned its memory, in milliseconds. */
const REST_MS = 3000;

/** The program and the body to send. */
export interface MemoryOptions {
  readonly upstream: Program;
  readonly shot: Shot;
  /** The length of the body. */
  readonly bytes: number;
  readonly rounds: number;
}

/**
 * Prints by how much big bodies raise the peak of a fresh program's resident memory, one at a time and two at once. The
 * first body has its own figure: later ones reuse its memory.
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

/** A shape of traffic: its big requests or answers, and their models. */
interface Shape {
  readonly name: string;
  readonly bytes: number;
  readonly atOnce: number;
  readonly shot: Shot;
}

/** Returns the shapes of traffic whose memory could leak: big requests and answers, alone and forty at once. */
function shapes(token: string): readonly Shape[] {
  return [MIB, 30 * MIB].flatMap((bytes) =>
    [1, 40].flatMap((atOnce) =>
      ["request", "answer", "stream"].flatMap((part) =>
        ["chat", "chat-only"].map((kind): Shape => ({
          name: `${part} of ${bytes / MIB} MiB, ${
            kind === "chat" ? "native" : "translated"
          }, ${atOnce} at once`,
          bytes,
          atOnce,
          shot: shotFor({
            path: "/v1/responses",
            model: `${kind}-${
              part === "request" ? "small" : `long${bytes / MIB}`
            }`,
            token,
            ...(part === "stream" ? { stream: "small" } : {}),
            ...(part === "request" ? { promptBytes: bytes } : {}),
          }),
        }))
      )
    )
  );
}

/**
 * Prints the peak of a fresh gateway's resident memory under each shape of traffic, as a ratio to the bytes of all
 * bodies at once, and the memory a moment later. A ratio that grows from one version to the next shows a leak.
 */
export async function reportShapes(
  upstream: Program,
  token: string,
): Promise<void> {
  console.log("\nmemory by shape, peak and rest in bodies at once");
  for (const { name, bytes, atOnce, shot } of shapes(token)) {
    await using gateway = await startGateway({
      name: "gateway",
      upstreamUrl: upstream.url,
    });
    await shoot(gateway.url, shot);
    await resetPeak(gateway.pid);
    const { now } = await memory(gateway.pid);
    const served = await Promise.all(
      Array.from({ length: atOnce }, () => isServed(gateway.url, shot)),
    );
    const count = served.filter(Boolean).length;
    const { peak } = await memory(gateway.pid);
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    const { now: rest } = await memory(gateway.pid);
    const ratio = (size: number) =>
      ((size - now) / (bytes * count)).toFixed(2).padStart(6);
    const refused = count < atOnce ? `  (${atOnce - count} refused)` : "";
    console.log(
      `  ${name.padEnd(44)} ${ratio(peak)} ${ratio(rest)}${refused}`,
    );
  }
}

/** Sends a request; returns false for a 503, which says that `max_body_memory` is used up. */
async function isServed(url: string, shot: Shot): Promise<boolean> {
  try {
    await shoot(url, shot);
    return true;
  } catch (error) {
    if (String(error).includes("status 503")) return false;
    throw error;
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
