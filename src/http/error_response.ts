import { GatewayError } from "../core/error.ts";
import type { Protocol } from "../core/protocol.ts";
import { stopHeaders } from "../core/should_retry.ts";
import { CODECS } from "../protocols/mod.ts";

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

/** Who gets an error. */
export interface Addressee {
  /** The protocol that the caller speaks. */
  readonly protocol: Protocol;
  readonly requestId: string;
}

/** An error as an HTTP response in the caller's protocol (docs/design.md#errors). */
export function errorResponse(
  error: GatewayError,
  { protocol, requestId }: Addressee,
): Response {
  const body = CODECS[protocol].encodeError(error, requestId);
  return new Response(JSON.stringify(body), {
    status: error.status,
    headers: {
      ...(error.isFinal && stopHeaders(protocol, error.status)),
      ...error.headers,
      "content-type": "application/json",
    },
  });
}
