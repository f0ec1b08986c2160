import type { ServeEnding, ServeOptions } from "@gateway/gateway/process";
import { type Arguments, BadArguments } from "../arguments.ts";
import { EXIT, type OptionSpec } from "../command.ts";

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
): ServeOptions & { readonly config?: string } {
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

/** Returns the exit code of a command that has served, by the reason for its end. */
export function exitCode(ending: ServeEnding): number {
  switch (ending) {
    case "stopped":
      return EXIT.good;
    case "invalid_config":
      return EXIT.badUsage;
    case "cannot_listen":
      return EXIT.failed;
  }
}

function readPort(value: string): number | null {
  if (!/^\d{1,5}$/.test(value)) return null;
  const port = Number(value);
  return port <= 65535 ? port : null;
}
