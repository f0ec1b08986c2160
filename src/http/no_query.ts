import { GatewayError } from "../core/error.ts";
import { requestTarget } from "./request_target.ts";

/**
 * Refuses a query on a path that takes none, where to ignore it would answer another question than the caller's.
 *
 * @param what Is read there, such as `the limits`.
 * @throws {GatewayError} `invalid_request`.
 */
export function refuseQuery(request: Request, what: string): void {
  if (requestTarget(request).query.length <= "?".length) return;
  throw new GatewayError(
    "invalid_request",
    `Cannot read ${what} with query parameters: this path takes none, remove them`,
  );
}
