import { type LongBody, longBody, SHAPES } from "./long_bodies.ts";

/** The requests to send. */
export interface Sending extends LongBody {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The name of a shape. */
  readonly shape: string;
  /** True when they are sent in chunks, without a length. */
  readonly isChunked?: boolean;
  /** The number of simultaneous requests. */
  readonly count: number;
}

/** The results. */
export interface Sent {
  /** The number of responses by status; 0 stands for no response. */
  readonly statuses: Readonly<Record<number, number>>;
  readonly seconds: number;
}

/** Sends long bodies from a separate thread, so that the measuring thread stays free. */
globalThis.addEventListener("message", async (event) => {
  if (!(event instanceof MessageEvent)) return;
  const [port] = event.ports;
  port?.postMessage(await send(event.data));
});

async function send(
  { url, headers, shape, count, isChunked = false, ...asked }: Sending,
): Promise<Sent> {
  const found = SHAPES.find(({ name }) => name === shape);
  if (found === undefined) throw new Error(`There is no shape ${shape}`);
  const body = longBody(found, asked);
  const began = performance.now();
  const statuses: Record<number, number> = {};
  await Promise.all(Array.from({ length: count }, async () => {
    const status = await statusOf(url, {
      method: "POST",
      headers,
      body: isChunked ? body.stream() : body,
    });
    statuses[status] = (statuses[status] ?? 0) + 1;
  }));
  return { statuses, seconds: (performance.now() - began) / 1000 };
}

/**
 * Returns the status of a response. A server that rejects a request early may close the connection
 * before it has read the body.
 */
async function statusOf(url: string, init: RequestInit): Promise<number> {
  try {
    const response = await fetch(url, init);
    await response.body?.cancel();
    return response.status;
  } catch {
    return 0;
  }
}
