import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from "node:zlib";
import { createZstdFrame } from "./zstd_frame.ts";

/**
 * How to undo each content encoding. `node:zlib` because it inflates only as much as is read: a bomb stops where
 * its reader does, which the web's `DecompressionStream` does not promise.
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

/** Whether `name` is one, in lower case. */
export function isCompression(name: string): name is Compression {
  return Object.hasOwn(DECOMPRESSORS, name);
}

/** Undoes a compression piece by piece. */
export interface Inflater {
  /**
   * Takes the next compressed bytes, and gives what they hold as it is asked for.
   *
   * @throws What the decompressor says when they do not keep to the compression, or more follows its end.
   */
  push(piece: Uint8Array): AsyncGenerator<Uint8Array>;
  /**
   * Gives what is left once no more pieces come.
   *
   * @throws When the compressed bytes ended before they were whole.
   */
  end(): AsyncGenerator<Uint8Array>;
  /** Gives the rest up. */
  destroy(): void;
}

/** More than a decompressor takes that has its last byte. */
const BEHIND_THE_END = new Uint8Array(64);

/** An inflater that has seen nothing yet. */
export function createInflater(compression: Compression): Inflater {
  const engine = DECOMPRESSORS[compression]();
  const frame = compression === "zstd" ? createZstdFrame() : undefined;
  let change = Promise.withResolvers<void>();
  let fault: Error | undefined;

  function wake(): void {
    change.resolve();
    change = Promise.withResolvers();
  }

  engine.on("readable", wake);
  engine.on("end", wake);
  engine.on("error", (error: Error) => {
    fault = error;
    wake();
  });

  /** What comes out until `isDone` says so. */
  async function* take(isDone: () => boolean): AsyncGenerator<Uint8Array> {
    for (;;) {
      const changed = change.promise;
      const chunk: Uint8Array | null = engine.read();
      if (chunk !== null) yield chunk;
      else if (fault !== undefined) throw fault;
      else if (engine.readableEnded || isDone()) return;
      else await changed;
    }
  }

  function write(piece: Uint8Array): AsyncGenerator<Uint8Array> {
    let isTaken = false;
    engine.write(piece, () => {
      isTaken = true;
      wake();
    });
    return take(() => isTaken);
  }

  /** Brotli has no length and no checksum: whoever takes more has not seen the end. */
  async function takesMore(): Promise<boolean> {
    const before = engine.bytesWritten;
    for await (const _ of write(BEHIND_THE_END)) return true;
    return engine.bytesWritten > before;
  }

  return {
    async *push(piece) {
      frame?.push(piece);
      if (!engine.readableEnded) yield* write(piece);
      // An engine ends before it is told to when there is more than it takes; that of zstd leaves its last bytes.
      if (engine.readableEnded && frame === undefined) throw tooMuch();
    },
    async *end() {
      if (compression === "br" && await takesMore()) throw cutShort();
      engine.end();
      yield* take(() => false);
      if (frame?.isWhole === false) throw cutShort();
    },
    destroy() {
      engine.destroy();
    },
  };
}

function cutShort(): Error {
  return new Error("The compressed bytes end too early");
}

function tooMuch(): Error {
  return new Error("More follows the end of the compressed bytes");
}
