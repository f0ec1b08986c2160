import type { Config } from "../config/config.ts";
import { describeConfig } from "../config/describe.ts";
import { formatProblem, type Problem } from "../config/problems.ts";
import { parseArgs } from "../core/std.ts";
import { loadConfigFile } from "./config_file.ts";
import { findConfigPath } from "./config_path.ts";
import { type CliIo, EXIT } from "./io.ts";
import { probeConnections, type ProbeOptions } from "./probe.ts";

const USAGE = "usage: model-gateway check [--config FILE] [--live]\n";

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
  if (options === undefined) {
    io.writeError(USAGE);
    return EXIT.badUsage;
  }
  const path = findConfigPath({ option: options.config, env: io.env });
  const result = await loadConfigFile(path, { env: io.env });
  if ("problems" in result) {
    const count = result.problems.length;
    const noun = count === 1 ? "1 problem" : `${count} problems`;
    io.writeError(`${path} has ${noun}:\n${lines(result.problems)}`);
    return EXIT.badUsage;
  }
  io.write(describeConfig(result.config));
  if (result.warnings.length > 0) {
    io.writeError(`warnings:\n${lines(result.warnings)}`);
  }
  return options.live ? await checkLive(result.config, io) : EXIT.good;
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

function readOptions(
  args: readonly string[],
): { readonly config: string | undefined; readonly live: boolean } | undefined {
  let understood = true;
  const { config, live } = parseArgs(args, {
    string: ["config"],
    boolean: ["live"],
    unknown: () => {
      understood = false;
      return false;
    },
  });
  if (!understood || config === "") return undefined;
  return {
    config: typeof config === "string" ? config : undefined,
    live: live === true,
  };
}

function lines(problems: readonly Problem[]): string {
  return problems.map((problem) => `  ${formatProblem(problem)}\n`).join("");
}
