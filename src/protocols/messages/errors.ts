import type { ErrorKind, GatewayError } from "../../core/error.ts";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import type { EncodedFailure } from "../canonical/codec.ts";
import {
  numberIn,
  saysOverflow,
} from "../canonical/failure/context_overflow.ts";
import {
  type ErrorWords,
  readErrorWords,
} from "../canonical/failure/error_words.ts";
import {
  ERROR_TYPES,
  type Failure,
  type FailureKind,
  kindOfStatus,
  SHAPE_BY_KIND,
  shownFailure,
} from "../canonical/failure/failure.ts";
import { isOverflow, kindOfWords } from "../canonical/failure/failure_kind.ts";
import { readRefusal } from "../canonical/failure/refusal.ts";
import { withCapability } from "./capability.ts";

const KIND_BY_TYPE: ReadonlyMap<string, FailureKind> = new Map([
  ["invalid_request_error", "invalid_request"],
  ["authentication_error", "authentication"],
  ["billing_error", "quota"],
  ["permission_error", "permission"],
  ["not_found_error", "not_found"],
  ["conflict_error", "invalid_request"],
  ["request_too_large", "too_large"],
  ["rate_limit_error", "rate_limited"],
  ["timeout_error", "timeout"],
  ["api_error", "server"],
  ["overloaded_error", "overloaded"],
]);

/** Returns the status, for an error without one, and the type of a kind, in Anthropic's words. */
function shapeOf(kind: FailureKind): readonly [status: number, type: string] {
  if (kind === "quota") return [402, "billing_error"];
  const [status, type] = SHAPE_BY_KIND[kind];
  return [
    kind === "overloaded" ? 529 : status,
    type === "upstream_error" ? "api_error" : type,
  ];
}

const QUOTA_REGEXP =
  /credit balance|insufficient.{0,10}(balance|quota)|billing/i;

/** Parses an error body of any shape. The status is 200 for an error inside an answer. */
export function decodeFailure(
  status: number,
  body: JsonValue | undefined,
): Failure {
  const words = readErrorWords(body);
  const kind = status >= 400 ? kindOf(status, words) : kindInside(words);
  const reportedStatus = status >= 400 ? status : shapeOf(kind)[0];
  const failure: Failure = {
    kind,
    status: reportedStatus,
    message: words.message ?? `The provider answered with status ${status}`,
    type: words.type === undefined
      ? undefined
      : { protocol: "messages", value: words.type },
    code: words.code,
  };
  return readRefusal(failure, { status, body });
}

/**
 * Returns a failure as an HTTP error. The refusal of a capability has 400, the only status with which Claude Code looks
 * for its words.
 */
export function encodeFailure(
  failure: Failure,
  requestId: string,
): EncodedFailure {
  const message = withCapability(failure);
  const shown = message === undefined
    ? shownFailure(failure)
    : { ...failure, kind: "invalid_request" as const, status: 400, message };
  return {
    status: statusOf(shown),
    body: { type: "error", error: errorObject(shown), request_id: requestId },
  };
}

/**
 * Returns the provider's status, if it has one. A prompt that is too long always has 400, the only status by which
 * Claude Code recognizes it.
 */
function statusOf({ kind, status }: Failure): number {
  const isOwn = status !== undefined && status >= 400 && status <= 599;
  return isOwn && kind !== "context_too_long" ? status : shapeOf(kind)[0];
}

/** Returns the `error` object of a body or of an `error` event. */
export function errorObject(failure: Failure): JsonObject {
  const shown = shownFailure(failure);
  const { kind, message, code } = shown;
  return {
    type: shapeOf(kind)[1],
    message: kind === "context_too_long" ? contextMessage(message) : message,
    ...(code === undefined ? {} : { details: { error_code: code } }),
  };
}

/** Returns the kind of an error by its message, else by its type, else by its status. */
function kindOf(status: number, words: ErrorWords): FailureKind {
  if (isOverflow(status, words)) return "context_too_long";
  // A 401 concerns the gateway's own credential, which the caller cannot change. The type does not matter.
  if (status === 401) return "authentication";
  const { type = "", message = "" } = words;
  return unlessQuota(KIND_BY_TYPE.get(type) ?? kindOfStatus(status), message);
}

function kindInside(words: ErrorWords): FailureKind {
  if (saysOverflow(words)) return "context_too_long";
  const kind = KIND_BY_TYPE.get(words.type ?? "") ?? kindOfWords(words);
  return kind === "server" && words.status !== undefined
    ? kindOf(words.status, words)
    : unlessQuota(kind, words.message ?? "");
}

/** Returns `quota` when the message names a quota. Some providers report it under other types. */
function unlessQuota(kind: FailureKind, message: string): FailureKind {
  const mayBeQuota = kind === "invalid_request" || kind === "too_large" ||
    kind === "rate_limited";
  return mayBeQuota && QUOTA_REGEXP.test(message) ? "quota" : kind;
}

/** Returns an error of the gateway in the form of Messages (docs/design.md#errors). */
export function encodeError(error: GatewayError, requestId: string): object {
  return {
    type: "error",
    error: {
      type: error.type ?? TYPE_BY_ERROR_KIND[error.kind],
      message: error.message,
      ...(error.details === undefined ? {} : { details: error.details }),
    },
    request_id: requestId,
  };
}

const TYPE_BY_ERROR_KIND: Readonly<Record<ErrorKind, string>> = {
  ...ERROR_TYPES,
  internal: "api_error",
  upstream: "api_error",
};

/** The words by which Claude Code recognizes that it must compact its conversation. */
const OVERFLOW_WORDS = "prompt is too long";

const LIMIT_REGEXP =
  /(?:maximum|limit|window|context (?:length|size))\D{0,40}(\d[\d,]*)/i;
const NUMBER_REGEXP = /\d[\d,]*/g;

/**
 * Returns a message about a prompt that is too long in Anthropic's wording, which clients act on: `prompt is too long:
 * 130000 tokens > 128000 maximum`. Without both numbers, the provider's message follows.
 */
function contextMessage(message: string): string {
  if (message.toLowerCase().startsWith(OVERFLOW_WORDS)) return message;
  const limit = numberIn(LIMIT_REGEXP.exec(message)?.[1]);
  const numbers = message.match(NUMBER_REGEXP)?.map(numberIn) ?? [];
  const size = numbers.find((number) => number > limit);
  return size === undefined
    ? `${OVERFLOW_WORDS}: ${message}`
    : `${OVERFLOW_WORDS}: ${size} tokens > ${limit} maximum`;
}
