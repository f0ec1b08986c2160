import { type IRequest, Router } from "itty-router";
import { GatewayError } from "@gateway/base/error";
import type { HeaderFields } from "@gateway/base/header_fields";
import {
  DEFAULT_PROTOCOL,
  MAIN_OPERATIONS,
  OPERATIONS,
  type Protocol,
  PROTOCOLS,
} from "@gateway/base/protocol";
import { nearest } from "@gateway/base/problems";
import { websocket } from "./responders.ts";
import { requestTarget, type TargetSource } from "./request_target.ts";
import { type Route, ROUTES } from "./routes.ts";
import { methodNotAllowed } from "./wrong_method.ts";

/** A route with the parameters of its path. */
export interface RouteMatch {
  readonly route: Route;
  /** The path's pattern in the table. */
  readonly path: string;
  /** The model id in the path, percent-decoded. */
  readonly id: string | undefined;
}

/** The parts of a request that decide its route. */
export interface RouteSource extends TargetSource {
  readonly method: string;
  readonly headers: HeaderFields;
}

/** Finds routes of a table by method and path. */
interface RouteFinder {
  /**
   * @param vendor The value of a `:vendor` segment.
   * @throws {GatewayError} `not_found` for an unknown path, `method_not_allowed` with `Allow` when only the method is
   * wrong.
   */
  find(
    request: RouteSource,
    vendor: string,
  ): RouteMatch | Promise<RouteMatch>;
}

/** The request to match. */
interface MatchInput {
  readonly method: string;
  readonly path: string;
  /** The value of a `:vendor` segment. */
  readonly vendor: string;
}

/** Any origin, because itty-router requires an absolute address. Only the path of the address counts. */
const ANY_ORIGIN = "http://gateway";

/** Compiles a route table. Paths match exactly: a trailing slash makes another path (docs/design.md#paths). */
export function createRouteFinder(routes: readonly Route[]): RouteFinder {
  const router = Router<IRequest & MatchInput, []>();
  for (const route of routes) {
    for (const path of route.paths) {
      router.all(path, (request) => matchExactly(request, path, route));
    }
  }

  /** The matches found so far for paths without parameters. All are kept, because there are few such paths. */
  const known = new Map<string, RouteMatch>();

  async function match(input: MatchInput): Promise<RouteMatch | undefined> {
    const { href, pathname } = new URL(ANY_ORIGIN + input.path);
    // A path that a URL parser rewrites, such as `/x/%2e%2e/v1/models`, is no path of the gateway.
    if (pathname !== input.path) return undefined;
    return await router.fetch({ ...input, url: href });
  }

  async function unmatched(input: MatchInput): Promise<GatewayError> {
    const allowed: string[] = [];
    for (const method of new Set(routes.flatMap((route) => route.methods))) {
      const found = await match({ ...input, method });
      if (found !== undefined && servesRequests(found.route)) {
        allowed.push(method);
      }
    }
    return allowed.length === 0
      ? unknownPath(input.path)
      : methodNotAllowed(allowed);
  }

  async function search(input: MatchInput, key: string): Promise<RouteMatch> {
    const found = await match(input);
    if (found?.path === input.path) known.set(key, found);
    if (found !== undefined) return found;
    throw await unmatched(input);
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

/**
 * Returns the error for a path without a route. The error names the path that the caller probably meant, never the
 * given path.
 */
export function unknownPath(path: string): GatewayError {
  const meant = meantPath(path) ?? "one of the paths in the documentation";
  return new GatewayError(
    "not_found",
    `Cannot find this path: no route has it. Use ${meant}.`,
  );
}

/** The paths that a mistyped path may mean, without the prefix. */
const MEANT_PATHS = ROUTES.filter(({ action }) => !("open" in action))
  .flatMap(({ paths }) => paths)
  .filter((path) => path.startsWith("/v1/") && !path.includes(":"))
  .map((path) => path.slice("/v1".length));

/**
 * Returns the path that a mistyped path probably means. The prefix may be missing, doubled or different, the path may
 * repeat the end of the base URL, or a few letters may differ.
 */
function meantPath(path: string): string | undefined {
  // The time of a comparison grows with the length of the path.
  if (path.length > 128) return undefined;
  const rest = path.replace(/^.*\/v1(?=\/)/i, "").replace(/^(.+)\1$/, "$1");
  // Without `/v1`, any prefix may precede the path. A path such as `/v1/threads/x/messages` belongs to another API.
  const found = nearest(rest, MEANT_PATHS) ??
    (rest === path ? MEANT_PATHS.find((one) => path.endsWith(one)) : undefined);
  return found && `/v1${found}`;
}

/** Returns true for a route that serves requests. The route that rejects WebSockets serves no requests. */
function servesRequests({ action }: Route): boolean {
  return !("open" in action && action.open === websocket);
}

/** Narrows itty-router's matches, because itty-router ignores trailing slashes and its `all` ignores the method. */
function matchExactly(
  request: IRequest & MatchInput,
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

/** Decodes a segment. A segment with a malformed escape is returned as it is, and then matches no model id. */
function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The start of each protocol's main path, without the prefix and up to the model's name. */
const STARTS: readonly (readonly [protocol: Protocol, start: string])[] =
  PROTOCOLS.map((protocol) => {
    const [start = ""] = OPERATIONS[MAIN_OPERATIONS[protocol]].path.split(":");
    return [protocol, start.endsWith("/") ? start : `${start}/`];
  });

/**
 * Returns the protocol for an error on an unknown path. The protocol is guessed from the path, so that a client with a
 * mistyped path can read the error.
 */
export function protocolOfUnknownPath(request: TargetSource): Protocol {
  const { path } = requestTarget(request);
  const likely = `${meantPath(path) ?? path}/`;
  const named = STARTS.findLast(([, start]) => likely.includes(start));
  return named?.[0] ?? DEFAULT_PROTOCOL;
}
