import { createUploadReader } from "./byte_reader.ts";
import { abandon } from "./discard.ts";
import type { ByteReader } from "./look_ahead.ts";
import {
  type Compression,
  createInflater,
  type Inflater,
  isCompression,
} from "./inflater.ts";

export type { Compression };

/**
 * What a `content-encoding` header says: `identity` where it says nothing, `undefined` where it names what
 * cannot be undone, several encodings among them.
 */
export function readContentEncoding(
  header: string | null | undefined,
): Compression | "identity" | undefined {
  const name = (header ?? "").trim().toLowerCase();
  if (name === "" || name === "identity") return "identity";
  return isCompression(name) ? name : undefined;
}

const NOTHING = new Uint8Array();

/** How a compression is undone. */
export interface DecompressOptions {
  /** Makes the error for a body that does not keep to its compression, or ends before that does. */
  readonly mismatch: (cause: unknown) => Error;
}

/**
 * Undoes a compression while it is read. Bytes that came and hold nothing yet give an empty chunk, so that a
 * reader who listens for silence hears them. A body that breaks off throws its own error. To cancel the stream cancels
 * the body at once, also while a read waits for it, for which a generator's own `return()` would wait.
 */
export function decompress(
  body: ReadableStream<Uint8Array>,
  compression: Compression,
  options: DecompressOptions,
): ReadableStream<Uint8Array> {
  const reader = createUploadReader(body);
  const inflater = createInflater(compression);
  const chunks = inflate(reader, inflater, options);

  async function letGo(reason?: unknown): Promise<void> {
    inflater.destroy();
    await reader.cancel(reason);
  }

  return new ReadableStream({
    async pull(controller) {
      let isOver = true;
      try {
        const { done, value } = await chunks.next();
        if (done) return controller.close();
        isOver = false;
        controller.enqueue(value);
      } finally {
        if (isOver) abandon({ cancel: letGo });
      }
    },
    cancel: letGo,
  }, { highWaterMark: 0 });
}

async function* inflate(
  body: ByteReader,
  inflater: Inflater,
  { mismatch }: DecompressOptions,
): AsyncGenerator<Uint8Array, void> {
  for (;;) {
    const read = await body.read();
    if (read.done) break;
    yield* told(inflater.push(read.value), mismatch);
    yield NOTHING;
  }
  yield* told(inflater.end(), mismatch);
}

async function* told(
  inflated: ReturnType<Inflater["push"]>,
  mismatch: DecompressOptions["mismatch"],
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of inflated) yield chunk;
  } catch (cause) {
    throw mismatch(cause);
  }
}
