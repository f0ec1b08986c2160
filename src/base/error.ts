/**
 * The kind of an error, from the caller's point of view. Each kind has one HTTP status (docs/design.md#errors). Each
 * protocol spells the kinds differently in a body.
 */
export type ErrorKind = keyof typeof STATUS_BY_KIND;

const STATUS_BY_KIND = {
  invalid_request: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  body_timeout: 408,
  body_too_large: 413,
  unsupported_media_type: 415,
  upgrade_required: 426,
  rate_limited: 429,
  internal: 500,
  upstream: 502,
  overloaded: 503,
  timeout: 504,
} as const;

/** The options of a {@linkcode GatewayError} besides its kind and message. */
export interface GatewayErrorOptions {
  /** The request field at fault, in the caller's spelling, such as `model` or `tools[0].name`. */
  readonly param?: string;
  /** The error type in the response, such as `provider_limits_timeout`; default: the protocol's type for this kind. */
  readonly type?: string;
  /** A stable identifier that programs may compare, such as `model_not_found`. */
  readonly code?: string;
  /** Protocol-specific facts that an SDK acts on; rendered as `error.details` (Messages only). */
  readonly details?: Readonly<Record<string, unknown>>;
  /** Response headers that belong to the error, such as `retry-after` or `allow`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The time at which the exhausted limit or quota resets, in milliseconds since 1970. An earlier retry is useless. */
  readonly resetsAtMs?: number | undefined;
  /** The limit that rejects the request, in words; for the log only. */
  readonly limit?: string;
  /** The group of tokens that the limit belongs to; for the log only. */
  readonly group?: string | undefined;
  /** The reason in words for the log; it holds nothing secret. Default: the message, for a status above 500. */
  readonly reason?: string;
  /** True when no retry within a minute helps. Default: true only when the caller has no access. */
  readonly isFinal?: boolean;
  /** The error that caused this one; for the log only, never shown to a caller. */
  readonly cause?: unknown;
}

/** The longest message and field path, in UTF-16 code units. Both may quote the caller, whose text has any length. */
const MAX_LENGTH = { message: 2000, param: 200 };

/**
 * An error that the caller receives. Its message is safe for the caller: it contains no secret, prompt, answer or
 * upstream address. It stays short even when it quotes the caller.
 */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  readonly kind: ErrorKind;
  readonly param: string | undefined;
  readonly type: string | undefined;
  readonly code: string | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly resetsAtMs: number | undefined;
  readonly limit: string | undefined;
  readonly group: string | undefined;
  readonly reason: string | undefined;
  readonly isFinal: boolean;

  constructor(
    kind: ErrorKind,
    message: string,
    options: GatewayErrorOptions = {},
  ) {
    super(shorten(message, MAX_LENGTH.message), { cause: options.cause });
    this.kind = kind;
    this.param = options.param && shorten(options.param, MAX_LENGTH.param);
    this.type = options.type;
    this.code = options.code;
    this.details = options.details;
    this.headers = options.headers ?? {};
    this.resetsAtMs = options.resetsAtMs;
    this.limit = options.limit;
    this.group = options.group;
    this.reason = options.reason;
    this.isFinal = options.isFinal ??
      (kind === "unauthenticated" || kind === "forbidden");
  }

  /** The HTTP status of the kind. */
  get status(): number {
    return STATUS_BY_KIND[this.kind];
  }
}

/** Adds a full stop to a text that has none. */
export function asSentence(text: string): string {
  return text.endsWith(".") ? text : `${text}.`;
}

/**
 * Returns the beginning of a text that another program wrote, so that a message that quotes the text stays short.
 *
 * @param maxLength In UTF-16 code units, without the ellipsis.
 */
export function shorten(text: string, maxLength: number): string {
  return text.length > maxLength
    ? `${text.slice(0, maxLength).toWellFormed()}…`
    : text;
}
