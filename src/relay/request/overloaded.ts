import { GatewayError } from "../../core/error.ts";

const RETRY_SOON = { "retry-after": "1" };

/**
 * The error for a request that the gateway itself has no room for.
 *
 * @param why The second half of a sentence: "it serves as many requests as it may".
 * @param headers Beside `retry-after`.
 */
export function overloadedGateway(
  why: string,
  headers: Readonly<Record<string, string>> = {},
): GatewayError {
  return new GatewayError(
    "overloaded",
    `The gateway cannot take the request: ${why}, try again in a moment`,
    { code: "gateway_overloaded", headers: { ...RETRY_SOON, ...headers } },
  );
}
