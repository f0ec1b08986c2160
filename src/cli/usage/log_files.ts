import { glob } from "node:fs/promises";
import { requireFile } from "../commands/config_file.ts";

/** A file that a pattern found. */
export interface LogFile {
  /** The same for one file under several names, and another for each other file. */
  readonly id: string;
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
   * Reads the first `size` bytes of a file; what is written behind them meanwhile is left alone.
   *
   * @throws When it cannot be read; `NotFound` also where another file has its path now.
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
    const info = await Deno.stat(path);
    if (!info.isFile) return undefined;
    const { size, mtime } = info;
    const id = await identity(info, path);
    return { id, path, size, writtenMs: mtime?.getTime() ?? Infinity };
  } catch {
    return { id: path, path, size: 0, writtenMs: Infinity };
  }
}

/**
 * Returns by what a file is known, whatever it is called: the number of a file that is gone may be given to another
 * one, which was made later. Only some platforms have such numbers.
 */
async function identity(
  { dev, ino, birthtime }: Deno.FileInfo,
  path: string,
): Promise<string> {
  return ino === null
    ? await Deno.realPath(path)
    : `${dev}:${ino}:${birthtime?.getTime()}`;
}

async function* read({ id, path, size }: LogFile): AsyncGenerator<Uint8Array> {
  await requireFile(path);
  const file = await Deno.open(path);
  if (await identity(await file.stat(), path) !== id) {
    file.close();
    throw new Deno.errors.NotFound(`Cannot read ${path}: it is another file`);
  }
  let rest = size;
  for await (const piece of file.readable) {
    yield piece.length > rest ? piece.subarray(0, rest) : piece;
    rest -= piece.length;
    if (rest <= 0) return;
  }
}

/** Returns the id that a log has as a {@linkcode LogFile}; `undefined` where there is none at that path. */
export async function identifyLog(path: string): Promise<string | undefined> {
  try {
    return await identity(await Deno.stat(path), path);
  } catch {
    return undefined;
  }
}

/**
 * Opens a log, which may be a pipe that a shell opened, to read all of it.
 *
 * @param path A file; `undefined` for standard input.
 * @param isWanted Whether the file with this id is to be read; asked once.
 * @returns `undefined` for a file that is not wanted.
 * @throws {Error} When it cannot be opened, with a reason for people.
 */
export async function openLog(
  path: string | undefined,
  isWanted: (id: string) => boolean,
): Promise<AsyncIterable<Uint8Array> | undefined> {
  if (path === undefined) return Deno.stdin.readable;
  try {
    await requireFile(path);
    const file = await Deno.open(path);
    if (isWanted(await identity(await file.stat(), path))) return file.readable;
    file.close();
    return undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      throw new Error("there is no such file", { cause: error });
    }
    if (error instanceof Deno.errors.PermissionDenied) {
      throw new Error("it may not be read", { cause: error });
    }
    throw error;
  }
}
