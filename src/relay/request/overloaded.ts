import { GatewayError, type GatewayErrorOptions } from "../../core/error.ts";

const RETRY_SOON = { "retry-after": "1" };

/**
 * Returns the error for a request that the gateway itself has no room for.
 *
 * @param why The second half of a sentence: "it serves as many requests as it may".
 * @param options.headers Beside `retry-after`.
 */
export function overloadedGateway(
  why: string,
  { headers, ...options }: Pick<GatewayErrorOptions, "headers" | "limit"> = {},
): GatewayError {
  return new GatewayError(
    "overloaded",
    `The gateway cannot take the request: ${why}, try again in a moment`,
    {
      ...options,
      code: "gateway_overloaded",
      headers: { ...RETRY_SOON, ...headers },
    },
  );
}
