import { Readable } from "node:stream";
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from "node:zlib";
import { GatewayError } from "../core/error.ts";

/**
 * How to undo each content encoding (design section 5). `node:zlib` because it inflates only as much as is
 * read: a bomb stops at the body limit, which the web's `DecompressionStream` does not promise.
 */
const DECOMPRESSORS = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
} as const;

/**
 * Undoes the content encoding of a body while it is read.
 *
 * @param encoding The `content-encoding` header; `null`, empty or `identity` leaves the body as it is.
 * @throws {GatewayError} `unsupported_media_type` for any other encoding; while reading,
 * `invalid_request` when the body does not keep to its encoding.
 */
export function decompress(
  body: ReadableStream<Uint8Array>,
  encoding: string | null,
): AsyncIterable<Uint8Array> {
  const name = (encoding ?? "").trim().toLowerCase();
  if (name === "" || name === "identity") return body;
  if (!isKnown(name)) throw unsupportedEncoding();
  return inflate(body, DECOMPRESSORS[name]);
}

/** Whether the body arrives as the caller wrote it. */
export function isIdentity(encoding: string | null): boolean {
  return encoding === null || /^\s*(identity)?\s*$/i.test(encoding);
}

function isKnown(name: string): name is keyof typeof DECOMPRESSORS {
  return Object.hasOwn(DECOMPRESSORS, name);
}

async function* inflate(
  body: ReadableStream<Uint8Array>,
  create: typeof DECOMPRESSORS[keyof typeof DECOMPRESSORS],
): AsyncGenerator<Uint8Array> {
  let broken: unknown;
  const source = Readable.from(
    noticing(body, (error) => {
      broken = error;
    }),
  );
  try {
    for await (const chunk of source.compose(create())) yield chunk;
  } catch (cause) {
    if (broken !== undefined) throw broken;
    throw new GatewayError(
      "invalid_request",
      "Cannot decompress the body: it does not match its content-encoding header",
      { cause },
    );
  } finally {
    source.destroy();
  }
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

function unsupportedEncoding(): GatewayError {
  return new GatewayError(
    "unsupported_media_type",
    "Cannot read the body: its content encoding is unknown, use identity, gzip, deflate, br or zstd",
    { headers: { "accept-encoding": "gzip, deflate, br, zstd" } },
  );
}
