import { streamOf } from "@gateway/base/streams/byte_reader";
import {
  type AnyResponse,
  DirectResponse,
  type IncomingRequest,
} from "@gateway/http1";
import type { Caller } from "../config/config.ts";
import { groupText } from "../config/usage_limits.ts";
import { readHeaders } from "@gateway/base/header_fields";
import { DEFAULT_PROTOCOL, type Protocol } from "@gateway/base/protocol";
import type { Ending } from "../observe/facts.ts";
import { openRecord, type RequestRecord } from "../observe/record.ts";
import { shuttingDown } from "../relay/request/admission.ts";
import { refuseFault } from "../relay/request/body.ts";
import {
  authenticate,
  type CredentialGroup,
} from "../relay/request/authenticate.ts";
import { readClientIds } from "../relay/request/conversation.ts";
import { endRequest } from "../relay/end_request.ts";
import { followCaller, Holds } from "../relay/exchange.ts";
import { relay, type RelayTask } from "../relay/relay.ts";
import { stamp } from "../relay/answer_headers.ts";
import { failureResponse, lastResponse } from "./failure_response.ts";
import { withDaemonHint } from "./daemon_hint.ts";
import {
  createRouteFinder,
  protocolOfUnknownPath,
  type RouteMatch,
  type RouteSource,
  unknownPath,
} from "./router.ts";
import {
  type OpenAction,
  type OwnResponseAction,
  type Route,
  ROUTES,
} from "./routes.ts";
import { createAttributionReader, withoutHeaders } from "./attribution.ts";
import { live, page, ready } from "./responders.ts";
import type { GatewayParts, Needs, Served } from "./served.ts";
import { createSignIn } from "./sign_in.ts";

/** The whole gateway. Its own server takes every kind of response; other servers need {@linkcode toHandler}. */
export type Respond = (request: IncomingRequest) => Promise<AnyResponse>;

/** Converts a response for a server that knows only the platform's `Response`. */
export function toResponse(response: AnyResponse): Response {
  if (response instanceof Response) return response;
  const { source, status, headers } = response;
  const body = source instanceof Uint8Array
    ? source
    : streamOf(source, (fail) => source.onStall = fail);
  return new Response(body, { status, headers });
}

/** The whole gateway as a web-standard handler. */
export type Handler = (request: IncomingRequest) => Promise<Response>;

/** Converts the gateway for a server that knows only the platform's `Response`. */
export function toHandler(respond: Respond): Handler {
  return async (request) => toResponse(await respond(request));
}

/**
 * Creates the gateway. The gateway never rejects: every error becomes a response in the caller's protocol. Every
 * response has `x-request-id`.
 */
export function createRespond(parts: GatewayParts): Respond {
  const attribution = createAttributionReader(parts.clock);
  const finder = createRouteFinder(ROUTES);
  const signIn = createSignIn(parts.clock);
  const respond: Respond = async (request) => {
    const requestId = parts.ids.next("req");
    let protocol: Protocol | undefined;
    try {
      const { target, record } = beginRequest(request, requestId, parts);
      const holds = new Holds();
      const { headers } = target;
      try {
        refuseFault(request);
        const config = parts.liveConfig.current();
        const match = await finder.find(target, config.messagesVendor);
        protocol = match.route.protocol ?? DEFAULT_PROTOCOL;
        record.facts.route = match.path;
        record.facts.protocol = match.route.protocol;
        if (parts.admission.draining && !reportsHealth(match.route.action)) {
          throw shuttingDown();
        }
        return await serve(match, {
          ...{ request, headers, record, holds, config, parts },
          ...{ attribution, signIn },
        });
      } catch (thrown) {
        protocol ??= protocolOfUnknownPath(target);
        const { log } = parts;
        const failed = failureResponse(thrown, { protocol, record, log });
        stamp(failed.response, protocol, requestId);
        return await finish(failed.response, failed.ending, { record, holds });
      }
    } catch (thrown) {
      return lastResponse(thrown, { protocol, requestId, log: parts.log });
    }
  };
  return async (request) => {
    const response = await respond(request);
    // A new connection may reach another replica.
    if (parts.admission.draining) response.headers.set("connection", "close");
    return response;
  };
}

/** Reads the target and the headers of a request. The platform throws when the request is already closed. */
function beginRequest(
  request: IncomingRequest,
  requestId: string,
  parts: Pick<GatewayParts, "clock" | "log" | "metrics">,
): { readonly target: RouteSource; readonly record: RequestRecord } {
  const { method, url } = request;
  const record = openRecord(requestId, method, parts);
  const headers = readHeaders(request.headers);
  return { target: { method, url, headers }, record };
}

/** Serves a request. Relaying reads the body. After other actions, the rest of the body ends with the response. */
async function serve(
  match: RouteMatch,
  served: Served,
): Promise<AnyResponse> {
  const { action, maxBodyBytes } = match.route;
  if (!("relay" in action)) return await answered(action, match, served);
  const task = {
    operation: action.relay,
    pathModel: match.id,
    pathStream: action.stream,
    maxBodyBytes,
  };
  const caller = await identify(action.credential, served);
  return await relayed(task, caller, served);
}

function relayed(
  task: RelayTask,
  caller: Caller,
  { request, headers: all, record, holds, config, parts }: Served,
): Promise<AnyResponse> {
  const headers = withoutHeaders(all, config.server.attribution);
  const { deadlines, followAfterMs: afterMs } = parts;
  const open = { record, holds };
  const control = followCaller(request, open, { deadlines, afterMs });
  const exchange = { request, headers, ...open, caller, config, control };
  if (parts.tracing === undefined) return relay(exchange, task, parts);
  const { operation } = task;
  return parts.tracing.follow(
    { operation, requestId: record.requestId },
    (span) => {
      holds.span = span;
      return relay(exchange, task, parts);
    },
  );
}

/** Returns a response of the gateway's own, and logs the request unless {@linkcode isUnlogged} returns true. */
async function answered(
  action: OwnResponseAction | OpenAction,
  { id, path, route: { protocol = DEFAULT_PROTOCOL } }: RouteMatch,
  served: Served,
): Promise<AnyResponse> {
  const { record } = served;
  const asked = { ...served, path, id };
  const own = "open" in action
    ? await action.open(asked)
    : await action.response({
      ...asked,
      caller: await identify(action.credential, served),
    });
  if (own === undefined) throw unknownPath(path);
  stamp(own, protocol, record.requestId);
  return isUnlogged(action, path, served.request)
    ? own
    : await finish(own, "complete", served);
}

/** Returns true for a health check, a `HEAD` request of an agent, and each of the page's about forty parts. */
function isUnlogged(
  action: OwnResponseAction | OpenAction,
  path: string,
  { method }: IncomingRequest,
): boolean {
  return reportsHealth(action) || "open" in action &&
      (method === "HEAD" || action.open === page && path !== "/");
}

/**
 * Returns true for a route that reports the health of the process or the instance. Such a route responds during a
 * drain, too.
 */
function reportsHealth(action: Route["action"]): boolean {
  return "open" in action &&
    (action.open === live || action.open === ready);
}

/** Ends a request with a response of the gateway's own, and counts the bytes of the response. */
async function finish(
  response: Response,
  ending: Ending,
  open: Pick<Served, "record" | "holds">,
): Promise<AnyResponse> {
  const { status, headers, body } = response;
  const bytes = body && await response.bytes();
  const { facts } = open.record;
  facts.status = status;
  facts.bytesOut = facts.method === "HEAD" ? 0 : bytes?.length ?? 0;
  endRequest(open, ending);
  return bytes === null
    ? new Response(null, { status, headers })
    : new DirectResponse(bytes, { status, headers: [...headers] });
}

async function identify(
  group: CredentialGroup,
  { headers, record, config, parts, attribution }: Needs<
    "headers" | "record" | "config" | "attribution",
    "clock" | "identity"
  >,
): Promise<Caller> {
  const nowMs = parts.clock.now();
  const { identity } = parts;
  const options = { group, config, identity, nowMs };
  const caller = await authenticate(headers, options)
    .catch((error) => {
      throw withDaemonHint(error, headers);
    });
  record.facts.caller = caller.name;
  record.facts.callerGroup = groupText(caller.groups);
  record.facts.attribution = attribution.read(
    headers,
    config.server.attribution,
    caller.sha256,
  );
  record.facts.client = readClientIds(headers);
  return caller;
}
