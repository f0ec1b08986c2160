import { type IRequest, Router } from "itty-router";
import { GatewayError } from "../core/error.ts";
import type { HeaderFields } from "../core/header_fields.ts";
import {
  DEFAULT_PROTOCOL,
  MAIN_OPERATIONS,
  OPERATIONS,
  type Protocol,
  PROTOCOLS,
} from "../core/protocol.ts";
import type { Route } from "./routes.ts";

/** A route with what its path held. */
export interface RouteMatch {
  readonly route: Route;
  /** The path's pattern in the table. */
  readonly path: string;
  /** The model id that the path names, percent-decoded. */
  readonly id: string | undefined;
}

/** What decides about a request's route. */
export interface RouteSource extends TargetSource {
  readonly method: string;
}

/** Finds the rows of a route table by method and path. */
interface RouteFinder {
  /**
   * @param vendor What a `:vendor` segment must be.
   * @returns At once for what was found before.
   * @throws {GatewayError} `not_found` for an unknown path, `method_not_allowed` with `Allow` where only
   * the method is wrong.
   */
  find(
    request: RouteSource,
    vendor: string,
  ): RouteMatch | Promise<RouteMatch>;
}

/** What is looked for. */
interface Sought {
  readonly method: string;
  readonly path: string;
  /** What a `:vendor` segment must be. */
  readonly vendor: string;
}

/** itty-router wants an address; only its path counts. */
const ANY_ORIGIN = "http://gateway";

/** Compiles a route table. Paths match exactly: a trailing slash is another path (docs/design.md#paths). */
export function createRouteFinder(routes: readonly Route[]): RouteFinder {
  const router = Router<IRequest & Sought, []>();
  for (const route of routes) {
    for (const path of route.paths) {
      router.all(path, (request) => matchExactly(request, path, route));
    }
  }

  /** What was found for paths without parameters, of which the table has few. */
  const known = new Map<string, RouteMatch>();

  async function match(sought: Sought): Promise<RouteMatch | undefined> {
    const { href, pathname } = new URL(ANY_ORIGIN + sought.path);
    // What a URL parser rewrites, such as `/x/%2e%2e/v1/models`, is no path of ours.
    if (pathname !== sought.path) return undefined;
    return await router.fetch({ ...sought, url: href });
  }

  async function unmatched(sought: Sought): Promise<GatewayError> {
    const allowed: string[] = [];
    for (const method of new Set(routes.flatMap((route) => route.methods))) {
      const found = await match({ ...sought, method });
      if (found !== undefined && isReal(found.route)) allowed.push(method);
    }
    return allowed.length === 0 ? unknownPath() : methodNotAllowed(allowed);
  }

  async function search(sought: Sought, key: string): Promise<RouteMatch> {
    const found = await match(sought);
    if (found?.path === sought.path) known.set(key, found);
    if (found !== undefined) return found;
    throw await unmatched(sought);
  }

  return {
    find(request, vendor) {
      const { method } = request;
      const { path } = requestTarget(request);
      const key = `${method} ${path}`;
      return known.get(key) ?? search({ method, path, vendor }, key);
    },
  };
}

/** The error for a path that is served, but not with the caller's method, whose text is not told back. */
export function methodNotAllowed(allowed: readonly string[]): GatewayError {
  return new GatewayError(
    "method_not_allowed",
    `Cannot serve this method on this path: use ${allowed.join(" or ")}`,
    { headers: { allow: allowed.join(", ") } },
  );
}

/** The error for a path that no route has. */
export function unknownPath(): GatewayError {
  return new GatewayError(
    "not_found",
    "Cannot find this path: compare it with the paths that the documentation lists",
  );
}

/** The row that turns WebSockets away offers nothing. */
function isReal({ action }: Route): boolean {
  return !("open" in action && action.open === "websocket");
}

/** itty-router also matches trailing slashes and leaves the method to its caller in `all`. */
function matchExactly(
  request: IRequest & Sought,
  path: string,
  route: Route,
): RouteMatch | undefined {
  if (!route.methods.includes(request.method)) return undefined;
  if (!path.includes(":")) {
    return request.path === path ? { route, path, id: undefined } : undefined;
  }
  const { vendor, id } = request.params;
  if (request.path.endsWith("/")) return undefined;
  if (vendor !== undefined && vendor !== request.vendor) return undefined;
  return { route, path, id: id === undefined ? undefined : decodeSegment(id) };
}

/** A malformed escape stays as it is: then it is no model's id. */
function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** How the path begins that asks a model, behind a prefix and up to the model's name. */
const STARTS: readonly (readonly [protocol: Protocol, start: string])[] =
  PROTOCOLS.map((protocol) => {
    const [start = ""] = OPERATIONS[MAIN_OPERATIONS[protocol]].path.split(":");
    return [protocol, start.endsWith("/") ? start : `${start}/`];
  });

/** In whose words to answer on a path that is none: a client that mistypes one can still read the error. */
export function protocolOfUnknownPath(request: TargetSource): Protocol {
  const { path } = requestTarget(request);
  const named = STARTS.findLast(([, start]) => `${path}/`.includes(start));
  return named?.[0] ?? DEFAULT_PROTOCOL;
}

/**
 * The error for a `GET` on a path that only takes `POST`. WebSocket is not supported, and
 * 426 is what makes Codex fall back to HTTP at once (docs/design.md#paths).
 */
export function websocketError(headers: Headers): GatewayError {
  const isUpgrade = /\bwebsocket\b/i.test(headers.get("upgrade") ?? "");
  if (!isUpgrade) return methodNotAllowed(["POST"]);
  return new GatewayError(
    "upgrade_required",
    "Cannot open a WebSocket: the gateway does not support them, send a POST and read server-sent events",
    { code: "websocket_not_supported" },
  );
}

/** What a request asks for. */
interface RequestTarget {
  /** As the caller wrote it: nothing decoded, no `..` followed. */
  readonly path: string;
  /** From its question mark on; empty where there is none. */
  readonly query: string;
}

/** What tells a request's target. */
export interface TargetSource {
  readonly url: string;
  readonly headers: HeaderFields;
}

/**
 * Takes a request's address apart. Never fails: the host is the caller's text and may be anything, even what
 * `URL` refuses.
 *
 * The platform makes the address of the `Host` header and the target, so a host in which a path or a query stands
 * must be known to be taken off; where it cannot be told from the target, as beside one in absolute form, the
 * request has no path.
 */
export function requestTarget({ url, headers }: TargetSource): RequestTarget {
  const host = headers.get("host") ?? "";
  const target = HOST_WITH_PATH_REGEXP.test(host)
    ? TARGET_REGEXP.exec(behindHost(url, host))
    : URL_REGEXP.exec(url);
  return { path: target?.[1] ?? "", query: target?.[2] ?? "" };
}

/** No host of RFC 9110, section 7.2, holds these. */
const HOST_WITH_PATH_REGEXP = /[/?#]/;

const TARGET_REGEXP = /^([^?#]*)(\?[^#]*)?/;

const URL_REGEXP = /^[a-z]+:\/\/[^/?#]*([^?#]*)(\?[^#]*)?/i;

function behindHost(url: string, host: string): string {
  const start = url.indexOf("://") + "://".length;
  return url.startsWith(host, start) ? url.slice(start + host.length) : "";
}
