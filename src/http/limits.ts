import type { Caller, Config } from "../config/config.ts";
import type { LimitsService } from "../limits/service.ts";
import { CallerLeft } from "../upstream/call.ts";
import { refuseQuery } from "./no_query.ts";

/**
 * The answer of `GET /limits` (docs/design.md#quotas).
 *
 * @throws {GatewayError} `invalid_request` when the address has a query, `timeout` past the budget.
 * @throws {CallerLeft} When the caller does not wait for it.
 */
export async function limitsResponse(
  request: Request,
  { caller, config, limits }: {
    readonly caller: Caller;
    readonly config: Config;
    readonly limits: Pick<LimitsService, "read">;
  },
): Promise<Response> {
  refuseQuery(request, "the limits");
  const { signal } = request;
  try {
    const list = await limits.read(caller, config, signal);
    return Response.json(list, { headers: { "cache-control": "no-store" } });
  } catch (error) {
    throw signal.aborted ? new CallerLeft() : error;
  }
}
