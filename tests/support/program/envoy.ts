import { type RunningProxy, startProxy } from "./front_proxy.ts";
import { hasProgram } from "./has_program.ts";

/** The program: `ENVOY_PATH`, else `envoy` on the path. */
const PROGRAM = Deno.env.get("ENVOY_PATH") ?? "envoy";

/** Returns true when this machine has Envoy. */
export async function hasEnvoy(): Promise<boolean> {
  return await hasProgram(PROGRAM);
}

/**
 * Starts Envoy.
 *
 * @param config Its whole configuration, with one listener at `port`.
 */
export async function startEnvoy(
  config: string,
  port: number,
): Promise<RunningProxy> {
  return await startProxy({
    program: PROGRAM,
    args: (directory) => [
      ...["-c", `${directory}/envoy.yaml`, "--log-level", "error"],
      ...["--disable-hot-restart", "--concurrency", "1"],
    ],
    file: "envoy.yaml",
    config,
    port,
    endsBy: "SIGKILL",
  });
}
