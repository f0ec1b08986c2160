import type { ServerConfig } from "../config/config.ts";
import { parseArgs } from "../core/std.ts";
import type { LogFormat } from "../observe/log.ts";

/** What the command line says of serving; absent where it says nothing. */
export interface ServeOptions {
  readonly config?: string;
  readonly host?: string;
  readonly port?: number;
  readonly log: LogFormat;
}

/**
 * Reads the options of `serve` and `demo`.
 *
 * @returns The options, or what is wrong with them.
 */
export function readServeOptions(
  args: readonly string[],
): ServeOptions | { readonly fault: string } {
  const faults: string[] = [];
  const parsed = parseArgs(args, {
    string: ["config", "host", "port", "log"],
    unknown(argument) {
      faults.push(`unknown argument ${argument}`);
      return false;
    },
  });
  const { config, host, port, log = "json" } = parsed;
  // What stands behind `--` is not asked about.
  faults.push(...parsed._.map((argument) => `unknown argument ${argument}`));
  const portNumber = port === undefined ? undefined : readPort(port);
  if (portNumber === null) faults.push("--port must be a number to 65535");
  if (log !== "json" && log !== "text") {
    faults.push("--log must be json or text");
  }
  if (config === "") faults.push("--config needs a file");
  if (host === "") faults.push("--host needs an address");
  const [fault] = faults;
  if (fault !== undefined) return { fault };
  return {
    log: log === "text" ? "text" : "json",
    ...(typeof config === "string" ? { config } : {}),
    ...(typeof host === "string" ? { host } : {}),
    ...(typeof portNumber === "number" ? { port: portNumber } : {}),
  };
}

/** The listener's settings, with what the command line overrides. */
export function withOptions(
  server: ServerConfig,
  { host, port }: ServeOptions,
): ServerConfig {
  return { ...server, host: host ?? server.host, port: port ?? server.port };
}

function readPort(value: unknown): number | null {
  if (typeof value !== "string" || !/^\d{1,5}$/.test(value)) return null;
  const port = Number(value);
  return port <= 65535 ? port : null;
}
