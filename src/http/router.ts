import { type IRequest, Router } from "itty-router";
import { GatewayError } from "../core/error.ts";
import { requestTarget, type TargetSource } from "./request_target.ts";
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
export interface RouteFinder {
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
