import type { Duplex } from "../../../src/http1/duplex.ts";
import { bytesOf, byteText } from "../../../src/base/streams/bytes.ts";

/** A byte stream whose other end is the test. */
export interface ScriptedDuplex extends Duplex {
  /** All that was written to it, one character for each byte. */
  readonly written: string;
  readonly isClosed: boolean;
  /** The number of given bytes that have not been read. */
  readonly unread: number;
  /** Resolves when it is closed. */
  readonly closed: Promise<void>;
  /** Sends bytes. Each call is one read, unless the reader's buffer is too small. */
  give(...pieces: readonly (string | Uint8Array)[]): void;
  /** Ends the input. Bytes given before can still be read. */
  end(): void;
  /** Fails the reads that find no bytes. */
  breakReads(reason: Error): void;
  /** Fails every write. */
  breakWrites(reason: Error): void;
  /** Accepts this many more bytes; later writes wait. */
  limit(bytes: number): void;
}

interface ScriptedDuplexOptions {
  /** The number of bytes that may be written before {@linkcode ScriptedDuplex.limit}; default: all. */
  readonly takes?: number;
  /** The answers, one given at the start of each written request. */
  readonly answers?: readonly string[];
}

/** Creates a {@linkcode ScriptedDuplex}. Like a platform, it fails waiting reads and writes when it is closed. */
export function createScriptedDuplex(
  { takes = Infinity, answers = [] }: ScriptedDuplexOptions = {},
): ScriptedDuplex {
  const pieces: Uint8Array[] = [];
  const isRequest = /^(POST|GET) /;
  const toAnswer = [...answers];
  const closed = Promise.withResolvers<void>();
  let written = "";
  let hasEnded = false;
  let readError: Error | undefined;
  let writeError: Error | undefined;
  let left = takes;
  let wake = Promise.withResolvers<void>();
  let isClosed = false;

  function change(): void {
    wake.resolve();
    wake = Promise.withResolvers();
  }

  function checkOpen(): void {
    if (isClosed) throw new Error("It is closed");
  }

  return {
    get written() {
      return written;
    },
    get isClosed() {
      return isClosed;
    },
    get unread() {
      return pieces.reduce((sum, { length }) => sum + length, 0);
    },
    closed: closed.promise,
    async read(into) {
      for (;;) {
        checkOpen();
        const piece = pieces.shift();
        if (piece !== undefined) {
          const count = Math.min(piece.length, into.length);
          into.set(piece.subarray(0, count));
          if (count < piece.length) pieces.unshift(piece.subarray(count));
          return count;
        }
        if (readError !== undefined) throw readError;
        if (hasEnded) return null;
        await wake.promise;
      }
    },
    async write(bytes) {
      for (;;) {
        checkOpen();
        if (writeError !== undefined) throw writeError;
        if (left > 0) break;
        await wake.promise;
      }
      const text = byteText(bytes.subarray(0, Math.min(bytes.length, left)));
      left -= text.length;
      written += text;
      const answer = isRequest.test(text) ? toAnswer.shift() : undefined;
      if (answer !== undefined) pieces.push(bytesOf(answer));
      change();
      return text.length;
    },
    close() {
      isClosed = true;
      closed.resolve();
      change();
    },
    give(...given) {
      for (const piece of given) {
        const bytes = typeof piece === "string" ? bytesOf(piece) : piece;
        if (bytes.length > 0) pieces.push(bytes);
      }
      change();
    },
    end() {
      hasEnded = true;
      change();
    },
    breakReads(reason) {
      readError = reason;
      change();
    },
    breakWrites(reason) {
      writeError = reason;
      change();
    },
    limit(bytes) {
      left = bytes;
      change();
    },
  };
}
