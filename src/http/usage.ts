import type { Caller, Config } from "../config/config.ts";
import { CallerLeft } from "../upstream/call.ts";
import type { UsageService } from "../usage/service.ts";
import { refuseQuery } from "./no_query.ts";

/**
 * The answer of `GET /usage` (docs/usage.md#get-usage), about the caller's own token alone.
 *
 * @throws {GatewayError} `invalid_request` when the address has a query.
 * @throws {CallerLeft} When the caller does not wait for it.
 */
export async function usageResponse(
  request: Request,
  { caller, config, usage }: {
    readonly caller: Caller;
    readonly config: Config;
    readonly usage: Pick<UsageService, "report">;
  },
): Promise<Response> {
  refuseQuery(request, "the usage");
  const { signal } = request;
  try {
    const report = await usage.report(caller, config, signal);
    return Response.json(report, { headers: { "cache-control": "no-store" } });
  } catch (error) {
    throw signal.aborted ? new CallerLeft() : error;
  }
}
