/**
 * The answer of `/livez` and `/healthz` (the process works) and of `/readyz` (it takes requests). None of
 * them asks an upstream.
 */
export function healthResponse(isHealthy: boolean): Response {
  return Response.json({ status: isHealthy ? "ok" : "draining" }, {
    status: isHealthy ? 200 : 503,
    headers: { "cache-control": "no-store" },
  });
}
