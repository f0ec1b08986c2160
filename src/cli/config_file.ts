import { loadConfig, type LoadResult } from "../config/load.ts";
import type { Environment } from "../config/environment.ts";
import { readFault } from "../config/named_file.ts";

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
): Promise<LoadResult> {
  let text: string;
  try {
    text = await readText(path);
  } catch (error) {
    return { problems: [{ path: "", message: readFault(error) }] };
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

/** Throws a `TypeError` where the bytes are not UTF-8. */
async function readText(path: string): Promise<string> {
  return new TextDecoder("utf-8", { fatal: true }).decode(
    await Deno.readFile(path),
  );
}

/** A path as it is meant by the file that names it. */
function beside(file: string, named: string): string {
  if (/^([/\\]|[A-Za-z]:)/.test(named)) return named;
  return file.replace(/[^/\\]*$/, "") + named;
}
