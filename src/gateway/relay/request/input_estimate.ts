/** A rough count of the tokens of a body that is not parsed. */
interface InputEstimate {
  /** Counts the next chunk without keeping it. */
  push(chunk: Uint8Array): void;
  /** Returns the tokens of the chunks so far. */
  tokens(): number;
}

/** The number of bytes of a token in English text, roughly. */
const BYTES_PER_TOKEN = 4;

/** A screenshot of 300 KB in base64 costs some 1,500 tokens, and so does a page of a document. */
const MEDIA_BYTES_PER_TOKEN = 200;

/** The distance between two samples, in bytes. A shorter body counts as text. */
const STEP_BYTES = 4096;

/** The size of a sample, in bytes. Base64 has no space, line feed or quotation mark over this length; text has. */
const SAMPLE_BYTES = 64;

/**
 * Estimates the tokens of a request by its length. Base64 of pictures, files and sound costs far fewer tokens than text
 * of the same length. A sample every few kilobytes separates the two.
 */
export function createInputEstimate(): InputEstimate {
  let bytes = 0;
  let mediaBytes = 0;
  return {
    push(chunk) {
      bytes += chunk.length;
      const last = chunk.length - SAMPLE_BYTES;
      for (let at = STEP_BYTES - SAMPLE_BYTES; at <= last; at += STEP_BYTES) {
        if (isBase64(chunk, at)) mediaBytes += STEP_BYTES;
      }
    },
    tokens() {
      const textBytes = bytes - mediaBytes;
      return Math.ceil(
        textBytes / BYTES_PER_TOKEN + mediaBytes / MEDIA_BYTES_PER_TOKEN,
      );
    },
  };
}

function isBase64(bytes: Uint8Array, start: number): boolean {
  for (let at = start; at < start + SAMPLE_BYTES; at++) {
    if (IS_BASE64[bytes[at] ?? 0] !== 1) return false;
  }
  return true;
}

const ALPHABET =
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=";

/** 1 for each byte of the alphabet of base64. */
const IS_BASE64 = new Uint8Array(256);
for (const byte of new TextEncoder().encode(ALPHABET)) IS_BASE64[byte] = 1;
