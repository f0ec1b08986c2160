import { until } from "../within.ts";
import { canConnect } from "./can_connect.ts";
import { hasProgram } from "./has_program.ts";

/** The program: `ENVOY_PATH`, else `envoy` on the path. */
const PROGRAM = Deno.env.get("ENVOY_PATH") ?? "envoy";

/** Whether this machine has an Envoy. */
export async function hasEnvoy(): Promise<boolean> {
  return await hasProgram(PROGRAM);
}

/** An Envoy in front of something. */
export interface RunningEnvoy extends AsyncDisposable {
  readonly url: string;
}

/**
 * Starts an Envoy.
 *
 * @param config Its whole configuration, with one listener at `port`.
 */
export async function startEnvoy(
  config: string,
  port: number,
): Promise<RunningEnvoy> {
  const directory = await Deno.makeTempDir();
  await Deno.writeTextFile(`${directory}/envoy.yaml`, config);
  const child = new Deno.Command(PROGRAM, {
    args: [
      ...["-c", `${directory}/envoy.yaml`, "--log-level", "error"],
      ...["--disable-hot-restart", "--concurrency", "1"],
    ],
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
      child.kill("SIGKILL");
    } catch {
      // It has ended already.
    }
    await collecting;
    await child.status;
    await Deno.remove(directory, { recursive: true });
  }

  try {
    await until(() => canConnect(port), "Envoy to listen");
  } catch (cause) {
    await stop();
    throw new Error(`Envoy did not start:\n${written}`, { cause });
  }
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: stop };
}
