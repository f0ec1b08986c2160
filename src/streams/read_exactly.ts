/** A body is shorter or longer than it was said to be. */
export class WrongLengthError extends Error {
  override readonly name = "WrongLengthError";

  constructor() {
    super("Cannot read the body: it is not as long as it was said to be");
  }
}

/** What {@linkcode readExactly} is told. */
export interface ReadExactlyOptions {
  /** How long the body is, in bytes. */
  readonly length: number;
  /** Gives the body up when it aborts. */
  readonly signal: AbortSignal;
}

/**
 * Reads a body of a known length into one buffer: straight where the stream can do that, which spares a copy
 * of each chunk.
 *
 * @throws {WrongLengthError} When the body has another length, or was given up.
 */
export async function readExactly(
  body: ReadableStream<Uint8Array>,
  { length, signal }: ReadExactlyOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  const { reader, fill } = openReader(body);
  const cancel = () => {
    reader.cancel().catch(() => {
      // Nobody waits for the rest of this body any more.
    });
  };
  signal.addEventListener("abort", cancel, { once: true });
  try {
    return await fill(new Uint8Array(length));
  } catch (error) {
    cancel();
    throw error;
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

/** A reader that fills a buffer; both know the same stream. */
interface OpenReader {
  readonly reader: { cancel(): Promise<void> };
  fill(buffer: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>>;
}

function openReader(body: ReadableStream<Uint8Array>): OpenReader {
  const straight = byteReader(body);
  if (straight !== undefined) {
    return {
      reader: straight,
      fill: (buffer) => fillStraight(straight, buffer),
    };
  }
  const reader = body.getReader();
  return { reader, fill: (buffer) => fillByChunks(reader, buffer) };
}

/** Only the platform's own bodies are sure to be byte streams; nothing but an attempt tells. */
function byteReader(
  body: ReadableStream<Uint8Array>,
): ReadableStreamBYOBReader | undefined {
  try {
    return body.getReader({ mode: "byob" });
  } catch {
    return undefined;
  }
}

async function fillStraight(
  reader: ReadableStreamBYOBReader,
  buffer: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  let whole = buffer;
  let filled = 0;
  while (filled < whole.length) {
    const { done, value } = await reader.read(whole.subarray(filled));
    if (done) throw new WrongLengthError();
    filled += value.length;
    whole = new Uint8Array(value.buffer);
  }
  // Until its end is seen, the platform holds on to the body.
  const { done } = await reader.read(new Uint8Array(1));
  if (!done) throw new WrongLengthError();
  return whole;
}

async function fillByChunks(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  buffer: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  let filled = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (filled + value.length > buffer.length) throw new WrongLengthError();
    buffer.set(value, filled);
    filled += value.length;
  }
  if (filled < buffer.length) throw new WrongLengthError();
  return buffer;
}
