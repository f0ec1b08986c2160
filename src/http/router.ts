import { type IRequest, Router } from "itty-router";
import { GatewayError } from "../core/error.ts";
import type { Route } from "./routes.ts";

/** A route with what its path held. */
export interface RouteMatch {
  readonly route: Route;
  /** The path's pattern in the table. */
  readonly path: string;
  /** The `:vendor` segment, where the path has one. */
  readonly vendor: string | undefined;
  /** The model id behind `/models/`, percent-decoded. */
  readonly id: string | undefined;
}

/** Finds the rows of a route table by method and path. */
export interface RouteFinder {
  /**
   * @param request Its `method` and `url` alone decide.
   * @throws {GatewayError} `not_found` for an unknown path, `method_not_allowed` with `Allow` where only
   * the method is wrong.
   */
  find(request: Request): Promise<RouteMatch>;
}

/** Compiles a route table. Paths match exactly: a trailing slash is another path (design section 5). */
export function createRouteFinder(routes: readonly Route[]): RouteFinder {
  const router = Router<IRequest, []>();
  for (const route of routes) {
    for (const path of route.paths) {
      router.all(path, (request) => matchExactly(request, path, route));
    }
  }
  return {
    async find({ method, url }) {
      const match: RouteMatch | undefined = await router.fetch({
        method,
        url,
      });
      if (match !== undefined) return match;
      throw await unmatched(method, url);
    },
  };

  async function unmatched(method: string, url: string): Promise<GatewayError> {
    const allowed: string[] = [];
    for (const candidate of new Set(routes.flatMap((route) => route.methods))) {
      const match: RouteMatch | undefined = await router.fetch({
        method: candidate,
        url,
      });
      if (match !== undefined && isReal(match.route)) allowed.push(candidate);
    }
    return allowed.length === 0
      ? unknownPath()
      : methodNotAllowed(method, allowed);
  }
}

/** The error for a path that is served, but not with this method. */
export function methodNotAllowed(
  method: string,
  allowed: readonly string[],
): GatewayError {
  return new GatewayError(
    "method_not_allowed",
    `Cannot serve ${method} on this path: use ${allowed.join(" or ")}`,
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
  return !("answer" in action && action.answer === "websocket");
}

/** itty-router also matches trailing slashes and leaves the method to its caller in `all`. */
function matchExactly(
  request: IRequest,
  path: string,
  route: Route,
): RouteMatch | undefined {
  if (!route.methods.includes(request.method)) return undefined;
  const { pathname } = new URL(request.url);
  const { vendor, id } = request.params;
  if (vendor === undefined && id === undefined) {
    return pathname === path ? { route, path, vendor, id } : undefined;
  }
  if (pathname.endsWith("/") || id === "") return undefined;
  const decoded = id === undefined ? undefined : decodeSegment(id);
  return { route, path, vendor, id: decoded };
}

/** A malformed escape stays as it is: then it is no model's id. */
function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
