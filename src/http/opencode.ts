import { GatewayError } from "../core/error.ts";
import { servedProtocols } from "../relay/routing/candidate.ts";
import type { KnownModel } from "./model_entry.ts";
import { knownModels, type ModelsContext } from "./models.ts";
import { opencodeConfig } from "./wording/settings_agents.js";
import { TOKEN_VARIABLE } from "./wording/settings_text.js";

/** Where opencode looks when somebody logs in to an address. */
export const OPENCODE_PATH = "/.well-known/opencode";

/** Where the configuration is that {@linkcode OPENCODE_PATH} refers to. */
export const OPENCODE_CONFIG_PATH = "/.well-known/opencode/config";

/**
 * Prints the token, which opencode then keeps: that of the environment, else what is typed. It runs without
 * an input of its own, so it asks the terminal.
 */
const TOKEN_COMMAND = [
  "sh",
  "-c",
  `if [ -z "$${TOKEN_VARIABLE}" ]; then printf 'Your token: ' >/dev/tty; stty -echo </dev/tty; read -r ${TOKEN_VARIABLE} </dev/tty; stty echo </dev/tty; echo >/dev/tty; fi; printf %s "\${${TOKEN_VARIABLE}:?}"`,
];

/**
 * The answer of `/.well-known/opencode`, which `opencode auth login URL` reads without a token: how to get one, and
 * where the configuration is to be read with it (https://opencode.ai/docs/config/#remote). Nothing in it is of any
 * caller; models are told to those alone who may use them.
 *
 * @throws {GatewayError} `invalid_request` when it cannot be told by which address the gateway is reached.
 */
export function opencodeLoginResponse(request: Request): Response {
  const body = {
    auth: { command: TOKEN_COMMAND, env: TOKEN_VARIABLE },
    remote_config: {
      url: publicBase(request) + OPENCODE_CONFIG_PATH,
      headers: { authorization: `Bearer {env:${TOKEN_VARIABLE}}` },
    },
  };
  return Response.json(body, { headers: { "cache-control": "no-store" } });
}

/**
 * The configuration of opencode for a caller: this gateway as a provider, with the caller's models.
 *
 * @throws {GatewayError} `invalid_request` when it cannot be told by which address the gateway is reached.
 * @throws {CallerLeft} When the caller does not wait for it.
 */
export async function opencodeConfigResponse(
  request: Request,
  context: ModelsContext,
): Promise<Response> {
  const base = publicBase(request);
  const models = (await knownModels(context)).map(settingsModel);
  const config = opencodeConfig({ base, model: models[0]?.id ?? "", models });
  return Response.json(config, { headers: { "cache-control": "no-store" } });
}

function settingsModel({ name, deployments, facts }: KnownModel) {
  return {
    id: name,
    protocols: [...servedProtocols(deployments)],
    display_name: facts.displayName,
    context_length: facts.contextWindow,
    max_output_tokens: facts.maxOutputTokens,
  };
}

/**
 * The address by which the client of a request reaches the gateway: opencode takes no other than a whole one. Who
 * asks is told no more than what it has written itself, or its proxy.
 */
function publicBase({ url, headers }: Request): string {
  const proto = firstOf(headers.get("x-forwarded-proto")) ??
    (url.startsWith("https:") ? "https" : "http");
  const host = firstOf(headers.get("x-forwarded-host")) ?? headers.get("host");
  const base = URL.parse(`${proto}://${host}`);
  const isAddress = base !== null && /^https?:$/.test(base.protocol) &&
    base.href === `${base.origin}/`;
  if (isAddress) return base.origin;
  throw new GatewayError(
    "invalid_request",
    "Host, x-forwarded-host and x-forwarded-proto name no address of this gateway",
  );
}

/** What the proxy that is nearest to the client has said. */
function firstOf(list: string | null): string | undefined {
  return list?.split(",")[0]?.trim().toLowerCase();
}
