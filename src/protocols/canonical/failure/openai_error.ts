import type { JsonObject } from "../../../core/json.ts";
import type { ErrorKind, GatewayError } from "../../../core/error.ts";

/** Writes an error of the gateway's own as both of OpenAI's protocols spell errors (docs/design.md#errors). */
export function encodeOpenAiError(
  error: GatewayError,
): { readonly error: JsonObject } {
  return {
    error: {
      message: error.message,
      type: error.type ?? TYPE_BY_KIND[error.kind],
      param: error.param ?? null,
      code: error.code ?? null,
    },
  };
}

const TYPE_BY_KIND: Readonly<Record<ErrorKind, string>> = {
  invalid_request: "invalid_request_error",
  unauthenticated: "authentication_error",
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
