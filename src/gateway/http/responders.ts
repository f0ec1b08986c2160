import { pageResponse } from "@gateway/page";
import type { Caller } from "../config/config.ts";
import { healthResponse } from "./health.ts";
import { managedSettingsResponse } from "./managed_settings.ts";
import { modelResponse, type ModelsContext, modelsResponse } from "./models.ts";
import { opencodeConfigResponse, opencodeLoginResponse } from "./opencode.ts";
import { limitsResponse, usageResponse } from "./reports.ts";
import { requestTarget } from "./request_target.ts";
import type { Needs } from "./served.ts";
import { websocketError } from "./wrong_method.ts";

/** A request for a response of the gateway's own. */
interface Asked extends
  Needs<
    "request" | "config" | "signIn",
    "admission" | "health" | "sharedStore" | "client" | "deadlines"
  > {
  /** The path's pattern in the route table. */
  readonly path: string;
}

/** A request of a known caller. */
interface AskedByCaller extends
  Needs<
    "request" | "config",
    "catalog" | "quotas" | "queue" | "usage" | "health" | "clock"
  > {
  readonly caller: Caller;
  /** The model id in the path, percent-decoded. */
  readonly id: string | undefined;
}

/** Responds to anyone, without a credential. Returns `undefined` when the configuration puts nothing at the path. */
export type OpenResponder = (
  asked: Asked,
) => Response | Promise<Response> | undefined;

/** Responds to a known caller. */
export type CallerResponder = (
  asked: AskedByCaller,
) => Response | Promise<Response>;

export function live(): Response {
  return healthResponse(true);
}

export function ready({ parts }: Asked): Response {
  const { admission, sharedStore, health } = parts;
  return healthResponse(
    !admission.draining,
    sharedStore?.(),
    health.hasShortage(),
  );
}

export function page({ path }: Asked): Response | Promise<Response> {
  return pageResponse(path);
}

export function probe(): Response {
  return new Response(null);
}

export function opencodeLogin({ request }: Asked): Response {
  return opencodeLoginResponse(request);
}

export function signIn(
  { path, request, config, parts, signIn }: Asked,
): ReturnType<OpenResponder> {
  return signIn.respond(path, request, { ...parts, config });
}

export function websocket({ request }: Asked): never {
  throw websocketError(request.headers);
}

export function models(asked: AskedByCaller): Promise<Response> {
  return modelsResponse(modelsOf(asked));
}

export function model(asked: AskedByCaller): Promise<Response> {
  return modelResponse(asked.id ?? "", modelsOf(asked));
}

export function opencodeConfig(asked: AskedByCaller): Promise<Response> {
  return opencodeConfigResponse(asked.request, modelsOf(asked));
}

export function managedSettings(asked: AskedByCaller): Promise<Response> {
  return managedSettingsResponse(modelsOf(asked));
}

export function limits({ parts, ...asked }: AskedByCaller): Promise<Response> {
  return limitsResponse(asked.request, { ...parts, ...asked });
}

export function usage({ parts, ...asked }: AskedByCaller): Promise<Response> {
  return usageResponse(asked.request, { ...parts, ...asked });
}

function modelsOf(
  { request, caller, config, parts: { catalog } }: AskedByCaller,
): ModelsContext {
  const { query } = requestTarget(request);
  const { headers, signal } = request;
  return { query, headers, caller, config, catalog, signal };
}
