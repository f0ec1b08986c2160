import { type ErrorKind, GatewayError } from "../../../../src/base/error.ts";
import type { JsonObject } from "../../../../src/base/json.ts";

/** The error type of each kind, in the OpenAI shape (chat, responses) and in the Messages shape. */
const TYPES: Readonly<
  Partial<Record<ErrorKind, readonly [openai: string, messages: string]>>
> = {
  invalid_request: ["invalid_request_error", "invalid_request_error"],
  unauthenticated: ["invalid_request_error", "authentication_error"],
  not_found: ["invalid_request_error", "not_found_error"],
  method_not_allowed: ["invalid_request_error", "invalid_request_error"],
  rate_limited: ["requests", "rate_limit_error"],
  internal: ["server_error", "api_error"],
  overloaded: ["server_error", "overloaded_error"],
};

/** Returns the refusal of a Messages request; its message names the faulty field. */
export function invalid(message: string): GatewayError {
  return new GatewayError("invalid_request", message);
}

/** Returns the error object of a body or a stream in the OpenAI shape. */
export function openaiError(
  { kind, message, param, code }:
    & Pick<
      GatewayError,
      "kind" | "message" | "code"
    >
    & { readonly param?: string | undefined },
): JsonObject {
  const type = TYPES[kind]?.[0] ?? "";
  return { message, type, param: param ?? null, code: code ?? null };
}

/** Returns the error object of a body or a stream in the Messages shape. */
export function messagesError(
  { kind, message, details }: Pick<GatewayError, "kind" | "message"> & {
    readonly details?: GatewayError["details"];
  },
): JsonObject {
  const { error_code } = details ?? {};
  return {
    type: TYPES[kind]?.[1] ?? "",
    message,
    ...(typeof error_code === "string" ? { details: { error_code } } : {}),
  };
}
