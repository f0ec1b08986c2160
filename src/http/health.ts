import type { StoreCondition } from "../core/store_condition.ts";

/**
 * The answer of `/livez` and `/healthz` (the process works) and of `/readyz` (it takes requests). None of
 * them asks an upstream.
 *
 * @param sharedStore Whether the store that replicas share is there, which changes no status: requests are served
 * without it. `undefined`: there is none.
 */
export function healthResponse(
  isHealthy: boolean,
  sharedStore?: StoreCondition,
): Response {
  const status = isHealthy ? "ok" : "draining";
  const rest = sharedStore && { shared_store: sharedStore };
  return Response.json({ status, ...rest }, {
    status: isHealthy ? 200 : 503,
    headers: { "cache-control": "no-store" },
  });
}
