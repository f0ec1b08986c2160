import type { Config, Connection } from "../../config/config.ts";
import { describeConfig } from "../../config/describe.ts";
import type { Problem } from "../../config/problems.ts";
import { PROTOCOLS } from "../../core/protocol.ts";
import { CODECS } from "../../protocols/mod.ts";
import { discard } from "../../streams/byte_reader.ts";
import { secretsOf } from "../../upstream/secrets.ts";
import { readArguments } from "../arguments.ts";
import { badUsage, type CliIo, type CommandSpec, EXIT } from "../command.ts";
import {
  type AskTools,
  connectionFault,
  innermostMessage,
} from "../gateway_client.ts";
import { tryTls } from "../server/listen.ts";
import {
  findConfigPath,
  loadConfigFile,
  missingFileHint,
  problemLines,
} from "./config_file.ts";
import { CONFIG_OPTION } from "./serve_options.ts";

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
  io: CliIo & AskTools,
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
  io: CliIo & AskTools,
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

/** What an upstream answered to one cheap authenticated request. */
interface Probe {
  readonly connection: Connection;
  readonly good: boolean;
  /** One line for people, without any secret. */
  readonly finding: string;
}

const DEADLINE_MS = 10_000;

/** Asks every enabled connection for its models, all at once; the results are in the file's order. */
async function probeConnections(
  config: Config,
  options: AskTools,
): Promise<readonly Probe[]> {
  return await Promise.all(
    config.connections.filter(({ enabled }) => enabled)
      .map((connection) => probe(connection, { ...options, config })),
  );
}

async function probe(
  connection: Connection,
  { fetch, deadline, config }: AskTools & { readonly config: Config },
): Promise<Probe> {
  const endpoint = PROTOCOLS.find((name) =>
    connection.endpoints[name] !== undefined
  );
  const base = endpoint && connection.endpoints[endpoint];
  if (base === undefined) {
    return { connection, good: false, finding: "has no endpoint to ask" };
  }
  try {
    const answer = await fetch(`${base}/models`, {
      headers: probeHeaders(connection, config.messagesVendor),
      redirect: "manual",
      signal: deadline(DEADLINE_MS),
    });
    discard(answer);
    return { connection, ...judge(answer.status) };
  } catch (error) {
    const reason = reasonOf(error);
    const isSafe = !secretsOf(connection).areIn(reason);
    const finding = `unreachable: ${isSafe ? reason : "unknown error"}`;
    return { connection, good: false, finding };
  }
}

function probeHeaders(connection: Connection, vendor: string): Headers {
  const { auth } = connection;
  const headers = new Headers({ accept: "application/json" });
  for (const protocol of PROTOCOLS) {
    if (connection.endpoints[protocol] === undefined) continue;
    const own = CODECS[protocol].requestHeaders(vendor);
    for (const [name, value] of own) headers.set(name, value);
  }
  if (auth.scheme === "bearer") {
    headers.set("authorization", `Bearer ${auth.key}`);
  } else if (auth.scheme === "x-api-key") {
    headers.set("x-api-key", auth.key);
  }
  for (const [name, value] of Object.entries(connection.headers)) {
    headers.set(name, value);
  }
  return headers;
}

/** Not every service lists its models: any answer but these shows that it is there and knows the key. */
function judge(status: number): Pick<Probe, "good" | "finding"> {
  const code = `HTTP ${status}`;
  if (status === 401 || status === 403) {
    return { good: false, finding: `key refused (${code})` };
  }
  if (status >= 300 && status < 400) {
    return { good: false, finding: `redirects elsewhere (${code})` };
  }
  if (status >= 500) return { good: false, finding: `failing (${code})` };
  return { good: true, finding: `reachable (${code})` };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown error";
  if (error.name === "TimeoutError") return `no answer in ${DEADLINE_MS} ms`;
  return connectionFault(error) ??
    innermostMessage(error).replace(/^error sending request .*?\): /, "");
}
