import { connect, pause, requestText } from "./ask.ts";
import { say } from "../support/upstream/raw_upstream.ts";
import type { Behaviour } from "./question.ts";
import { residentBytesOf, type Scene, type Way } from "./scene.ts";

/** The number of streams that begin at a time. */
const CONCURRENCY = 50;

/** A program under test, and its scene. */
export interface Subject {
  readonly scene: Scene;
  readonly pid: number;
}

/** The number of streams, and the time. */
export interface StreamSizes {
  /** The number of slow streams in each of two batches. */
  readonly clients: number;
  readonly flooded: number;
  readonly silentMs: number;
}

/**
 * Opens two batches of streams at a model's pace, to clients that read nothing. Returns the memory
 * per stream of each batch, in bytes.
 *
 * @param whileAllRun Called with the number of streams.
 */
export async function costOfSlow(
  way: Way,
  { clients, silentMs }: StreamSizes,
  { scene, pid }: Subject,
  whileAllRun: (streams: number) => Promise<void> = async () => {},
): Promise<readonly [first: number, second: number]> {
  const streams: Deno.TcpConn[] = [];
  const costs: [number, number] = [0, 0];
  for (const round of [0, 1] as const) {
    const before = await residentBytesOf(pid);
    streams.push(...await openStreams(way, "speak", { scene, clients }));
    await pause(silentMs);
    costs[round] = (await residentBytesOf(pid) - before) / clients;
  }
  await whileAllRun(streams.length);
  closeAll(streams);
  return costs;
}

/** Measures the memory of an unthrottled stream to a client that reads nothing, in bytes. */
export async function costOfFlooded(
  way: Way,
  { flooded, silentMs }: StreamSizes,
  subject: Subject,
): Promise<number> {
  await begin(way, subject);
  const { scene, pid } = subject;
  const before = await residentBytesOf(pid);
  const slow = await openStreams(way, "flood", { scene, clients: flooded });
  await pause(silentMs);
  const after = await residentBytesOf(pid);
  closeAll(slow);
  return (after - before) / flooded;
}

/** Streams through a program for the first time. */
export async function begin(way: Way, { scene }: Subject): Promise<void> {
  closeAll(await openStreams(way, "flood", { scene, clients: CONCURRENCY }));
  await pause(1_000);
}

/** Opens streams and reads only the beginning of each. */
async function openStreams(
  way: Way,
  behaviour: Behaviour,
  { scene, clients }: { readonly scene: Scene; readonly clients: number },
): Promise<Deno.TcpConn[]> {
  const slow: Deno.TcpConn[] = [];
  let next = 0;
  await Promise.all(Array.from({ length: CONCURRENCY }, async () => {
    while (next < clients) {
      const question = { tag: `s${next++}`, behaviour, words: 2 };
      const connection = await connect(scene);
      slow.push(connection);
      const asking = { way, question, isStream: true };
      await say(connection, requestText(asking, scene));
      await connection.read(new Uint8Array(1_024));
    }
  }));
  return slow;
}

function closeAll(connections: readonly Deno.TcpConn[]): void {
  for (const connection of connections) connection.close();
}
