import type { ServerConfig } from "../../gateway/config/config.ts";
import { exposureFault } from "../../gateway/config/resolve/server.ts";
import type { LoadResult } from "../../gateway/config/load.ts";
import type { Problem } from "../../gateway/config/problems.ts";
import type { LogFormat } from "../../gateway/observe/log.ts";
import { type Arguments, BadArguments } from "../arguments.ts";
import type { OptionSpec } from "../command.ts";

/** The options for serving; an option that was not given is absent. */
interface ServeOptions {
  readonly config?: string;
  readonly host?: string;
  readonly port?: number;
  readonly log: LogFormat;
}

/** The option for the path of the configuration. */
export const CONFIG_OPTION: OptionSpec = {
  name: "config",
  value: "FILE",
  summary: "the file; default MODEL_GATEWAY_CONFIG, then ./gateway.yaml",
};

/** The options of every command that listens. */
export const LISTENER_OPTIONS: readonly OptionSpec[] = [
  {
    name: "host",
    value: "HOST",
    summary: "listen on this address instead of the configured one",
  },
  {
    name: "port",
    value: "PORT",
    summary: "listen on this port instead; 0 picks a free one",
  },
  {
    name: "log",
    choices: ["json", "text"],
    summary: "one JSON object per line (the default), or lines for people",
  },
];

/**
 * Reads the options of a command that listens.
 *
 * @throws {BadArguments}
 */
export function readServeOptions(
  { values }: Pick<Arguments, "values">,
): ServeOptions {
  const port = values.get("port");
  const portNumber = port === undefined ? undefined : readPort(port);
  if (portNumber === null) {
    throw new BadArguments("--port must be a number from 0 to 65535");
  }
  const config = values.get("config");
  const host = values.get("host");
  return {
    log: values.get("log") === "text" ? "text" : "json",
    ...(config === undefined ? {} : { config }),
    ...(host === undefined ? {} : { host }),
    ...(portNumber === undefined ? {} : { port: portNumber }),
  };
}

/** Returns the settings of the listener, overridden by the command line. */
export function withOptions(
  server: ServerConfig,
  { host, port }: ServeOptions,
): ServerConfig {
  return { ...server, host: host ?? server.host, port: port ?? server.port };
}

/** Returns the warnings of the file; a warning about the host follows `--host` when it is given. */
export function startWarnings(
  { config, warnings }: Extract<LoadResult, { config: unknown }>,
  options: ServeOptions,
): readonly Problem[] {
  const { host } = options;
  if (host === undefined) return warnings;
  const fault = exposureFault(withOptions(config.server, options));
  return [
    ...warnings.filter(({ path }) => path !== "server.host"),
    ...(fault === undefined ? [] : [{ path: "--host", message: fault }]),
  ];
}

function readPort(value: string): number | null {
  if (!/^\d{1,5}$/.test(value)) return null;
  const port = Number(value);
  return port <= 65535 ? port : null;
}
