import type { JsonObject, JsonValue } from "../../core/json.ts";
import type { EncodedFailure } from "../canonical/codec.ts";
import {
  type Failure,
  type FailureKind,
  kindOfStatus,
  shownFailure,
} from "../canonical/failure/failure.ts";
import {
  type ErrorWords,
  readErrorWords,
} from "../canonical/failure/error_words.ts";
import { isOverflow, kindOfWords } from "../canonical/failure/failure_kind.ts";
import { readRefusal } from "../canonical/failure/refusal.ts";
import { openAiStatus, openAiType, OVERFLOW_CODE } from "../openai/errors.ts";

/** Reads an error of any shape. The status is 200 for one inside an answer, which may name another. */
export function decodeFailure(
  status: number,
  body: JsonValue | undefined,
): Failure {
  const words = readErrorWords(body);
  const actual = status >= 400 ? status : words.status;
  const kind = actual === undefined
    ? kindOfWords(words)
    : kindOf(actual, words);
  // An error without a status and without a known word counts as a server error.
  const reportedStatus = actual ?? (kind === "server" ? 500 : undefined);
  const failure: Failure = {
    kind,
    status: reportedStatus,
    message: words.message ?? defaultMessage(reportedStatus),
    type: words.type === undefined
      ? undefined
      : { protocol: "chat", value: words.type },
    code: words.code,
    param: words.param,
  };
  return readRefusal(failure, { status, body });
}

function defaultMessage(status: number | undefined): string {
  return status === undefined
    ? "The provider answered with an error"
    : `The provider answered with status ${status}`;
}

/** Returns a failure as an HTTP error. */
export function encodeFailure(failure: Failure): EncodedFailure {
  const shown = shownFailure(failure);
  return { status: openAiStatus(shown), body: { error: errorObject(shown) } };
}

/** Returns the `error` object of a body or of an error frame. */
export function errorObject(failure: Failure): JsonObject {
  const shown = shownFailure(failure);
  return {
    message: shown.message,
    type: openAiType(shown),
    param: shown.param ?? null,
    code: shown.kind === "context_too_long"
      ? OVERFLOW_CODE
      : shown.code ?? CODE_BY_KIND[shown.kind] ?? null,
  };
}

const CODE_BY_KIND: Readonly<Partial<Record<FailureKind, string>>> = {
  filtered: "content_filter",
  quota: "insufficient_quota",
  rate_limited: "rate_limit_exceeded",
};

const QUOTA_REGEXP =
  /insufficient_quota|usage_limit_reached|insufficient balance|billing/i;
const FILTER_REGEXP = /content_filter|content_policy/i;

/** Returns the kind that the error's code, type or message names, or else the kind of the status. */
function kindOf(status: number, words: ErrorWords): FailureKind {
  if (isOverflow(status, words)) return "context_too_long";
  const { code = "", type = "", message = "" } = words;
  const isCallerError = status === 400 || status === 413 || status === 422;
  if (isCallerError && FILTER_REGEXP.test(`${code} ${type}`)) return "filtered";
  const isLimit = status === 429 || status === 402;
  return isLimit && QUOTA_REGEXP.test(`${code} ${type} ${message}`)
    ? "quota"
    : kindOfStatus(status);
}
