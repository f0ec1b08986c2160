import type { OptionSpec } from "./command.ts";

/** Where a gateway on this machine is, unless it is told otherwise. */
const DEFAULT_URL = "http://127.0.0.1:8787";

/** A gateway and a token for it. */
export interface GatewayAddress {
  /** What `/v1` comes after, such as `http://127.0.0.1:8787`. */
  readonly base: string;
  /** Empty where none is given. */
  readonly token: string;
}

/**
 * Reads the gateway and the token that a command shall use: an option wins over its environment variable.
 *
 * @param values Of the options `url` and `token`.
 * @param env Of the environment: `MODEL_GATEWAY_URL` and `MODEL_GATEWAY_TOKEN`.
 * @returns The address, or what is wrong with it, without the token.
 */
export function readGatewayAddress(
  values: ReadonlyMap<string, string>,
  env: (name: string) => string | undefined,
): GatewayAddress | { readonly fault: string } {
  const base = gatewayBase(
    values.get("url") ?? (env("MODEL_GATEWAY_URL") || DEFAULT_URL),
  );
  if (base === undefined) return { fault: BAD_URL };
  const token = values.get("token") ?? env("MODEL_GATEWAY_TOKEN") ?? "";
  return /^[\x21-\x7e]*$/.test(token) ? { base, token } : { fault: BAD_TOKEN };
}

const BAD_URL =
  "--url must be the address of a gateway, such as http://127.0.0.1:8787";

/** Nothing else can stand in a header. */
const BAD_TOKEN =
  "the token must be one word of plain letters, digits and signs";

/** Why a command that needs a token does nothing. */
export const NO_TOKEN =
  "there is no token: set MODEL_GATEWAY_TOKEN, or use --token";

/** Clients are set up with the address, with `/v1` or with `/api/v1`: each will do here, also the list of limits. */
function gatewayBase(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  if (url.username + url.password + url.search + url.hash !== "") {
    return undefined;
  }
  const path = url.pathname.replace(/\/+$/, "").replace(/\/limits$/, "");
  return url.origin + path.replace(/\/v1$/, "");
}

/** The options that say where a gateway is and who asks it. */
export const ADDRESS_OPTIONS: readonly OptionSpec[] = [
  {
    name: "url",
    value: "URL",
    summary: "the gateway; else MODEL_GATEWAY_URL, else http://127.0.0.1:8787",
  },
  {
    name: "token",
    value: "TOKEN",
    summary:
      "else MODEL_GATEWAY_TOKEN, which other users of the machine do not see",
  },
];
