import { glob } from "node:fs/promises";

/** A file that a pattern found. */
export interface LogFile {
  readonly path: string;
  /** In bytes, when it was found. */
  readonly size: number;
  /** When it was last written, in milliseconds since 1970. */
  readonly writtenMs: number;
}

/** Where logs lie. */
export interface LogFiles {
  /**
   * The files that a pattern finds, in no order; also those that cannot be read, which reading says then.
   *
   * @param pattern A path with wildcards: `*`, `?`, `**`, `[a-z]` and `{a,b}`.
   */
  find(pattern: string): Promise<readonly LogFile[]>;
  /**
   * The first `size` bytes of a file; what is written behind them meanwhile is left alone.
   *
   * @throws When it cannot be read.
   */
  read(file: LogFile): AsyncIterable<Uint8Array>;
}

/** The files of this machine. */
export const LOG_FILES: LogFiles = { find, read };

async function find(pattern: string): Promise<readonly LogFile[]> {
  const files: LogFile[] = [];
  for await (const path of glob(pattern)) {
    const file = await describe(path);
    if (file !== undefined) files.push(file);
  }
  return files;
}

/** A file that was moved meanwhile, or whose link leads nowhere, hides none of the others. */
async function describe(path: string): Promise<LogFile | undefined> {
  try {
    const { isFile, size, mtime } = await Deno.stat(path);
    if (!isFile) return undefined;
    return { path, size, writtenMs: mtime?.getTime() ?? Infinity };
  } catch {
    return { path, size: 0, writtenMs: Infinity };
  }
}

async function* read({ path, size }: LogFile): AsyncGenerator<Uint8Array> {
  const file = await Deno.open(path);
  let rest = size;
  for await (const piece of file.readable) {
    yield piece.length > rest ? piece.subarray(0, rest) : piece;
    rest -= piece.length;
    if (rest <= 0) return;
  }
}
