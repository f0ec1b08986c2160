import type { ErrorKind, GatewayError } from "./error.ts";
import type { Protocol } from "./protocol.ts";

/** What the table of docs/design.md#errors calls each kind: OpenAI shape, Messages shape. */
const TYPES_BY_KIND: Readonly<
  Record<ErrorKind, readonly [openai: string, messages: string]>
> = {
  invalid_request: ["invalid_request_error", "invalid_request_error"],
  unauthenticated: ["authentication_error", "authentication_error"],
  not_found: ["not_found_error", "not_found_error"],
  method_not_allowed: ["invalid_request_error", "invalid_request_error"],
  body_timeout: ["timeout_error", "timeout_error"],
  body_too_large: ["request_too_large", "request_too_large"],
  unsupported_media_type: ["invalid_request_error", "invalid_request_error"],
  upgrade_required: ["invalid_request_error", "invalid_request_error"],
  rate_limited: ["rate_limit_error", "rate_limit_error"],
  internal: ["server_error", "api_error"],
  upstream: ["upstream_error", "api_error"],
  overloaded: ["overloaded_error", "overloaded_error"],
  timeout: ["timeout_error", "timeout_error"],
};

/** Who gets an error. */
export interface Addressee {
  /** The protocol that the caller speaks. */
  readonly protocol: Protocol;
  readonly requestId: string;
}

/** How each protocol spells an error. Chat and Responses share one shape; that of Messages tells the request id. */
const SPELLINGS: Readonly<
  Record<Protocol, (error: GatewayError, requestId: string) => object>
> = {
  chat: openaiBody,
  messages: messagesBody,
  responses: openaiBody,
};

/** The error as the caller's protocol spells it (docs/design.md#errors). */
export function errorBody(
  error: GatewayError,
  { protocol, requestId }: Addressee,
): object {
  return SPELLINGS[protocol](error, requestId);
}

function openaiBody(error: GatewayError): object {
  const [type] = TYPES_BY_KIND[error.kind];
  return {
    error: {
      message: error.message,
      type: error.type ?? type,
      param: error.param ?? null,
      code: error.code ?? null,
    },
  };
}

function messagesBody(error: GatewayError, requestId: string): object {
  const [, type] = TYPES_BY_KIND[error.kind];
  return {
    type: "error",
    error: {
      type: error.type ?? type,
      message: error.message,
      ...(error.details === undefined ? {} : { details: error.details }),
    },
    request_id: requestId,
  };
}
