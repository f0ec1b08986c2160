import type { StoreCondition } from "../core/store_condition.ts";

/**
 * Returns the response of `/livez` and `/healthz` (the process works) or of `/readyz` (it accepts requests). No
 * provider is contacted.
 *
 * @param sharedStore The condition of the store that replicas share. It changes no status, because requests are served
 * without the store. `undefined` when there is no store.
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
