import type { JsonObject } from "../core/json.ts";

/** The reason why a provider rejects a request. */
type RefusalKind = keyof typeof SHAPES;

/** The status and the error type of each kind, in the OpenAI shape (chat, responses) and in the Messages shape. */
export const SHAPES = {
  invalid: {
    status: 400,
    openai: "invalid_request_error",
    messages: "invalid_request_error",
  },
  unauthenticated: {
    status: 401,
    openai: "invalid_request_error",
    messages: "authentication_error",
  },
  not_found: {
    status: 404,
    openai: "invalid_request_error",
    messages: "not_found_error",
  },
  method_not_allowed: {
    status: 405,
    openai: "invalid_request_error",
    messages: "invalid_request_error",
  },
  rate_limited: {
    status: 429,
    openai: "requests",
    messages: "rate_limit_error",
  },
  broken: { status: 500, openai: "server_error", messages: "api_error" },
  overloaded: {
    status: 503,
    openai: "server_error",
    messages: "overloaded_error",
  },
} as const;

/** The fields of a refusal in addition to its message. */
interface RefusalOptions {
  /** The parameter; only in the OpenAI shape. */
  readonly param?: string;
  /** The code; only in the OpenAI shape. */
  readonly code?: string;
  /** The code that the SDKs act on; only in the Messages shape. */
  readonly errorCode?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The error of a request that the simulated provider rejects. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly kind: RefusalKind;
  readonly param: string | null;
  readonly code: string | null;
  readonly errorCode: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    kind: RefusalKind,
    message: string,
    options: RefusalOptions = {},
  ) {
    super(message);
    this.kind = kind;
    this.param = options.param ?? null;
    this.code = options.code ?? null;
    this.errorCode = options.errorCode;
    this.headers = options.headers ?? {};
  }
}

/** Returns the refusal of a Messages request; its message names the faulty field. */
export function invalid(message: string): Refusal {
  return new Refusal("invalid", message);
}

/** Returns the error object of a body or a stream in the OpenAI shape. */
export function openaiError(refusal: Refusal): JsonObject {
  return {
    message: refusal.message,
    type: SHAPES[refusal.kind].openai,
    param: refusal.param,
    code: refusal.code,
  };
}

/** Returns the error object of a body or a stream in the Messages shape. */
export function messagesError(refusal: Refusal): JsonObject {
  return {
    type: SHAPES[refusal.kind].messages,
    message: refusal.message,
    ...(refusal.errorCode === undefined
      ? {}
      : { details: { error_code: refusal.errorCode } }),
  };
}
