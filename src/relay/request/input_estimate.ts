/** A rough count of the tokens of a body that is not parsed. */
export interface InputEstimate {
  /** Sees the next piece and keeps nothing of it. */
  push(piece: Uint8Array): void;
  /** The tokens of what was seen. */
  tokens(): number;
}

/** A rough figure for text in English. */
const BYTES_PER_TOKEN = 4;

/** A screenshot of 300 KB in base64 costs some 1,500 tokens, and so does a page of a document. */
const MEDIA_BYTES_PER_TOKEN = 200;

/** A body is looked at every so many bytes; what is shorter counts as text. */
const STEP_BYTES = 4096;

/** No text without spaces, line feeds and quotation marks is so long, but base64 is. */
const SAMPLE_BYTES = 64;

/**
 * Estimates the tokens of a request by its length. Pictures, files and sound are in it as base64 and cost far fewer
 * tokens than text of that length, so a sample every few kilobytes tells the two apart.
 */
export function createInputEstimate(): InputEstimate {
  let bytes = 0;
  let mediaBytes = 0;
  return {
    push(piece) {
      bytes += piece.length;
      const last = piece.length - SAMPLE_BYTES;
      for (let at = STEP_BYTES - SAMPLE_BYTES; at <= last; at += STEP_BYTES) {
        if (isBase64(piece, at)) mediaBytes += STEP_BYTES;
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

/** By byte. */
const IS_BASE64 = new Uint8Array(256);
for (const byte of new TextEncoder().encode(ALPHABET)) IS_BASE64[byte] = 1;
