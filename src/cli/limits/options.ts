import {
  ADDRESS_OPTIONS,
  NO_TOKEN,
  readGatewayAddress,
} from "../gateway_address.ts";
import { readArguments } from "../arguments.ts";
import type { CommandSpec } from "../command.ts";

/** What the command line and the environment say of `limits`. */
export interface LimitsOptions {
  /** Where the list is read, such as `http://127.0.0.1:8787/v1/limits`. */
  readonly url: string;
  /** Where the token's own use is read. */
  readonly usageUrl: string;
  readonly token: string;
  readonly json: boolean;
  readonly watch: boolean;
}

/** `limits`. */
export const LIMITS: CommandSpec = {
  name: "limits",
  summary: "draw what is left of a token's quotas, from a running gateway",
  options: [
    ...ADDRESS_OPTIONS,
    { name: "json", summary: "print the list as one line" },
    {
      name: "watch",
      summary: "draw it again whenever the gateway has news, until interrupted",
    },
  ],
};

/**
 * Reads the options of `limits`: an option wins over its environment variable.
 *
 * @param env Of the environment: `MODEL_GATEWAY_URL` and `MODEL_GATEWAY_TOKEN`.
 * @returns The options, or what is wrong with them, without the token.
 */
export function readLimitsOptions(
  args: readonly string[],
  env: (name: string) => string | undefined,
): LimitsOptions | { readonly fault: string } {
  const read = readArguments(LIMITS, args);
  if ("fault" in read) return read;
  const { values, flags } = read;
  const address = readGatewayAddress(values, env);
  if ("fault" in address) return address;
  if (address.token === "") return { fault: NO_TOKEN };
  return {
    url: `${address.base}/v1/limits`,
    usageUrl: `${address.base}/v1/usage`,
    token: address.token,
    json: flags.has("json"),
    watch: flags.has("watch"),
  };
}
