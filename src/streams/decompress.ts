import { Readable } from "node:stream";
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from "node:zlib";

/**
 * How to undo each content encoding (docs/design.md#errors). `node:zlib` because it inflates only as much as is
 * read: a bomb stops where its reader does, which the web's `DecompressionStream` does not promise.
 */
const DECOMPRESSORS = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
} as const;

/** A content encoding that can be undone. */
export type Compression = keyof typeof DECOMPRESSORS;

/**
 * What a `content-encoding` header says: `identity` where it says nothing, `undefined` where it names what
 * cannot be undone, several encodings among them.
 */
export function readContentEncoding(
  header: string | null,
): Compression | "identity" | undefined {
  const name = (header ?? "").trim().toLowerCase();
  if (name === "" || name === "identity") return "identity";
  return isCompression(name) ? name : undefined;
}

/**
 * Undoes a compression while it is read.
 *
 * @param mismatch Makes the error for a body that does not keep to its compression. A body that breaks off
 * throws its own.
 */
export async function* decompress(
  body: ReadableStream<Uint8Array>,
  compression: Compression,
  { mismatch }: { readonly mismatch: (cause: unknown) => Error },
): AsyncGenerator<Uint8Array> {
  let broken: unknown;
  const source = Readable.from(
    noticing(body, (error) => {
      broken = error;
    }),
  );
  try {
    const inflated = source.compose(DECOMPRESSORS[compression]());
    for await (const chunk of inflated) yield chunk;
  } catch (cause) {
    throw broken ?? mismatch(cause);
  } finally {
    source.destroy();
  }
}

function isCompression(name: string): name is Compression {
  return Object.hasOwn(DECOMPRESSORS, name);
}

/**
 * Tells a body that breaks apart from a body that does not inflate: what is thrown in at the `yield` comes
 * from behind.
 */
async function* noticing(
  body: ReadableStream<Uint8Array>,
  onError: (error: unknown) => void,
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error) => {
        onError(error);
        throw error;
      });
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {
      // Nobody waits for the rest of this body any more.
    });
  }
}
