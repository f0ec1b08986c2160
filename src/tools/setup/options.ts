import { suggestion } from "@gateway/base/problems";
import { type Arguments, BadArguments } from "../arguments.ts";
import type { CommandSpec } from "../command.ts";
import {
  ADDRESS_OPTIONS,
  type GatewayAddress,
  NO_TOKEN,
  readGatewayAddress,
} from "../gateway_client.ts";
import { type Client, CLIENTS, TOKEN_VARIABLE } from "@gateway/page/wording";

/** Other names that people type for a client. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  "claude-code": "claude",
  "codex-cli": "codex",
  "qwen-code": "qwen",
};

const CLIENT_IDS: readonly string[] = CLIENTS.map(({ id }) => id);

/** The arguments and the help of `setup`. */
export const SETUP: CommandSpec = {
  name: "setup",
  operands: "CLIENT",
  words: CLIENT_IDS,
  summary: "print the settings of a client, or test its requests",
  options: [
    ...ADDRESS_OPTIONS,
    {
      name: "model",
      value: "ID",
      summary: "the client's first model; default the first that it can use",
    },
    {
      name: "token-command",
      value: "CMD",
      summary: "a command that prints the token, for the client to run",
    },
    {
      name: "header",
      value: "NAME",
      summary: "also show how the client sends a header, such as x-project",
    },
    {
      name: "check",
      summary: "test the gateway step by step instead, up to the first failure",
    },
  ],
  details: [
    "Without CLIENT, the command lists the clients. It prints the settings to standard\noutput, and the name of their file to standard error. They never contain the token.",
  ],
};

/** The options of `setup`. */
export interface SetupOptions extends GatewayAddress {
  readonly client: Client;
  readonly model: string | undefined;
  readonly check: boolean;
  /** A shell command that prints the token. */
  readonly tokenCommand: string | undefined;
  /** A header of `server.attribution`. */
  readonly header: string | undefined;
}

/**
 * Reads the arguments of `setup`.
 *
 * @returns `undefined` when no client is named.
 * @throws {BadArguments} For arguments that cannot be used, and without a token that is needed.
 */
export function readSetupOptions(
  { values, flags, operands: [name, ...others] }: Arguments,
  env: (name: string) => string | undefined,
): SetupOptions | undefined {
  if (name === undefined) return undefined;
  if (others.length > 0) throw new BadArguments("it takes one client");
  const client = CLIENTS.find(({ id }) => id === (OTHER_NAMES[name] ?? name));
  if (client === undefined) throw new BadArguments(unknownClient(name));
  const address = readGatewayAddress(values, env);
  const model = values.get("model");
  const check = flags.has("check");
  const tokenCommand = values.get("token-command");
  const fault = tokenCommand && tokenCommandFault(tokenCommand, client, check);
  if (fault) throw new BadArguments(fault);
  const header = values.get("header")?.toLowerCase();
  if (header !== undefined && !/^x-[a-z0-9-]+$/.test(header)) {
    throw new BadArguments("--header must begin with x-, such as x-project");
  }
  if (address.token === "" && (check || model === undefined)) {
    const alternative = check ? "" : ", or name a model with --model";
    throw new BadArguments(`${noToken(tokenCommand)}${alternative}`);
  }
  return { ...address, client, model, check, tokenCommand, header };
}

/**
 * Returns the message for a missing token. `setup` runs no other program, so only the shell can run the token command.
 */
function noToken(tokenCommand: string | undefined): string {
  return tokenCommand === undefined
    ? NO_TOKEN
    : `there is no token to list the models with. Begin the line with ${TOKEN_VARIABLE}="$(${tokenCommand})"`;
}

/** Returns the reason why `--token-command` cannot be used; `undefined` when it can be used. */
function tokenCommandFault(
  command: string,
  { name, readsEnvironment }: Client,
  check: boolean,
): string | undefined {
  if (/\p{Cc}/u.test(command)) {
    return "--token-command must be one line without control characters";
  }
  if (check) {
    return `--check takes no --token-command. Begin the line with ${TOKEN_VARIABLE}="$(${command})" instead`;
  }
  return readsEnvironment
    ? undefined
    : `${name} stores its token, so it has no use for --token-command`;
}

/** Returns the message for an unknown client. Quotes only a text that looks like a name: other texts may be secrets. */
function unknownClient(name: string): string {
  const several = CLIENT_IDS.filter((id) => id.startsWith(`${name}-`));
  if (several.length > 0) {
    return `there is no client ${name}. Name one of ${several.join(" and ")}`;
  }
  const hint = suggestion(name, CLIENT_IDS) ||
    `. The clients are ${CLIENT_IDS.join(", ")}`;
  return /^[a-z-]{1,24}$/i.test(name)
    ? `there is no client ${name}${hint}`
    : `there is no such client${hint}`;
}
