import { fromFileUrl } from "../support/program/paths.ts";
import { type Program, startProgram } from "../bench/processes.ts";
import { connect, pause, requestText, write } from "./ask.ts";
import { askAndCheck } from "./ask_and_check.ts";
import { sizeText } from "./findings.ts";
import { shortnessOf } from "./plan.ts";
import type { Manner } from "./question.ts";
import {
  hasProc,
  residentBytesOf,
  type Scene,
  startScene,
  type Way,
} from "./scene.ts";
import type { SoakOptions } from "./soak_options.ts";

/** How many clients are slow at a time, twice. */
const CLIENTS = 1_000;

/** How many take nothing of a stream that comes as fast as it can. */
const FLOODED = 400;

/** How many of them begin at a time. */
const AT_A_TIME = 50;

/** How long they read nothing, in milliseconds. */
const SILENT_MS = 6_000;
const MIN_SILENT_MS = 2_000;

/** What one may cost. */
const MAX_BYTES = 100 * 1024;

/** How much of the floor a flooded stream may cost: the floor itself varies by half from run to run. */
const FLOOR_SHARE = 1.5;

/** Requests before it is measured, so that the heap has the size that it keeps. */
const WARM_UP = 4_000;

const NATIVE: Way = { protocol: "chat", upstream: "chat", model: "all" };

const SLOW_WAYS: Readonly<Record<string, Way>> = {
  native: NATIVE,
  translated: { protocol: "chat", upstream: "messages", model: "b" },
};

/** How many of everything there are, and for how long. */
interface Sizes {
  readonly clients: number;
  readonly flooded: number;
  readonly warmUp: number;
  readonly silentMs: number;
}

function sizesOf(effort: number): Sizes {
  return {
    clients: Math.ceil(CLIENTS * effort),
    flooded: Math.ceil(FLOODED * effort),
    warmUp: Math.ceil(WARM_UP * effort),
    silentMs: Math.max(MIN_SILENT_MS, SILENT_MS * effort),
  };
}

/** Streams to clients that take nothing of them. */
export async function soakSlowClients(
  { findings, effort }: SoakOptions,
): Promise<void> {
  const sizes = sizesOf(effort);
  const floor = await costOfFloor(sizes);
  for (const [name, way] of Object.entries(SLOW_WAYS)) {
    const [first, second] = await costOfSlow(way, sizes, findings);
    const flooded = await costOfFlooded(way, sizes);
    if (!hasProc) continue;
    const each = (first + second) / 2;
    findings.note(
      `a slow ${name} stream, of ${2 * sizes.clients}`,
      `${sizeText(each)} as fast as a model speaks (first ${sizes.clients} ${
        sizeText(first)
      }, next ${sizeText(second)}), ${
        sizeText(flooded)
      } as fast as the upstream can`,
    );
    if (each > MAX_BYTES) {
      findings.exceed(
        `A slow ${name} stream costs ${sizeText(each)}`,
        shortnessOf({ effort }),
      );
    }
    // Where the upstream sends as fast as it can, the platform holds much for each stream.
    if (flooded > FLOOR_SHARE * floor) {
      findings.exceed(
        `A flooded ${name} stream costs ${sizeText(flooded)}`,
        shortnessOf({ effort }),
      );
    }
  }
  if (!hasProc) return;
  findings.note(
    "  of a proxy with one empty transform",
    `${sizeText(floor)} as fast as the upstream can`,
  );
}

/** What one of the first thousand streams costs a warm process, and one of the second, in bytes. */
async function costOfSlow(
  way: Way,
  { clients, silentMs, warmUp }: Sizes,
  findings: SoakOptions["findings"],
): Promise<readonly [first: number, second: number]> {
  await using scene = await startScene();
  await warm(way, warmUp, scene);
  const streams: Deno.TcpConn[] = [];
  const costs: [number, number] = [0, 0];
  for (const round of [0, 1] as const) {
    const before = await residentBytesOf(scene.gateway.pid);
    streams.push(
      ...await openStreams(way, "speak", { scene, clients }),
    );
    await pause(silentMs);
    const after = await residentBytesOf(scene.gateway.pid);
    costs[round] = (after - before) / clients;
  }
  const running = await scene.inFlight();
  if (running !== 2 * clients) {
    findings.fail(`${running} of ${2 * clients} slow streams run`);
  }
  closeAll(streams);
  return costs;
}

async function warm(way: Way, count: number, scene: Scene): Promise<void> {
  let left = count;
  await Promise.all(Array.from({ length: AT_A_TIME }, async () => {
    while (left-- > 0) {
      const question = { tag: `w${left}`, manner: "whole", words: 40 } as const;
      const fault = await askAndCheck({ way, question, isStream: true }, scene);
      if (fault !== undefined) throw new Error(fault);
    }
  }));
}

async function costOfFlooded(way: Way, sizes: Sizes): Promise<number> {
  await using scene = await startScene();
  return await flood(way, sizes, scene, scene.gateway.pid);
}

/** The same for a proxy that knows nothing. */
async function costOfFloor(sizes: Sizes): Promise<number> {
  await using scene = await startScene();
  const floor: Program = await startProgram("floor", [
    fromFileUrl(new URL("../bench/floor.ts", import.meta.url)),
    "hop",
    scene.upstreamUrl,
  ]);
  try {
    const port = Number(new URL(floor.url).port);
    return await flood(NATIVE, sizes, { ...scene, port }, floor.pid);
  } finally {
    await floor.stop();
  }
}

async function flood(
  way: Way,
  { flooded, silentMs }: Sizes,
  scene: Scene,
  pid: number,
): Promise<number> {
  closeAll(await openStreams(way, "flood", { scene, clients: AT_A_TIME }));
  await pause(1_000);
  const before = await residentBytesOf(pid);
  const slow = await openStreams(way, "flood", { scene, clients: flooded });
  await pause(silentMs);
  const after = await residentBytesOf(pid);
  closeAll(slow);
  return (after - before) / flooded;
}

/** Opens streams and reads no more than their beginning. */
async function openStreams(
  way: Way,
  manner: Manner,
  { scene, clients }: { readonly scene: Scene; readonly clients: number },
): Promise<Deno.TcpConn[]> {
  const slow: Deno.TcpConn[] = [];
  let next = 0;
  await Promise.all(Array.from({ length: AT_A_TIME }, async () => {
    while (next < clients) {
      const question = { tag: `s${next++}`, manner, words: 2 };
      const connection = await connect(scene);
      slow.push(connection);
      const asking = { way, question, isStream: true };
      await write(connection, requestText(asking, scene));
      await connection.read(new Uint8Array(1_024));
    }
  }));
  return slow;
}

function closeAll(connections: readonly Deno.TcpConn[]): void {
  for (const connection of connections) connection.close();
}
