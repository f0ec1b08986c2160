import { type RunningProxy, startProxy } from "./front_proxy.ts";
import { hasProgram } from "./has_program.ts";

/** Returns true when this machine has Caddy. */
export async function hasCaddy(): Promise<boolean> {
  return await hasProgram("caddy", ["version"]);
}

/**
 * Starts Caddy, with keep-alive connections that it closes after 3 ms.
 *
 * @param sites The sites of its Caddyfile, one of which listens at `port`.
 */
export async function startCaddy(
  sites: string,
  port: number,
): Promise<RunningProxy> {
  return await startProxy({
    program: "caddy",
    args: (directory) => [
      "run",
      "--config",
      `${directory}/Caddyfile`,
      "--adapter",
      "caddyfile",
    ],
    file: "Caddyfile",
    config: `{
  admin off
  auto_https off
  log {
    level ERROR
  }
  servers {
    timeouts {
      idle 3ms
    }
  }
}
${sites}
`,
    port,
    endsBy: "SIGKILL",
    // By default, it stores files in the user's home.
    env: (directory) => ({
      XDG_DATA_HOME: directory,
      XDG_CONFIG_HOME: directory,
    }),
  });
}
