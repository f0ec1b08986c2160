import { normalize, resolve } from "node:path";
import { type Environment, readFault } from "../config/environment.ts";
import type { TokenFor } from "../config/token_exchange.ts";
import { loadConfig, type LoadResult } from "../config/load.ts";
import { formatProblem, type Problem } from "@gateway/base/problems";

/** The result of reading a configuration file. */
export type FileResult = LoadResult & {
  /** The absolute path of the configuration file if this file does not exist. */
  readonly missing?: string;
};

/**
 * Reads and validates a configuration file. Relative paths in the file start at the folder of the file.
 *
 * Never rejects: an unreadable file is reported as a problem.
 */
export async function loadConfigFile(
  path: string,
  { env, tokenFor, onRead = () => {}, onList = () => {} }: {
    readonly env: Environment;
    readonly tokenFor?: TokenFor | undefined;
    /** Called with the path of each named file, before it is read. */
    readonly onRead?: (path: string) => void;
    /** Called with each pattern and the files that match. These are `undefined` if their folder cannot be read. */
    readonly onList?: (
      files: FilePattern,
      names: readonly string[] | undefined,
    ) => void;
  },
): Promise<FileResult> {
  let text: string;
  try {
    text = await readText(path);
  } catch (error) {
    const problems = [{ path: "", message: `${readFault(error)}.` }];
    const isMissing = error instanceof Deno.errors.NotFound;
    return isMissing ? { problems, missing: absolutePath(path) } : { problems };
  }
  return await loadConfig(text, {
    env,
    tokenFor,
    readFile(named) {
      const found = beside(path, named);
      onRead(found);
      return readText(found);
    },
    async listFiles(pattern) {
      const files = { pattern, folder: beside(path, "") };
      let names: readonly string[] | undefined;
      try {
        names = await findFiles(files);
        return names;
      } finally {
        if (isWildcard(pattern)) onList(files, names);
      }
    },
    nowMs: Date.now(),
  });
}

/** Matches a path with a hidden file or folder. The name of such a file begins with a dot. */
const HIDDEN_REGEXP = /(^|[/\\])\./;

/** A path with the wildcards `*` and `?`. */
export interface FilePattern {
  readonly pattern: string;
  /** The folder where a relative pattern starts; empty for the working directory. */
  readonly folder: string;
}

function isWildcard(pattern: string): boolean {
  return /[*?]/.test(pattern);
}

/**
 * Returns the files that match a pattern, sorted. As in a shell, wildcards match no hidden files. A pattern without
 * wildcards is returned unchanged.
 *
 * @throws The platform's error when the folder before the first wildcard cannot be read.
 */
export async function findFiles(
  { pattern, folder }: FilePattern,
): Promise<readonly string[]> {
  const wanted = normalize(pattern);
  if (!isWildcard(pattern)) return [wanted];
  const fixed = wanted.replace(/[^/\\]*[*?].*$/, "");
  await Deno.lstat(beside(folder, fixed) || ".");
  // The import takes time and most configurations have no pattern, so only a pattern causes the import.
  const { glob } = await import("node:fs/promises");
  const names = await Array.fromAsync(glob(wanted, { cwd: folder || "." }));
  return names.filter((name) => !HIDDEN_REGEXP.test(name.slice(fixed.length)))
    .sort();
}

/** Returns the absolute path, or `path` itself when there is no working directory. */
function absolutePath(path: string): string {
  try {
    return resolve(path);
  } catch {
    // The working directory was deleted.
    return path;
  }
}

/**
 * Reads a regular file.
 *
 * @throws {TypeError} When the bytes are not UTF-8.
 * @throws {NotRegularFileError} When it is a FIFO, a socket or a device.
 */
export async function readText(path: string): Promise<string> {
  await requireFile(path);
  return new TextDecoder("utf-8", { fatal: true }).decode(
    await Deno.readFile(path),
  );
}

/** Resolves a path against the folder of the file that names it. */
export function beside(file: string, named: string): string {
  if (/^([/\\]|[A-Za-z]:)/.test(named)) return named;
  return file.replace(/[^/\\]*$/, "") + named;
}

/**
 * Returns the path of the configuration: `--config`, else `MODEL_GATEWAY_CONFIG`, else `gateway.yaml` in the working
 * directory.
 */
export function findConfigPath(
  { option, env }: {
    /** The value of `--config`, if given. */
    readonly option: string | undefined;
    readonly env: (name: string) => string | undefined;
  },
): string {
  return option || env("MODEL_GATEWAY_CONFIG") || "gateway.yaml";
}

/** Formats problems or warnings for people, one per line. */
export function problemLines(problems: readonly Problem[]): string {
  return problems.map((problem) => `  ${formatProblem(problem)}\n`).join("");
}

/** Returns instructions when the configuration is missing, else an empty text. */
export function missingFileHint(
  { missing }: { readonly missing?: string },
): string {
  if (missing === undefined) return "";
  return `Create ${missing} or use --config.
\`model-gateway init SERVICE...\` prints a first file; \`model-gateway demo\` needs none.
`;
}

/** The error for a FIFO, a socket or a device. Reading such a file may wait forever. */
class NotRegularFileError extends Error {
  override readonly name = "NotRegularFileError";

  constructor() {
    super("it is a FIFO, a socket or a device, not a regular file");
  }
}

/** Matches the paths of descriptors that were open at the start, such as the pipe of a shell's `<(command)`. */
const OWN_DESCRIPTOR_REGEXP = /^\/(dev\/stdin|(dev|proc\/self)\/fd\/\d+)$/;

/**
 * Rejects a path that may block when it is opened. It accepts regular files and descriptors that were open at the
 * start.
 *
 * @throws {NotRegularFileError} When the path names anything else.
 * @throws {Deno.errors.IsADirectory} When the path names a directory.
 * @throws The platform's error when there is no file, or when access to it is denied.
 */
export async function requireFile(path: string): Promise<void> {
  const { isFile, isDirectory } = await Deno.stat(path);
  if (isDirectory) throw new Deno.errors.IsADirectory();
  if (!isFile && !OWN_DESCRIPTOR_REGEXP.test(path)) {
    throw new NotRegularFileError();
  }
}
