import { until } from "../within.ts";
import { canConnect } from "./can_connect.ts";

/** A proxy of another maker in front of something. */
export interface RunningProxy extends AsyncDisposable {
  readonly url: string;
  /** What it has complained about. */
  errors(): string;
}

/** How a proxy is started. */
export interface ProxyCommand {
  readonly program: string;
  /** @param directory Its own, in which the file of its configuration is. */
  readonly args: (directory: string) => readonly string[];
  /** The name of that file; the ending tells some proxies how to read it. */
  readonly file: string;
  /** With one listener at `port`. */
  readonly config: string;
  readonly port: number;
  /** What ends it without delay. */
  readonly endsBy: Deno.Signal;
}

/** Starts a proxy, with a directory of its own, and waits until it listens. */
export async function startProxy(
  { program, args, file, config, port, endsBy }: ProxyCommand,
): Promise<RunningProxy> {
  const directory = await Deno.makeTempDir();
  await Deno.writeTextFile(`${directory}/${file}`, config);
  const child = new Deno.Command(program, {
    args: [...args(directory)],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let written = "";
  const collecting = collect();

  async function collect(): Promise<void> {
    for await (
      const part of child.stderr.pipeThrough(new TextDecoderStream())
    ) written += part;
  }

  async function stop(): Promise<void> {
    try {
      child.kill(endsBy);
    } catch {
      // It has ended already.
    }
    await collecting;
    await child.status;
    await Deno.remove(directory, { recursive: true });
  }

  try {
    await until(() => canConnect(port), `${program} to listen`);
  } catch (cause) {
    await stop();
    throw new Error(`${program} did not start:\n${written}`, { cause });
  }
  return {
    url: `http://127.0.0.1:${port}`,
    errors: () => written,
    [Symbol.asyncDispose]: stop,
  };
}
