import type { StoreCondition } from "@gateway/base/store_condition";
import type { Handler } from "./gateway.ts";
import { healthResponse } from "./health.ts";
import { requestTarget } from "./request_target.ts";

/** The data that the second listener serves. */
interface AdminSources {
  /** Returns true while requests are accepted. */
  isReady(): boolean;
  /** Returns true after a shortage of the gateway's own machine. */
  hasShortage(): boolean;
  /** Absent when replicas share no store. */
  readonly sharedStore?: (() => StoreCondition) | undefined;
  /** Returns the metrics in the text format of Prometheus. */
  metrics(): Promise<string>;
  /** The media type of the metrics. */
  readonly metricsType: string;
}

/**
 * Creates the handler of the second listener: `/metrics`, `/livez` and `/readyz`. The handler needs no credential,
 * returns no secret and changes nothing.
 */
export function createAdminHandler(sources: AdminSources): Handler {
  return async (request) => {
    const { method } = request;
    const answer = ANSWERS.get(requestTarget(request).path);
    if (answer === undefined) return new Response(null, { status: 404 });
    if (method === "GET" || method === "HEAD") return await answer(sources);
    return new Response(null, { status: 405, headers: { allow: "GET, HEAD" } });
  };
}

type AdminAnswer = (sources: AdminSources) => Response | Promise<Response>;

const ANSWERS: ReadonlyMap<string, AdminAnswer> = new Map<string, AdminAnswer>([
  ["/livez", () => healthResponse(true)],
  [
    "/readyz",
    ({ isReady, sharedStore, hasShortage }) =>
      healthResponse(isReady(), sharedStore?.(), hasShortage()),
  ],
  ["/metrics", metricsResponse],
]);

async function metricsResponse(
  { metrics, metricsType }: AdminSources,
): Promise<Response> {
  return new Response(await metrics(), {
    headers: { "content-type": metricsType, "cache-control": "no-store" },
  });
}
