import { fromFileUrl } from "../program/paths.ts";
import { type ListeningProcess, startProcess } from "../program/process.ts";
import { until } from "../within.ts";

const ROOT = fromFileUrl(new URL("../../../", import.meta.url));

/** A gateway in its own process. */
export interface ServedGateway extends ListeningProcess, AsyncDisposable {
  /** The URL of its second listener; empty when it has none. */
  readonly adminUrl: string;
  /** The path of its configuration file. */
  readonly path: string;
  /** Writes another configuration to its file. */
  rewrite(file: unknown): Promise<void>;
  /** Returns the lines of its log about `event`. */
  lines(event: string): Record<string, unknown>[];
  /** Waits for a line about `event`. */
  line(event: string): Promise<Record<string, unknown>>;
}

/** The options of {@linkcode serveFile}. */
export interface ServeFileOptions {
  /** Variables in addition to the environment of the test. */
  readonly env?: Record<string, string>;
  /** The maximum number of descriptors; default: that of the test. Needs `sh`. */
  readonly maxDescriptors?: number;
  /** Further options of the command line. */
  readonly options?: readonly string[];
}

/** Serves a configuration file with the permissions of the executable. */
export async function serveFile(
  file: unknown,
  { env = {}, maxDescriptors, options = [] }: ServeFileOptions = {},
): Promise<ServedGateway> {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/gateway.yaml`;
  // A rename replaces the file at once: the gateway may read it at any moment.
  const rewrite = async (text: unknown) => {
    await Deno.writeTextFile(`${path}.new`, JSON.stringify(text));
    await Deno.rename(`${path}.new`, path);
  };
  await rewrite(file);
  const remove = () => Deno.remove(directory, { recursive: true });
  const command = [
    ...[Deno.execPath(), "run", "--no-prompt"],
    ...["--allow-net", "--allow-read", "--allow-env", "--allow-write"],
    ...["src/tools/main.ts", "serve", "--config", path, ...options],
  ];
  const [program = "", ...args] = maxDescriptors === undefined
    ? command
    : ["sh", "-c", `ulimit -n ${maxDescriptors}; exec "$@"`, "sh", ...command];
  const process = await startProcess(program, { args, cwd: ROOT, env }).catch(
    async (error) => {
      await remove();
      throw error;
    },
  );
  const lines = (event: string) =>
    process.output().split("\n")
      .filter((line) => line.startsWith("{") && line.endsWith("}"))
      .map((line): Record<string, unknown> => JSON.parse(line))
      .filter((line) => line.event === event);
  return {
    ...process,
    adminUrl: process.output().match(/metrics on (\S+)\/metrics\n/)?.[1] ?? "",
    path,
    rewrite,
    lines,
    async line(event) {
      await until(() => lines(event).length > 0, `the log line ${event}`);
      return lines(event)[0] ?? {};
    },
    async [Symbol.asyncDispose]() {
      try {
        process.kill("SIGKILL");
      } catch {
        // It has ended already.
      }
      await process.ended;
      await remove();
    },
  };
}

/** Sends a request over a new connection, so that each may reach another thread. */
export async function askOnce(
  url: string,
  init: RequestInit = {},
): Promise<{ readonly status: number; readonly text: string }> {
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const answer = await fetch(url, { ...init, client });
  return { status: answer.status, text: await answer.text() };
}
