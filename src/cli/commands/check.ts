import type { Config } from "../../config/config.ts";
import { describeConfig } from "../../config/describe.ts";
import { readArguments } from "../arguments.ts";
import type { CommandSpec } from "../command.ts";
import { loadConfigFile } from "./config_file.ts";
import { findConfigPath } from "./config_path.ts";
import { type CliIo, EXIT } from "../io.ts";
import type { Problem } from "../../config/problems.ts";
import { missingFileHint, problemLines } from "../problem_lines.ts";
import { probeConnections, type ProbeOptions } from "./probe.ts";
import { CONFIG_OPTION } from "./serve_options.ts";
import { tryTls } from "../tls_fault.ts";
import { badUsage } from "../usage_error.ts";

/** `check`. */
export const CHECK: CommandSpec = {
  name: "check",
  summary: "print what gateway.yaml resolves to, or all of its problems",
  options: [CONFIG_OPTION, {
    name: "live",
    summary: "ask each provider whether it is there and takes the key",
  }],
};

/**
 * `check [--config F] [--live]`: prints what the configuration resolves to, or everything that is wrong
 * with it; with `--live`, asks each upstream whether it is there and takes the key.
 *
 * @returns The exit code.
 */
export async function runCheck(
  args: readonly string[],
  io: CliIo & ProbeOptions,
): Promise<number> {
  const options = readOptions(args);
  if ("fault" in options) return badUsage(options.fault, CHECK, io);
  const path = findConfigPath({ option: options.config, env: io.env });
  const result = await loadConfigFile(path, { env: io.env });
  if ("problems" in result) {
    return refuse(result.problems, { path, io, hint: missingFileHint(result) });
  }
  const tlsProblem = tryTls(result.config.server.tls);
  if (tlsProblem !== undefined) return refuse([tlsProblem], { path, io });
  io.write(describeConfig(result.config));
  if (result.warnings.length > 0) {
    io.writeError(`warnings:\n${problemLines(result.warnings)}`);
  }
  io.write(`# ${path} is valid: ${extent(result.config)}\n`);
  return options.live ? await checkLive(result.config, io) : EXIT.good;
}

/** @returns The exit code. */
function refuse(
  problems: readonly Problem[],
  { path, io, hint = "" }: {
    readonly path: string;
    readonly io: CliIo;
    readonly hint?: string;
  },
): number {
  const noun = count(problems.length, "problem");
  io.writeError(`${path} has ${noun}:\n${problemLines(problems)}${hint}`);
  return EXIT.badUsage;
}

async function checkLive(
  config: Config,
  io: CliIo & ProbeOptions,
): Promise<number> {
  const probes = await probeConnections(config, io);
  for (const { connection, finding } of probes) {
    io.write(`${connection.name}: ${finding}\n`);
  }
  return probes.every(({ good }) => good) ? EXIT.good : EXIT.failed;
}

/** What the command line says of a check. */
interface CheckOptions {
  readonly config: string | undefined;
  readonly live: boolean;
}

function readOptions(
  args: readonly string[],
): CheckOptions | { readonly fault: string } {
  const read = readArguments(CHECK, args);
  if ("fault" in read) return read;
  return { config: read.values.get("config"), live: read.flags.has("live") };
}

/** How much there is of everything. */
function extent({ connections, pools, callers }: Config): string {
  const people = new Set(callers.values());
  // An alias is another name of a model.
  const models = [...pools].filter(([name, deployments]) =>
    deployments.some(({ model }) => model.id === name)
  );
  return [
    count(connections.length, "connection"),
    count(models.length, "model"),
    count(people.size, "token"),
  ].join(", ");
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
