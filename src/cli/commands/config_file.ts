import { resolve } from "node:path";
import { loadConfig, type LoadResult } from "../../config/load.ts";
import type { Environment } from "../../config/environment.ts";
import { readFault } from "../../config/named_file.ts";
import { requireFile } from "../require_file.ts";

/** What became of reading a configuration file. */
export type FileResult = LoadResult & {
  /** Where the file was looked for, when there is none. */
  readonly missing?: string;
};

/**
 * Reads and validates a configuration file; the files that it names are found beside it.
 *
 * Never rejects: a file that cannot be read is a problem like any other.
 */
export async function loadConfigFile(
  path: string,
  { env, onRead = () => {} }: {
    readonly env: Environment;
    /** Told the path of every file that it names, before that is read. */
    readonly onRead?: (path: string) => void;
  },
): Promise<FileResult> {
  let text: string;
  try {
    text = await readText(path);
  } catch (error) {
    const problems = [{ path: "", message: readFault(error) }];
    const isMissing = error instanceof Deno.errors.NotFound;
    return isMissing ? { problems, missing: absolutePath(path) } : { problems };
  }
  return await loadConfig(text, {
    env,
    readFile(named) {
      const found = beside(path, named);
      onRead(found);
      return readText(found);
    },
    nowMs: Date.now(),
  });
}

/** The path from the root, as far as that can be told. */
function absolutePath(path: string): string {
  try {
    return resolve(path);
  } catch {
    // The working directory is gone.
    return path;
  }
}

/** Throws a `TypeError` where the bytes are not UTF-8. */
async function readText(path: string): Promise<string> {
  await requireFile(path);
  return new TextDecoder("utf-8", { fatal: true }).decode(
    await Deno.readFile(path),
  );
}

/** A path as it is meant by the file that names it. */
export function beside(file: string, named: string): string {
  if (/^([/\\]|[A-Za-z]:)/.test(named)) return named;
  return file.replace(/[^/\\]*$/, "") + named;
}
