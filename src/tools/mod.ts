import { suggestion } from "@gateway/base/problems";
import { openNetwork } from "@gateway/gateway/network";
import { VERSION } from "@gateway/base/version";
import type { Run } from "./arguments.ts";
import {
  type CliIo,
  type Command,
  commandHelp,
  EXIT,
  isHelp,
  synopsis,
} from "./command.ts";
import { endSentence } from "@gateway/base/text";
import { CHECK, runCheck } from "./commands/check.ts";
import { DEMO, runDemo } from "./commands/demo.ts";
import { DEV, runDev } from "./commands/dev.ts";
import { HEALTH, runHealth } from "./commands/health.ts";
import { INIT, runInit } from "./commands/init.ts";
import { runSchema, SCHEMA } from "./commands/schema.ts";
import { runServe, SERVE } from "./commands/serve.ts";
import { runToken, TOKEN } from "./commands/token.ts";
import type { RequestTools } from "./gateway_client.ts";
import { LOGIN } from "./login/command.ts";
import { login } from "./login/here.ts";
import { LIMITS, runLimits } from "./limits/command.ts";
import { runSetup } from "./setup/command.ts";
import { SETUP } from "./setup/options.ts";
import { RECONCILE, runReconcile } from "./reconcile/command.ts";
import { runUsage, USAGE } from "./usage/command.ts";
import { identifyLog, openLog } from "@gateway/gateway/process";

/** This machine's clock, terminal and log files, for the commands that need them. */
const MACHINE = {
  deadline: AbortSignal.timeout,
  identify: identifyLog,
  open: openLog,
  isTyped: () => Deno.stdin.isTerminal(),
  now: Date.now,
  wait: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
  columns: terminalColumns,
};

/** Returns a command that runs with this machine's network, clock and terminal. */
function onMachine(
  run: Run<CliIo & RequestTools & typeof MACHINE>,
): Command["run"] {
  return (args, io) =>
    run(args, { ...io, ...MACHINE, fetch: openNetwork(io.env).fetch });
}

/** Every command of the program. */
export const COMMANDS: readonly Command[] = [
  { spec: SERVE, run: runServe },
  { spec: DEMO, run: runDemo },
  { spec: DEV, run: runDev },
  { spec: CHECK, run: onMachine(runCheck) },
  { spec: HEALTH, run: onMachine(runHealth) },
  { spec: TOKEN, run: runToken },
  { spec: INIT, run: runInit },
  { spec: SCHEMA, run: runSchema },
  { spec: SETUP, run: onMachine(runSetup) },
  { spec: LOGIN, run: login },
  { spec: LIMITS, run: onMachine(runLimits) },
  { spec: USAGE, run: onMachine(runUsage) },
  { spec: RECONCILE, run: onMachine(runReconcile) },
];

/**
 * Runs the command that the arguments name (docs/design.md#command-line).
 *
 * @param args The arguments without the program's name.
 * @returns The exit code: 0 for success, 1 for a failure at run time, 2 for bad usage or a bad configuration.
 */
export async function runCli(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const [first, ...rest] = args;
  const command = COMMANDS.find(({ spec }) => spec.name === first);
  if (first === "help") return printHelp(rest[0], io);
  if (args.some(isHelp)) return printHelp(command?.spec.name, io);
  if (first === "--version" || first === "-V") {
    io.write(await versionText());
    return EXIT.good;
  }
  if (first === undefined || first.startsWith("-")) {
    return await runServe(args, io);
  }
  if (command === undefined) return refuseUnknown(first, io);
  return await command.run(rest, io);
}

/** Prints the help of one command, or of the program when `name` is undefined. */
function printHelp(name: string | undefined, io: CliIo): number {
  if (name === undefined) {
    io.write(programHelp());
    return EXIT.good;
  }
  const command = COMMANDS.find(({ spec }) => spec.name === name);
  if (command === undefined) return refuseUnknown(name, io);
  io.write(commandHelp(command.spec));
  return EXIT.good;
}

function refuseUnknown(name: string, io: CliIo): number {
  const hint = suggestion(name, COMMANDS.map(({ spec }) => spec.name));
  const reason = endSentence(`there is no command ${name}${hint}`);
  io.writeError(`Cannot start: ${reason}\n${programHelp()}`);
  return EXIT.badUsage;
}

function programHelp(): string {
  const commands = COMMANDS
    .map(({ spec }) => `  ${synopsis(spec)}\n      ${spec.summary}\n`)
    .join("");
  return `usage:\n${commands}
  model-gateway COMMAND --help | --help | --version

The configuration file is --config, else MODEL_GATEWAY_CONFIG, else ./gateway.yaml.
`;
}

/** The assumed width of a terminal that does not report its width. */
const USUAL_COLUMNS = 80;

/** Returns the width of the terminal in characters; `undefined` when standard output is not a terminal. */
function terminalColumns(): number | undefined {
  if (!Deno.stdout.isTerminal()) return undefined;
  return Deno.consoleSize().columns || USUAL_COLUMNS;
}

/** The file with the facts of a build. `deno task compile` writes this file and embeds it in the executable. */
const BUILD_URL = new URL("../../dist/build.json", import.meta.url);

/** Returns the output of `--version`: one line each for the version, the commit, Deno and V8. */
async function versionText(): Promise<string> {
  return [
    `model-gateway ${VERSION}`,
    `commit ${await commit()}`,
    `deno ${Deno.version.deno}`,
    `v8 ${Deno.version.v8}`,
    "",
  ].join("\n");
}

/**
 * Returns the commit of an executable. A program run from its sources has no commit, because the sources may have
 * changed.
 */
async function commit(): Promise<string> {
  if (!Deno.build.standalone) return "unknown: run from the source";
  const text = await Deno.readTextFile(BUILD_URL).catch(() => "null");
  return readCommit(text) ?? "unknown: compiled without the source's history";
}

/** Returns the commit in the text of `dist/build.json`, if any. */
export function readCommit(text: string): string | undefined {
  const build: unknown = JSON.parse(text);
  return typeof build === "object" && build !== null && "commit" in build &&
      typeof build.commit === "string"
    ? build.commit
    : undefined;
}
