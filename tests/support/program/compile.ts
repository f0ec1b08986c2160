import { fromFileUrl } from "./paths.ts";

/** The executable, or the reason why there is none. */
export type Compiled =
  | {
    readonly path: string;
    /** The compiler's report of the embedded files. */
    readonly embedded: string;
  }
  | { readonly reason: string };

const ROOT = fromFileUrl(new URL("../../../", import.meta.url));

/** The script, beside the repository, that prints a base binary for hosts that cannot download one. */
const BASE_SCRIPT = `${ROOT}../shared/tools/denort.sh`;

/**
 * Runs `deno task compile --files`. It returns a reason when there is no base binary and none can be downloaded: this is a
 * limit of the host, not a failure.
 */
export async function compileGateway(): Promise<Compiled> {
  const base = await findBase();
  const command = new Deno.Command(Deno.execPath(), {
    args: ["task", "compile", "--files"],
    env: {
      ...base && { DENORT_BIN: base.path, DENORT_VERSION: base.version },
      NO_COLOR: "1",
    },
    ...IN_ROOT,
  });
  const { success, stdout, stderr } = await command.output();
  const report = text(stdout) + text(stderr);
  if (success) {
    return { path: `${ROOT}dist/model-gateway`, embedded: report };
  }
  if (DOWNLOAD_FAILED_REGEXP.test(report)) {
    return { reason: "the base binary of deno compile cannot be downloaded" };
  }
  throw new Error(`deno task compile failed:\n${report}`);
}

const IN_ROOT = {
  cwd: ROOT,
  stdin: "null",
  stdout: "piped",
  stderr: "piped",
} as const;

const DOWNLOAD_FAILED_REGEXP = /denort|error sending request|dl\.deno\.land/i;

async function findBase(): Promise<
  { readonly path: string; readonly version: string } | undefined
> {
  const path = Deno.env.get("DENORT_BIN");
  const version = Deno.env.get("DENORT_VERSION");
  if (path !== undefined && version !== undefined) return { path, version };
  try {
    await Deno.stat(BASE_SCRIPT);
  } catch {
    return undefined;
  }
  const { success, stdout } = await new Deno.Command(BASE_SCRIPT).output();
  if (!success) return undefined;
  const found = text(stdout).match(/DENORT_BIN=(\S+) DENORT_VERSION=(\S+)/);
  const [, foundPath, foundVersion] = found ?? [];
  return foundPath === undefined || foundVersion === undefined
    ? undefined
    : { path: foundPath, version: foundVersion };
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
