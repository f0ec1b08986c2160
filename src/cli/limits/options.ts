import { readArguments } from "../arguments.ts";
import type { CommandSpec } from "../command.ts";

/** What the command line and the environment say of `limits`. */
export interface LimitsOptions {
  /** Where the list is read, such as `http://127.0.0.1:8787/v1/limits`. */
  readonly url: string;
  readonly token: string;
  readonly json: boolean;
  readonly watch: boolean;
}

/** `limits`. */
export const LIMITS: CommandSpec = {
  name: "limits",
  summary: "draw what is left of a token's quotas, from a running gateway",
  options: [
    {
      name: "url",
      value: "URL",
      summary:
        "the gateway; else MODEL_GATEWAY_URL, else http://127.0.0.1:8787",
    },
    {
      name: "token",
      value: "TOKEN",
      summary:
        "else MODEL_GATEWAY_TOKEN, which other users of the machine do not see",
    },
    { name: "json", summary: "print the list as one line" },
    {
      name: "watch",
      summary: "draw it again whenever the gateway has news, until interrupted",
    },
  ],
};

const DEFAULT_URL = "http://127.0.0.1:8787";

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
  const url = limitsUrl(
    values.get("url") ?? (env("MODEL_GATEWAY_URL") || DEFAULT_URL),
  );
  if (url === undefined) return { fault: BAD_URL };
  const token = values.get("token") ?? env("MODEL_GATEWAY_TOKEN") ?? "";
  if (token === "") return { fault: NO_TOKEN };
  if (!TOKEN_REGEXP.test(token)) return { fault: BAD_TOKEN };
  return {
    url,
    token,
    json: flags.has("json"),
    watch: flags.has("watch"),
  };
}

const BAD_URL =
  "--url must be the address of a gateway, such as http://127.0.0.1:8787";
const NO_TOKEN = "there is no token: set MODEL_GATEWAY_TOKEN, or use --token";
const BAD_TOKEN =
  "the token must be one word of plain letters, digits and signs";

/** Nothing else can stand in a header. */
const TOKEN_REGEXP = /^[\x21-\x7e]+$/;

/** Clients are set up with the address, with `/v1` or with `/api/v1`: each will do here. */
function limitsUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  if (url.username + url.password + url.search + url.hash !== "") {
    return undefined;
  }
  const path = url.pathname.replace(/\/+$/, "").replace(/\/limits$/, "");
  return `${url.origin}${path.endsWith("/v1") ? path : `${path}/v1`}/limits`;
}
