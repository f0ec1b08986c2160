import { suggestion } from "../../config/problems.ts";
import { readArguments } from "../arguments.ts";
import type { CommandSpec } from "../command.ts";
import {
  ADDRESS_OPTIONS,
  type GatewayAddress,
  NO_TOKEN,
  readGatewayAddress,
} from "../gateway_client.ts";
import { CLIENTS } from "../../http/wording/settings.js";
import type { Client } from "../../http/wording/settings_text.js";

const CLIENT_IDS: readonly string[] = CLIENTS.map(({ id }) => id);

/** `setup`. */
export const SETUP: CommandSpec = {
  name: "setup",
  operands: "CLIENT",
  words: CLIENT_IDS,
  summary: "print the settings of a client, or try whether it would work",
  options: [
    ...ADDRESS_OPTIONS,
    {
      name: "model",
      value: "ID",
      summary:
        "the model to begin with; else the first that the client can ask",
    },
    {
      name: "check",
      summary: "ask the gateway step by step instead, and say what is wrong",
    },
  ],
  details: [
    "Without a CLIENT, it lists them. The settings go to standard output, and where they\nbelong to standard error. They never hold the token.",
  ],
};

/** What the command line says of `setup`. */
export interface SetupOptions extends GatewayAddress {
  readonly client: Client;
  readonly model: string | undefined;
  readonly check: boolean;
}

/**
 * Reads the arguments of `setup`.
 *
 * @returns The options, `undefined` where no client is named, or what is wrong, without the token.
 */
export function readSetupOptions(
  args: readonly string[],
  env: (name: string) => string | undefined,
): SetupOptions | { readonly fault: string } | undefined {
  const read = readArguments(SETUP, args);
  if ("fault" in read) return read;
  const { values, flags, operands: [name, ...others] } = read;
  if (name === undefined) return undefined;
  if (others.length > 0) return { fault: "it takes one client" };
  const client = CLIENTS.find(({ id }) => id === name);
  if (client === undefined) return { fault: unknownClient(name) };
  const address = readGatewayAddress(values, env);
  if ("fault" in address) return address;
  const model = values.get("model");
  const check = flags.has("check");
  if (address.token === "" && (check || model === undefined)) {
    const reason = check ? "" : "; or name a model with --model";
    return { fault: `${NO_TOKEN}${reason}` };
  }
  return { ...address, client, model, check };
}

/** No more of it is repeated than looks like a name: it may be a secret. */
function unknownClient(name: string): string {
  const hint = suggestion(name, CLIENT_IDS) ||
    `; there are ${CLIENT_IDS.join(", ")}`;
  return /^[a-z-]{1,24}$/i.test(name)
    ? `there is no client ${name}${hint}`
    : `there is no such client${hint}`;
}
