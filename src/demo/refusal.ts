import type { JsonObject } from "../core/json.ts";

/** Why a provider refuses a request. */
export type RefusalKind = keyof typeof SHAPES;

/** Status and error type of each kind, in the OpenAI shape (chat, responses) and in the Messages shape. */
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

/** What a refusal tells beside its message. */
export interface RefusalOptions {
  /** The OpenAI shape alone has room for it. */
  readonly param?: string;
  /** The OpenAI shape alone has room for it. */
  readonly code?: string;
  /** The Messages shape alone has room for it: what its SDKs act on. */
  readonly errorCode?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that the simulated provider does not answer; thrown by whatever finds the fault. */
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

/** The refusal of a Messages request; the message itself says where the fault is. */
export function invalid(message: string): Refusal {
  return new Refusal("invalid", message);
}

/** The error object that stands inside a body or a stream of the OpenAI shape. */
export function openaiError(refusal: Refusal): JsonObject {
  return {
    message: refusal.message,
    type: SHAPES[refusal.kind].openai,
    param: refusal.param,
    code: refusal.code,
  };
}

/** The error object that stands inside a body or a stream of the Messages shape. */
export function messagesError(refusal: Refusal): JsonObject {
  return {
    type: SHAPES[refusal.kind].messages,
    message: refusal.message,
    ...(refusal.errorCode === undefined
      ? {}
      : { details: { error_code: refusal.errorCode } }),
  };
}
