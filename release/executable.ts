import { unusedFiles } from "./packages.ts";
import { writeProgram } from "./program.ts";
import { V8_FLAGS } from "./v8_flags.ts";
import { VERSION } from "../src/base/version.ts";

const ROOT = new URL("../", import.meta.url);

/** The oldest Deno that a release is made with, as major and minor version. */
const OLDEST_RELEASE_DENO = [2, 9] as const;

/**
 * Checks the Deno that a release is made with. Under 2.7.11, native streams cost two to three times as much.
 *
 * @param version Such as `2.9.6`.
 * @returns The error; `undefined` when the version is recent enough.
 */
export function releaseDenoError(version: string): string | undefined {
  const [major = NaN, minor = NaN] = version.split(".").map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_RELEASE_DENO;
  const isRecent = major > oldestMajor ||
    major === oldestMajor && minor >= oldestMinor;
  return isRecent
    ? undefined
    : `Cannot make a release with Deno ${version}: streams cost two to three times as much there. Use Deno ${
      OLDEST_RELEASE_DENO.join(".")
    } or newer.`;
}

/** The names of a target, in a file's name and for the compiler. */
export interface Target {
  readonly name: string;
  readonly triple: string;
}

/** The systems of a release. */
export const TARGETS: readonly Target[] = [
  { name: "linux-x64", triple: "x86_64-unknown-linux-gnu" },
  { name: "linux-arm64", triple: "aarch64-unknown-linux-gnu" },
  { name: "macos-x64", triple: "x86_64-apple-darwin" },
  { name: "macos-arm64", triple: "aarch64-apple-darwin" },
  { name: "windows-x64", triple: "x86_64-pc-windows-msvc" },
];

/** The result of a compilation. */
export interface Compiled {
  readonly outcome: "made" | "no base" | "failed" | "does not run";
  /** The output of the compiler, or of the file that does not run. */
  readonly report: string;
}

/** Matches a failed download of the compiler's base, a base for another target, or a wrong path. */
const NO_BASE_REGEXP =
  /error sending request|dl\.deno\.land|could not find denort/i;

/** The longest wait for a new executable to print its version, in milliseconds. */
const VERSION_TIMEOUT_MS = 60_000;

const ARGUMENTS = [
  "compile",
  // `deno task check` checks the types.
  "--no-check",
  // The runtime would keep compiled code in the system's folder for temporary files, under a name that everybody knows, and
  // run what another user has put there.
  "--no-code-cache",
  V8_FLAGS,
  // The program gives up writing at its start, except for `login`.
  ...["--allow-net", "--allow-read", "--allow-env", "--allow-write"],
];

/**
 * Compiles an executable. One for this machine is first run with `--version`; an older file stays until then, because a
 * base of another version of Deno gives a file that ends at its start.
 *
 * @param options.target Default: this machine.
 * @param options.output The path of the file to write, below the repository.
 */
export async function compileExecutable(
  { target = Deno.build.target, output }: {
    readonly target?: string;
    readonly output: string;
  },
): Promise<Compiled> {
  const { main, included } = await writeProgram();
  const unused = await unusedArguments();
  const compiler = await compilerPath(target);
  const [, folder = "", name = output] = output.match(/^(.*\/)?(.*)$/) ?? [];
  const unproven = `${folder}new-${name}`;
  const { success, stdout, stderr } = await new Deno.Command(compiler, {
    args: [
      ...ARGUMENTS,
      ...included.flatMap((path) => ["--include", path]),
      ...unused,
      ...["--target", target, "--output", unproven, main],
    ],
    cwd: ROOT,
    clearEnv: true,
    env: compilerEnvironment(target),
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  const report = decoder.decode(stdout) + decoder.decode(stderr);
  if (!success) {
    const outcome = NO_BASE_REGEXP.test(report) ? "no base" : "failed";
    return { outcome, report };
  }
  const path = new URL(unproven, ROOT);
  const failure = target === Deno.build.target
    ? await startFailure(path)
    : undefined;
  if (failure !== undefined) {
    await Deno.remove(path);
    return { outcome: "does not run", report: failure };
  }
  await Deno.rename(path, new URL(output, ROOT));
  return { outcome: "made", report };
}

/** Runs an executable with `--version`. Returns what it printed if that is not the version; `undefined` if it is. */
async function startFailure(path: URL): Promise<string | undefined> {
  const { success, stdout, stderr } = await new Deno.Command(path, {
    args: ["--version"],
    stdin: "null",
    signal: AbortSignal.timeout(VERSION_TIMEOUT_MS),
  }).output();
  const decoder = new TextDecoder();
  const printed = decoder.decode(stdout);
  return success && printed.includes(VERSION)
    ? undefined
    : printed + decoder.decode(stderr);
}

/** Returns the arguments that leave out the files that nobody loads. A command line of Windows is too short for them. */
async function unusedArguments(): Promise<readonly string[]> {
  if (Deno.build.os === "windows") return [];
  const cached = await new Deno.Command(Deno.execPath(), {
    args: ["cache", "src/tools/main.ts"],
    cwd: ROOT,
    stdin: "null",
  }).output();
  if (!cached.success) return [];
  const lock = await Deno.readTextFile(new URL("deno.lock", ROOT));
  return (await unusedFiles(lock)).flatMap((path) => ["--exclude", path]);
}

/** Returns the path of the compiler: this Deno, or the one that the base in `DENORT_BIN` belongs to. */
async function compilerPath(target: string): Promise<string> {
  const version = Deno.env.get("DENORT_VERSION");
  if (target !== Deno.build.target || version === undefined) {
    return Deno.execPath();
  }
  const { stdout } = await new Deno.Command("npx", {
    args: ["-y", `deno@${version}`, "eval", "console.log(Deno.execPath())"],
    stdin: "null",
  }).output();
  return new TextDecoder().decode(stdout).trim();
}

/** Sets `DENORT_BIN` for this machine only, because it is a base for this machine. */
function compilerEnvironment(target: string): Record<string, string> {
  const { DENORT_BIN: base, ...rest } = Deno.env.toObject();
  const isHere = target === Deno.build.target && base !== undefined;
  return {
    ...rest,
    ...(isHere ? { DENORT_BIN: base } : {}),
  };
}
