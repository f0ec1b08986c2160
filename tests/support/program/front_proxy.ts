import { until } from "../within.ts";
import { canConnect } from "./can_connect.ts";

/** A third-party proxy in front of a gateway. */
export interface RunningProxy extends AsyncDisposable {
  readonly url: string;
  /** Returns the errors that it has written. */
  errors(): string;
}

/** The command that starts a proxy. */
export interface ProxyCommand {
  readonly program: string;
  /** Returns the arguments; the configuration is in `directory`, which belongs to the proxy. */
  readonly args: (directory: string) => readonly string[];
  /** The name of the configuration file; some proxies choose the parser by its extension. */
  readonly file: string;
  /** The configuration, with one listener at `port`. */
  readonly config: string;
  readonly port: number;
  /** The signal that ends the proxy at once. */
  readonly endsBy: Deno.Signal;
  /** Returns further variables of its environment; default: none. */
  readonly env?: (directory: string) => Readonly<Record<string, string>>;
}

/** Starts a proxy with its own directory, and waits until it listens. */
export async function startProxy(
  { program, args, file, config, port, endsBy, env }: ProxyCommand,
): Promise<RunningProxy> {
  const directory = await Deno.makeTempDir();
  await Deno.writeTextFile(`${directory}/${file}`, config);
  const child = new Deno.Command(program, {
    args: [...args(directory)],
    env: env?.(directory) ?? {},
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
