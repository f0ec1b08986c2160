import { fromFileUrl } from "../support/program/paths.ts";
import { type Program, startProgram } from "../bench/processes.ts";
import { connect, pause, requestText, write } from "./ask.ts";
import { askAndCheck } from "./ask_and_check.ts";
import { sizeText } from "./findings.ts";
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

/** Streams to clients that take nothing of them. */
export async function soakSlowClients(
  { findings }: Pick<SoakOptions, "findings">,
): Promise<void> {
  const floor = await costOfFloor();
  for (const [name, way] of Object.entries(SLOW_WAYS)) {
    const [first, second] = await costOfSlow(way, findings);
    const flooded = await costOfFlooded(way);
    if (!hasProc) continue;
    const each = (first + second) / 2;
    findings.note(
      `a slow ${name} stream, of ${2 * CLIENTS}`,
      `${sizeText(each)} as fast as a model speaks (first ${CLIENTS} ${
        sizeText(first)
      }, next ${sizeText(second)}), ${
        sizeText(flooded)
      } as fast as the upstream can`,
    );
    if (each > MAX_BYTES) {
      findings.fail(`A slow ${name} stream costs ${sizeText(each)}`);
    }
    // Where the upstream sends as fast as it can, the platform holds much for each stream.
    if (flooded > FLOOR_SHARE * floor) {
      findings.fail(`A flooded ${name} stream costs ${sizeText(flooded)}`);
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
  findings: SoakOptions["findings"],
): Promise<readonly [first: number, second: number]> {
  await using scene = await startScene();
  await warmUp(way, scene);
  const streams: Deno.TcpConn[] = [];
  const costs: [number, number] = [0, 0];
  for (const round of [0, 1] as const) {
    const before = await residentBytesOf(scene.gateway.pid);
    streams.push(
      ...await openStreams(way, "speak", { scene, clients: CLIENTS }),
    );
    await pause(SILENT_MS);
    const after = await residentBytesOf(scene.gateway.pid);
    costs[round] = (after - before) / CLIENTS;
  }
  const running = await scene.inFlight();
  if (running !== 2 * CLIENTS) {
    findings.fail(`${running} of ${2 * CLIENTS} slow streams run`);
  }
  closeAll(streams);
  return costs;
}

async function warmUp(way: Way, scene: Scene): Promise<void> {
  let left = WARM_UP;
  await Promise.all(Array.from({ length: AT_A_TIME }, async () => {
    while (left-- > 0) {
      const question = { tag: `w${left}`, manner: "whole", words: 40 } as const;
      const fault = await askAndCheck({ way, question, isStream: true }, scene);
      if (fault !== undefined) throw new Error(fault);
    }
  }));
}

async function costOfFlooded(way: Way): Promise<number> {
  await using scene = await startScene();
  return await flood(way, scene, scene.gateway.pid);
}

/** The same for a proxy that knows nothing. */
async function costOfFloor(): Promise<number> {
  await using scene = await startScene();
  const floor: Program = await startProgram("floor", [
    fromFileUrl(new URL("../bench/floor.ts", import.meta.url)),
    "hop",
    scene.upstreamUrl,
  ]);
  try {
    const port = Number(new URL(floor.url).port);
    return await flood(NATIVE, { ...scene, port }, floor.pid);
  } finally {
    await floor.stop();
  }
}

async function flood(way: Way, scene: Scene, pid: number): Promise<number> {
  closeAll(await openStreams(way, "flood", { scene, clients: AT_A_TIME }));
  await pause(1_000);
  const before = await residentBytesOf(pid);
  const slow = await openStreams(way, "flood", { scene, clients: FLOODED });
  await pause(SILENT_MS);
  const after = await residentBytesOf(pid);
  closeAll(slow);
  return (after - before) / FLOODED;
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
