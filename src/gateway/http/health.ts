import type { StoreCondition } from "@gateway/base/store_condition";

/**
 * Returns the response of `/livez` and `/healthz` (the process works) or of `/readyz` (it accepts requests). No
 * provider is contacted.
 *
 * @param sharedStore The condition of the store that replicas share. It changes no status, because requests are served
 * without the store. `undefined` when there is no store.
 * @param hasShortage True after a shortage of the gateway's own machine. It changes no status either: kept connections
 * still serve, and a failing status would move the load of this instance to the others.
 */
export function healthResponse(
  isHealthy: boolean,
  sharedStore?: StoreCondition,
  hasShortage = false,
): Response {
  const body = {
    status: isHealthy ? "ok" : "draining",
    ...(sharedStore && { shared_store: sharedStore }),
    ...(hasShortage && { gateway_shortage: true }),
  };
  return Response.json(body, {
    status: isHealthy ? 200 : 503,
    headers: {
      "cache-control": "no-store",
      ...(isHealthy ? {} : { connection: "close" }),
    },
  });
}
