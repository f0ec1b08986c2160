import type { IncomingRequest } from "@gateway/http1";
import { GatewayError } from "@gateway/base/error";
import { publicAddress } from "@gateway/base/public_address";
import {
  nativeProtocols,
  servedProtocols,
} from "../relay/routing/candidate.ts";
import { architectureOf, type KnownModel } from "./model_entry.ts";
import { knownModels, type ModelsContext } from "./models.ts";
import {
  type Model,
  opencodeConfig,
  TOKEN_VARIABLE,
} from "@gateway/page/settings";

/** The path that `opencode auth login URL` reads below the URL. */
export const OPENCODE_PATH = "/.well-known/opencode";

/** The path of the configuration. The response at {@linkcode OPENCODE_PATH} names this path. */
export const OPENCODE_CONFIG_PATH = "/.well-known/opencode/config";

/**
 * The command that prints a token for opencode to store: the token of the environment, or a token that the user types.
 * The command has no standard input, so it reads from the terminal.
 */
const TOKEN_COMMAND = [
  "sh",
  "-c",
  `if [ -z "$${TOKEN_VARIABLE}" ]; then printf 'Your token: ' >/dev/tty; stty -echo </dev/tty; read -r ${TOKEN_VARIABLE} </dev/tty; stty echo </dev/tty; echo >/dev/tty; fi; printf %s "\${${TOKEN_VARIABLE}:?}"`,
];

/**
 * Returns the response of `/.well-known/opencode`, which `opencode auth login URL` reads without a token. The response
 * has a command that gets a token, and the address of the configuration (https://opencode.ai/docs/config/#remote). The
 * response holds no data of any caller: models are listed only for callers who may use them.
 *
 * @throws {GatewayError} `invalid_request` when the gateway's public address is unknown.
 */
export function opencodeLoginResponse(request: IncomingRequest): Response {
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
 * Returns the configuration of opencode for a caller: this gateway as a provider, with the caller's models.
 *
 * @throws {GatewayError} `invalid_request` when the gateway's public address is unknown.
 * @throws {CallerLeft} When the caller disconnects.
 */
export async function opencodeConfigResponse(
  request: IncomingRequest,
  context: ModelsContext,
): Promise<Response> {
  const base = publicBase(request);
  const models = (await knownModels(context)).map(settingsModel);
  const config = opencodeConfig({ base, model: models[0]?.id ?? "", models });
  return Response.json(config, { headers: { "cache-control": "no-store" } });
}

/** Returns the fields of a model that clients' settings use. */
export function settingsModel(
  { name, deployments, facts }: KnownModel,
): Model {
  const [{ connection }] = deployments;
  return {
    id: name,
    owned_by: connection.service,
    protocols: [...servedProtocols(deployments)],
    native_protocols: nativeProtocols(deployments),
    display_name: facts.displayName,
    context_length: facts.contextWindow,
    max_output_tokens: facts.maxOutputTokens,
    architecture: architectureOf(facts),
  };
}

/** Returns the gateway's public address, because opencode needs complete addresses. */
function publicBase(request: IncomingRequest): string {
  const address = publicAddress(request);
  if (address !== undefined) return address;
  throw new GatewayError(
    "invalid_request",
    "Cannot find the gateway's public address: Host, x-forwarded-host and x-forwarded-proto are invalid. Correct these headers.",
  );
}
