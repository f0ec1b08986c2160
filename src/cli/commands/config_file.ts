import { resolve } from "node:path";
import { type Environment, readFault } from "../../config/environment.ts";
import { loadConfig, type LoadResult } from "../../config/load.ts";
import { formatProblem, type Problem } from "../../config/problems.ts";

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

/**
 * Where the configuration is: `--config`, else `MODEL_GATEWAY_CONFIG`, else `gateway.yaml` in the
 * working directory.
 */
export function findConfigPath(
  { option, env }: {
    /** What `--config` says, if it is given. */
    readonly option: string | undefined;
    readonly env: (name: string) => string | undefined;
  },
): string {
  return option || env("MODEL_GATEWAY_CONFIG") || "gateway.yaml";
}

/** Problems or warnings for people, a line each. */
export function problemLines(problems: readonly Problem[]): string {
  return problems.map((problem) => `  ${formatProblem(problem)}\n`).join("");
}

/** What to do where there is no configuration; nothing where there is one. */
export function missingFileHint(
  { missing }: { readonly missing?: string },
): string {
  if (missing === undefined) return "";
  return `It was looked for at ${missing}.
\`model-gateway init SERVICE...\` prints a first one; \`model-gateway demo\` needs none.
`;
}

/** A path names a FIFO, a socket or a device, which may keep its reader waiting forever. */
export class NotRegularFileError extends Error {
  override readonly name = "NotRegularFileError";

  constructor() {
    super("it is a FIFO, a socket or a device, not a regular file");
  }
}

/** What the program was started with is open already, such as the pipe of a shell's `<(command)`. */
const OWN_DESCRIPTOR_REGEXP = /^\/(dev\/stdin|(dev|proc\/self)\/fd\/\d+)$/;

/**
 * Makes sure that opening a path does not wait: it names a regular file, or a descriptor that the program was started
 * with. A directory is left to whoever opens it, since that fails at once.
 *
 * @throws {NotRegularFileError} When it names anything else.
 * @throws What the platform throws where there is nothing, or it may not be seen.
 */
export async function requireFile(path: string): Promise<void> {
  const { isFile, isDirectory } = await Deno.stat(path);
  if (!isFile && !isDirectory && !OWN_DESCRIPTOR_REGEXP.test(path)) {
    throw new NotRegularFileError();
  }
}
