import type { ErrorKind, GatewayError } from "@gateway/base/error";
import type { JsonObject, JsonValue } from "@gateway/base/json";
import type { EncodedFailure } from "../canonical/codec.ts";
import { numberIn } from "../canonical/failure/context_overflow.ts";
import {
  ERROR_TYPES,
  type Failure,
  type FailureKind,
  SHAPE_BY_KIND,
  shownFailure,
  shownStatus,
} from "../canonical/failure/failure.ts";
import { readFailure } from "../canonical/failure/failure_kind.ts";
import { withCapability } from "./capability.ts";

/**
 * Returns the status and the type for a kind of failure, in Anthropic's words. The status is used for a failure that
 * has no status.
 */
function shapeOf(kind: FailureKind): readonly [status: number, type: string] {
  if (kind === "quota") return [402, "billing_error"];
  const [status, type] = SHAPE_BY_KIND[kind];
  return [
    kind === "overloaded" ? 529 : status,
    type === "upstream_error" ? "api_error" : type,
  ];
}

/** Parses an error body of any shape. The status is 200 for an error inside an answer. */
export function decodeFailure(
  status: number,
  body: JsonValue | undefined,
): Failure {
  const failure = readFailure(
    status,
    body,
    "messages",
    "The provider answered with status 200",
  );
  const reported = failure.status ?? shapeOf(failure.kind)[0];
  return { ...failure, status: reported, param: undefined };
}

/**
 * Returns a failure as an HTTP error. The refusal of a capability gets the status 400, because Claude Code recognizes
 * such a refusal only with that status.
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
    // Claude Code recognizes the error for a prompt that is too long only with the status 400.
    status: shownStatus(shown) ?? shapeOf(shown.kind)[0],
    body: { type: "error", error: errorObject(shown), request_id: requestId },
  };
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

/** Claude Code compacts its conversation after an error with these words. */
const OVERFLOW_WORDS = "prompt is too long";

const LIMIT_REGEXP =
  /(?:maximum|limit|window|context (?:length|size))\D{0,40}(\d[\d,]*)/i;
const NUMBER_REGEXP = /\d[\d,]*/g;

/**
 * Rewrites a message about a prompt that is too long. Clients recognize the words of Anthropic: `prompt is too long:
 * 130000 tokens > 128000 maximum`. If the message lacks one of the two numbers, `prompt is too long` is put before the
 * message.
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
