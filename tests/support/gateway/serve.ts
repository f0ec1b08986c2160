import { fromFileUrl } from "../program/paths.ts";
import { type ListeningProcess, startProcess } from "../program/process.ts";
import { until } from "../within.ts";

const ROOT = fromFileUrl(new URL("../../../", import.meta.url));

/** A gateway in a process of its own. */
export interface ServedGateway extends ListeningProcess, AsyncDisposable {
  /** Where its second listener is; empty when it has none. */
  readonly adminUrl: string;
  /** Its configuration file. */
  readonly path: string;
  /** Puts another configuration into its file. */
  rewrite(file: unknown): Promise<void>;
  /** The lines of its log that are about `event`. */
  lines(event: string): Record<string, unknown>[];
  /** Waits for a line about `event`. */
  line(event: string): Promise<Record<string, unknown>>;
}

/** How {@linkcode serveFile} starts the process. */
export interface ServeFileOptions {
  /** What stands in its environment beside that of the test. */
  readonly env?: Record<string, string>;
  /** How many descriptors it may have; default: as many as the test. Needs `sh`. */
  readonly maxDescriptors?: number;
}

/** Serves what a configuration file says with the permissions of the executable. */
export async function serveFile(
  file: unknown,
  { env = {}, maxDescriptors }: ServeFileOptions = {},
): Promise<ServedGateway> {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/gateway.yaml`;
  const rewrite = (text: unknown) =>
    Deno.writeTextFile(path, JSON.stringify(text));
  await rewrite(file);
  const remove = () => Deno.remove(directory, { recursive: true });
  const command = [
    ...[Deno.execPath(), "run", "--no-prompt"],
    ...["--allow-net", "--allow-read", "--allow-env"],
    ...["src/main.ts", "serve", "--config", path],
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

/** What a gateway answers, over a connection of its own, so that each may reach another thread. */
export async function askOnce(
  url: string,
  init: RequestInit = {},
): Promise<{ readonly status: number; readonly text: string }> {
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const answer = await fetch(url, { ...init, client });
  return { status: answer.status, text: await answer.text() };
}
