import type { Caller, Config } from "../config/config.ts";
import type { ConfigStore } from "../config/store.ts";
import type { GatewayError } from "../core/error.ts";
import type { Protocol } from "../core/protocol.ts";
import type { LimitsService } from "../limits/service.ts";
import type { Log } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import { openRecord, type RequestRecord } from "../observe/record.ts";
import {
  type Failure,
  shownFailure,
  UpstreamFailure,
} from "../protocols/canonical/failure.ts";
import { CODECS } from "../protocols/mod.ts";
import { authenticate, type CredentialGroup } from "../relay/caller.ts";
import { followCaller } from "../relay/exchange.ts";
import { relay } from "../relay/relay.ts";
import type { RelayTools } from "../relay/tools.ts";
import { CallerLeft } from "../upstream/call.ts";
import { errorResponse, toGatewayError } from "./error_response.ts";
import { healthResponse } from "./health.ts";
import { limitsResponse } from "./limits.ts";
import { modelResponse, modelsResponse } from "./models.ts";
import { pageResponse } from "./page.ts";
import { requestTarget } from "./request_target.ts";
import { createRouteFinder, type RouteMatch } from "./router.ts";
import { type Answer, type Route, ROUTES } from "./routes.ts";
import { unforeseenFields } from "./unforeseen.ts";
import { websocketError } from "./websocket.ts";

/** What the gateway is built of. */
export interface GatewayParts extends RelayTools {
  readonly store: ConfigStore;
  readonly limits: LimitsService;
  readonly log: Log;
  /** Absent where nobody asked for metrics. */
  readonly metrics?: Metrics | undefined;
}

/** The whole gateway as a web-standard handler. */
export type Handler = (request: Request) => Promise<Response>;

/**
 * Builds the handler. It never rejects: whatever goes wrong becomes an error in the caller's protocol, and
 * every response carries `x-request-id`.
 */
export function createHandler(parts: GatewayParts): Handler {
  const finder = createRouteFinder(ROUTES);
  return async (request) => {
    const record = openRecord(parts.ids.next("req"), request.method, parts);
    let protocol: Protocol | undefined;
    try {
      const config = parts.store.current();
      const match = await finder.find(request, config.messagesVendor);
      protocol = match.route.protocol;
      record.facts.route = match.path;
      record.facts.protocol = protocol;
      const response = await serve(match, { request, record, config, parts });
      return stamp(response, protocol, record);
    } catch (thrown) {
      protocol ??= protocolOfUnknownPath(request.url);
      const { log } = parts;
      const response = failureResponse(thrown, { protocol, record, log });
      return stamp(response, protocol, record);
    }
  };
}

/** A request with what is needed to answer it. */
interface Served {
  readonly request: Request;
  readonly record: RequestRecord;
  /** The same for the whole request, whatever is reloaded meanwhile. */
  readonly config: Config;
  readonly parts: GatewayParts;
}

async function serve(match: RouteMatch, served: Served): Promise<Response> {
  const { request, record, config, parts } = served;
  const { action } = match.route;
  if ("answer" in action) {
    const response = await answer(action.answer, match, served);
    record.facts.status = response.status;
    if (!UNLOGGED.has(action.answer)) record.finish("complete");
    return response;
  }
  const caller = identify(match.route, served);
  return await relay(
    {
      request,
      record,
      caller,
      config,
      line: followCaller(request, record),
    },
    { operation: action.relay, maxBodyBytes: match.route.maxBodyBytes },
    parts,
  );
}

/** Probes come every few seconds and tell nothing; agents and balancers probe the page, too. */
const UNLOGGED: ReadonlySet<Answer> = new Set([
  "live",
  "ready",
  "page",
  "probe",
]);

function answer(
  name: Answer,
  match: RouteMatch,
  served: Served,
): Response | Promise<Response> {
  const { request, config, parts } = served;
  switch (name) {
    case "live":
      return healthResponse(true);
    case "ready":
      return healthResponse(!parts.admission.draining);
    case "page":
      return pageResponse();
    case "probe":
      return new Response(null);
    case "websocket":
      throw websocketError(request.headers);
    case "models":
      return modelsResponse(identify(match.route, served), config);
    case "model":
      return modelResponse(
        match.id ?? "",
        identify(match.route, served),
        config,
      );
    case "limits":
      return limitsResponse(request, {
        caller: identify(match.route, served),
        config,
        limits: parts.limits,
      });
  }
}

function identify(
  { credential }: Route,
  { request, record, config, parts }: Served,
): Caller {
  const group: CredentialGroup = credential === "none" ? "either" : credential;
  const caller = authenticate(request.headers, {
    group,
    config,
    nowMs: parts.clock.now(),
  });
  record.facts.caller = caller.name;
  return caller;
}

/** nginx's status for a caller who is gone; nobody receives it, the log shows it. */
const CALLER_LEFT_STATUS = 499;

function failureResponse(
  thrown: unknown,
  { protocol, record, log }: {
    readonly protocol: Protocol;
    readonly record: RequestRecord;
    readonly log: Log;
  },
): Response {
  const { facts, requestId } = record;
  if (thrown instanceof CallerLeft) {
    facts.status = CALLER_LEFT_STATUS;
    record.finish("client_abort");
    return new Response(null, { status: CALLER_LEFT_STATUS });
  }
  if (thrown instanceof UpstreamFailure) {
    return upstreamFailureResponse(thrown.failure, protocol, record);
  }
  const error = toGatewayError(thrown);
  if (error.kind === "internal") {
    log.write("error", "unforeseen", unforeseenFields(thrown, requestId));
  }
  const response = errorResponse(error, protocol, requestId);
  noteError(error, record);
  record.finish("error");
  return response;
}

/** An upstream's failure, in the caller's protocol. */
function upstreamFailureResponse(
  failure: Failure,
  protocol: Protocol,
  { facts, requestId, finish }: RequestRecord,
): Response {
  const shown = shownFailure(failure);
  const { status, body } = CODECS[protocol].encodeFailure(shown, requestId);
  facts.status = status;
  facts.error = loggedCode(shown) ?? shown.kind;
  finish("error");
  const { retryAfterMs } = shown;
  return Response.json(body, {
    status,
    headers: retryAfterMs === undefined
      ? {}
      : { "retry-after": String(Math.ceil(retryAfterMs / 1000)) },
  });
}

/** A code is the provider's text: only what looks like one is logged, for a sentence may quote a prompt. */
function loggedCode({ code }: Failure): string | undefined {
  return code !== undefined && /^[\w.:-]{1,64}$/.test(code) ? code : undefined;
}

function noteError(error: GatewayError, { facts }: RequestRecord): void {
  facts.status = error.status;
  facts.error = error.code ?? error.kind;
  if (error.kind === "upstream") facts.reason ??= error.message;
}

/** `request-id` is where the Anthropic SDK looks; the upstream's own stays. */
function stamp(
  response: Response,
  protocol: Protocol,
  { requestId }: RequestRecord,
): Response {
  response.headers.set("x-request-id", requestId);
  if (protocol === "messages" && !response.headers.has("request-id")) {
    response.headers.set("request-id", requestId);
  }
  return response;
}

/** A client of the Messages protocol that mistypes a path reads the error all the same. */
function protocolOfUnknownPath(url: string): Protocol {
  return /\/messages(\/|$)/.test(requestTarget(url).path) ? "messages" : "chat";
}
