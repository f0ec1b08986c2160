import type { ErrorKind, GatewayError } from "../../core/error.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Failure, FailureKind } from "../canonical/failure/failure.ts";

/** Returns an error of the gateway in the form of both OpenAI protocols (docs/design.md#errors). */
export function encodeOpenAiError(
  error: GatewayError,
): { readonly error: JsonObject } {
  return {
    error: {
      message: error.message,
      type: error.type ?? TYPE_BY_ERROR_KIND[error.kind],
      param: error.param ?? null,
      code: error.code ?? null,
    },
  };
}

const TYPE_BY_ERROR_KIND: Readonly<Record<ErrorKind, string>> = {
  invalid_request: "invalid_request_error",
  unauthenticated: "authentication_error",
  forbidden: "permission_error",
  not_found: "not_found_error",
  method_not_allowed: "invalid_request_error",
  body_timeout: "timeout_error",
  body_too_large: "request_too_large",
  unsupported_media_type: "invalid_request_error",
  upgrade_required: "invalid_request_error",
  rate_limited: "rate_limit_error",
  internal: "server_error",
  upstream: "upstream_error",
  overloaded: "overloaded_error",
  timeout: "timeout_error",
};

/** Returns the `type` of an error in Chat Completions and Responses. */
export function openAiType({ kind }: Failure): string {
  return TYPE_BY_KIND[kind];
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
    return STATUS_BY_KIND[kind];
  }
  return kind === "context_too_long" ? STATUS_BY_KIND[kind] : status;
}

const TYPE_BY_KIND: Readonly<Record<FailureKind, string>> = {
  invalid_request: "invalid_request_error",
  context_too_long: "invalid_request_error",
  too_large: "request_too_large",
  filtered: "invalid_request_error",
  authentication: "upstream_error",
  unauthenticated: "authentication_error",
  permission: "upstream_error",
  forbidden: "upstream_error",
  not_found: "not_found_error",
  quota: "insufficient_quota",
  rate_limited: "rate_limit_error",
  overloaded: "overloaded_error",
  timeout: "timeout_error",
  server: "upstream_error",
  unreachable: "upstream_error",
  untrusted: "upstream_error",
  silent: "timeout_error",
  broken: "upstream_error",
  misconfigured: "upstream_error",
  oversized: "upstream_error",
};

const STATUS_BY_KIND: Readonly<Record<FailureKind, number>> = {
  invalid_request: 400,
  context_too_long: 400,
  too_large: 413,
  filtered: 400,
  authentication: 502,
  unauthenticated: 401,
  permission: 502,
  forbidden: 502,
  not_found: 404,
  quota: 429,
  rate_limited: 429,
  overloaded: 503,
  timeout: 504,
  server: 502,
  unreachable: 502,
  untrusted: 502,
  silent: 504,
  broken: 502,
  misconfigured: 502,
  oversized: 502,
};
