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

/**
 * Undoes a compression while it is read. Bytes that came and hold nothing yet give an empty chunk, so that a
 * reader who listens for silence hears them.
 *
 * @param mismatch Makes the error for a body that does not keep to its compression, or ends before that does.
 * A body that breaks off throws its own.
 */
export async function* decompress(
  body: ReadableStream<Uint8Array>,
  compression: Compression,
  { mismatch }: { readonly mismatch: (cause: unknown) => Error },
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  const inflater = createInflater(compression);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      yield* told(inflater.push(value), mismatch);
      yield NOTHING;
    }
    yield* told(inflater.end(), mismatch);
  } finally {
    inflater.destroy();
    reader.cancel().catch(() => {
      // Nobody waits for the rest of this body any more.
    });
  }
}

async function* told(
  inflated: ReturnType<Inflater["push"]>,
  mismatch: (cause: unknown) => Error,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of inflated) yield chunk;
  } catch (cause) {
    throw mismatch(cause);
  }
}
