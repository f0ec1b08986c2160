import type { IncomingRequest } from "@gateway/http1";
import { CallerLeft } from "../upstream/call.ts";
import type { Caller, Config } from "../config/config.ts";
import { GatewayError } from "@gateway/base/error";
import type { Clock } from "@gateway/base/time/timers";
import type { FailingRequests, WaitingRequests } from "@gateway/page/answers";
import type { Queue } from "../relay/queue/queue.ts";
import type { Health } from "../relay/routing/health.ts";
import type { QuotaService } from "../quotas/service.ts";
import type { UsageService } from "../usage/service.ts";
import { requestTarget } from "./request_target.ts";

/**
 * Returns the response of `GET /limits` (docs/design.md#quotas).
 *
 * @throws {GatewayError} `invalid_request` when the address has a query, `timeout` when the budget of time is used up.
 * @throws {CallerLeft} When the caller disconnects.
 */
export async function limitsResponse(
  request: IncomingRequest,
  { quotas, queue, ...of }: HealthEvidence & {
    readonly quotas: Pick<QuotaService, "read">;
    readonly queue: Pick<Queue, "loadOf">;
  },
): Promise<Response> {
  rejectQuery(request, "the limits");
  const { signal } = request;
  try {
    const list = await quotas.read(of.caller, of.config, signal);
    const data = list.data.map((entry) => ({
      ...entry,
      waiting: waitingFor(entry.provider_id, queue),
      failing: failingOf(entry.provider_id, of),
    }));
    return Response.json({ ...list, data }, {
      headers: { "cache-control": "no-store" },
    });
  } catch (error) {
    throw signal.aborted ? new CallerLeft() : error;
  }
}

function waitingFor(
  connectionId: string,
  queue: Pick<Queue, "loadOf">,
): WaitingRequests | undefined {
  const { waiting, expectedMs } = queue.loadOf(connectionId);
  return waiting === 0
    ? undefined
    : { requests: waiting, seconds: Math.ceil(expectedMs / 1000) };
}

interface HealthEvidence {
  readonly caller: Caller;
  readonly config: Config;
  readonly health: Pick<Health, "restMs" | "lastingCause" | "isRequestedWait">;
  readonly clock: Pick<Clock, "now">;
}

/**
 * Returns the failure of a connection if no model of the connection may be tried now; otherwise `undefined`. A wait
 * that the provider asked for is no failure.
 */
function failingOf(
  connectionId: string,
  { caller, config, health, clock }: HealthEvidence,
): FailingRequests | undefined {
  const [first] = config.connections.filter(({ id }) => id === connectionId)
    .flatMap((connection) =>
      connection.models.map((model) => ({ connection, model }))
    )
    .filter(({ model }) => caller.models?.has(model.id) ?? true)
    .map((one) => ({ one, ms: health.restMs(one, caller) }))
    .sort((a, b) => a.ms - b.ms);
  const isFailing = first !== undefined && first.ms > 0 &&
    !health.isRequestedWait(first.one, caller);
  return isFailing
    ? {
      until: new Date(clock.now() + first.ms).toISOString(),
      cause: health.lastingCause(first.one, caller)?.kind,
    }
    : undefined;
}

/**
 * Returns the response of `GET /usage` (docs/usage.md#get-usage) for the caller's own token.
 *
 * @throws {GatewayError} `invalid_request` when the address has a query.
 * @throws {CallerLeft} When the caller disconnects.
 */
export async function usageResponse(
  request: IncomingRequest,
  { caller, config, usage }: {
    readonly caller: Caller;
    readonly config: Config;
    readonly usage: Pick<UsageService, "report">;
  },
): Promise<Response> {
  rejectQuery(request, "the usage");
  const { signal } = request;
  try {
    const report = await usage.report(caller, config, signal);
    return Response.json(report, { headers: { "cache-control": "no-store" } });
  } catch (error) {
    throw signal.aborted ? new CallerLeft() : error;
  }
}

/**
 * Rejects a query on a path that takes no query. A response that ignored it would not match the caller's request.
 *
 * @param what The data at the path, such as `the limits`.
 * @throws {GatewayError} `invalid_request`.
 */
function rejectQuery(request: IncomingRequest, what: string): void {
  if (requestTarget(request).query.length <= "?".length) return;
  throw new GatewayError(
    "invalid_request",
    `Cannot read ${what} with query parameters: this path takes none. Remove them.`,
  );
}
