import type { GatewayError } from "../../core/error.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  ERROR_TYPES,
  type Failure,
  type FailureKind,
} from "../canonical/failure/failure.ts";

/** Returns an error of the gateway in the form of both OpenAI protocols (docs/design.md#errors). */
export function encodeOpenAiError(
  error: GatewayError,
): { readonly error: JsonObject } {
  return {
    error: {
      message: error.message,
      type: error.type ?? ERROR_TYPES[error.kind],
      param: error.param ?? null,
      code: error.code ?? null,
    },
  };
}

/** Returns the `type` of an error in Chat Completions and Responses. */
export function openAiType({ kind }: Failure): string {
  return SHAPE_BY_KIND[kind][1];
}

/**
 * The code of an exceeded context, which replaces the provider's code. Clients of both protocols shorten their
 * conversation on it.
 */
export const OVERFLOW_CODE = "context_length_exceeded";

/**
 * Returns the provider's status, or a default when it has none or one of another protocol. A prompt that is too long
 * always has the same status.
 */
export function openAiStatus({ kind, status }: Failure): number {
  if (status === undefined || status < 400 || status > 599 || status === 529) {
    return SHAPE_BY_KIND[kind][0];
  }
  return kind === "context_too_long" ? SHAPE_BY_KIND[kind][0] : status;
}

/** The status, for an error without one, and the type of each kind. */
const SHAPE_BY_KIND: Readonly<
  Record<FailureKind, readonly [status: number, type: string]>
> = {
  invalid_request: [400, "invalid_request_error"],
  context_too_long: [400, "invalid_request_error"],
  too_large: [413, "request_too_large"],
  filtered: [400, "invalid_request_error"],
  authentication: [502, "upstream_error"],
  unauthenticated: [401, "authentication_error"],
  permission: [502, "upstream_error"],
  forbidden: [502, "upstream_error"],
  not_found: [404, "not_found_error"],
  quota: [429, "insufficient_quota"],
  rate_limited: [429, "rate_limit_error"],
  overloaded: [503, "overloaded_error"],
  timeout: [504, "timeout_error"],
  server: [502, "upstream_error"],
  unreachable: [502, "upstream_error"],
  untrusted: [502, "upstream_error"],
  silent: [504, "timeout_error"],
  broken: [502, "upstream_error"],
  misconfigured: [502, "upstream_error"],
  oversized: [502, "upstream_error"],
};
