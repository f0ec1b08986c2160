import { ALICE_TOKEN } from "../support/gateway/config.ts";
import type { RunningGateway } from "../support/gateway/gateway.ts";
import { installClient, type InstalledClient } from "./install.ts";
import { type ClientProgram, CLIENTS } from "./programs.ts";
import { type ClientRun, runClient, type RunOptions } from "./run_client.ts";
import { UNKNOWN_MODEL } from "./upstreams.ts";

/** A client, and the command that starts it. */
export interface CheckedClient {
  readonly program: ClientProgram;
  readonly command: readonly string[];
}

/** Registers a test of an installed client. The client's name precedes the test's. */
export type ClientTest = (
  name: string,
  fn: (command: readonly string[], t: Deno.TestContext) => Promise<void>,
) => void;

/** Returns the client with a name. */
export function clientNamed(name: string): ClientProgram {
  const program = CLIENTS.find((one) => one.name === name);
  if (program === undefined) throw new Error(`There is no ${name}`);
  return program;
}

/** Installs a client for its tests, as {@linkcode testsWith} does. */
export async function testsOf(program: ClientProgram): Promise<ClientTest> {
  return testsWith(program.name, await installClient(program));
}

/**
 * Returns a function that registers tests of a client. They are ignored with a warning if it could not be installed.
 */
export function testsWith(
  client: string,
  installed: InstalledClient,
): ClientTest {
  if ("reason" in installed) {
    console.warn(`${client} ignored: ${installed.reason}`);
  }
  return (name, fn) =>
    Deno.test({
      name: `${client} ${name}`,
      ignore: "reason" in installed,
      fn: (t) => fn("command" in installed ? installed.command : [], t),
    });
}

/** The parameters of a run behind a gateway. */
export interface RunBehindOptions extends Omit<RunOptions, "address"> {
  readonly command: readonly string[];
  /** The client's model; default: a name that no client knows. */
  readonly model?: string;
  /** The client's token; default: a valid one. */
  readonly token?: string;
  /** A command that prints the token instead. */
  readonly tokenCommand?: string;
}

/** A client's run, with all output of the client and the gateway for the message of a failed check. */
export interface RunBehind extends ClientRun {
  readonly output: string;
}

/** Runs a client behind a gateway. */
export async function runBehind(
  gateway: RunningGateway,
  { command, model = UNKNOWN_MODEL, token = ALICE_TOKEN, ...options }:
    RunBehindOptions,
): Promise<RunBehind> {
  const { tokenCommand } = options;
  const address = { url: gateway.url, token, model, tokenCommand };
  const run = await runClient(command, { ...options, address });
  return { ...run, output: reportOf(run, gateway) };
}

/** Returns all that a client and its gateway printed. */
export function reportOf(
  { stdout, stderr }: ClientRun,
  { lines }: RunningGateway,
): string {
  return `${stdout}\n${stderr}\n${lines.text()}`;
}
