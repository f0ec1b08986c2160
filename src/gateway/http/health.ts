import type { StoreCondition } from "@gateway/base/store_condition";

/**
 * Returns the response of `/livez` and `/healthz` (the process works) or of `/readyz` (the gateway accepts requests).
 * No provider is contacted.
 *
 * @param sharedStore The condition of the store that replicas share. The condition does not change the status, because
 * requests are served without the store. `undefined` when there is no store.
 * @param hasShortage True after a shortage of the gateway's own machine. A shortage does not change the status either:
 * open connections still serve, and a failing status would move this instance's load to the others.
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
