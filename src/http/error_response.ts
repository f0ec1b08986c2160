import { GatewayError } from "../core/error.ts";
import { type Addressee, errorBody } from "../core/error_body.ts";

/**
 * Turns whatever was thrown into the error that the caller sees. What nobody foresaw becomes `internal`,
 * its message, data and stack withheld; the original stays as `cause` for the log.
 */
export function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return new GatewayError(
    "internal",
    "The gateway failed to handle the request: report the request id to the administrator",
    { cause: thrown },
  );
}

/** An error as an HTTP response in the caller's protocol (docs/design.md#errors). */
export function errorResponse(
  error: GatewayError,
  addressee: Addressee,
): Response {
  return new Response(JSON.stringify(errorBody(error, addressee)), {
    status: error.status,
    headers: { ...error.headers, "content-type": "application/json" },
  });
}
