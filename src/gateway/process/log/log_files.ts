import { readFault } from "../../config/environment.ts";
import { requireFile } from "../config_file.ts";

/** A file that matches a pattern. */
export interface LogFile {
  /** The identity of the file, the same under each of its names. */
  readonly id: string;
  readonly path: string;
  /** The size when the file was found, in bytes. */
  readonly size: number;
  /** The time of the last write, in milliseconds since 1970. */
  readonly writtenMs: number;
}

/** The access to log files. */
export interface LogFiles {
  /**
   * Returns the files that match a pattern, unsorted. Unreadable files are included: `read` fails for such a file.
   *
   * @param pattern A path with wildcards: `*`, `?`, `**`, `[a-z]` and `{a,b}`.
   */
  find(pattern: string): Promise<readonly LogFile[]>;
  /**
   * Reads the first `size` bytes of a file; later bytes are ignored.
   *
   * @throws When the file cannot be read; `NotFound` also when the path now names another file.
   */
  read(file: LogFile): AsyncIterable<Uint8Array>;
}

/** The log files of this machine. */
export const LOG_FILES: LogFiles = { find, read };

async function find(pattern: string): Promise<readonly LogFile[]> {
  const files: LogFile[] = [];
  // A server without logs to read does not need the import, and the import would delay its start.
  const { glob } = await import("node:fs/promises");
  for await (const path of glob(pattern)) {
    const file = await describe(path);
    if (file !== undefined) files.push(file);
  }
  return files;
}

/**
 * Describes a regular file. A moved file or a broken link also gets an entry: `read` fails for this entry and reports
 * the reason.
 */
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
 * Returns the identity of a file, independent of its name. The identity contains the birth time, because a new file may
 * get the inode of a deleted file. On platforms without inodes, the identity is the real path.
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
    throw new Deno.errors.NotFound(
      `Cannot read ${path}: the path names another file now.`,
    );
  }
  let rest = size;
  for await (const chunk of file.readable) {
    yield chunk.length > rest ? chunk.subarray(0, rest) : chunk;
    rest -= chunk.length;
    if (rest <= 0) return;
  }
}

/** Returns the `id` that a {@linkcode LogFile} at the path has; `undefined` when there is no file. */
export async function identifyLog(path: string): Promise<string | undefined> {
  try {
    return await identity(await Deno.stat(path), path);
  } catch {
    return undefined;
  }
}

/**
 * Opens a whole log. The log may be a pipe that a shell opened.
 *
 * @param path The path of a file; `undefined` for standard input.
 * @param isWanted Called once with the file's id. Returns true when the file is to be read.
 * @returns The bytes of the log; `undefined` for a file that is not wanted.
 * @throws {Error} When the log cannot be opened, with a reason for people.
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
    throw new Error(`it ${readFault(error)}`, { cause: error });
  }
}
