import type { Caller, Config } from "../config/config.ts";
import { GatewayError } from "../core/error.ts";

/** Reads the quotas of a caller's connections. */
export interface LimitsReader {
  /**
   * @param signal Aborted when the caller leaves.
   * @returns The list object of spec section 2.4.
   * @throws {GatewayError} `timeout` past the budget.
   */
  read(caller: Caller, config: Config, signal: AbortSignal): Promise<object>;
}

/**
 * The answer of `GET /limits` (spec section 4.6).
 *
 * @throws {GatewayError} `invalid_request` when the address has a query, `timeout` past the budget.
 */
export async function limitsResponse(
  request: Request,
  { caller, config, limits }: {
    readonly caller: Caller;
    readonly config: Config;
    readonly limits: LimitsReader;
  },
): Promise<Response> {
  if (new URL(request.url).search !== "") {
    throw new GatewayError(
      "invalid_request",
      "Cannot read the limits with query parameters: this path takes none, remove them",
    );
  }
  const list = await limits.read(caller, config, request.signal);
  return Response.json(list, { headers: { "cache-control": "no-store" } });
}
