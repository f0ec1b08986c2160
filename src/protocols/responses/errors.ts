import { lookup, wordSet } from "../../core/collections.ts";
import type { GatewayError } from "../../core/error.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../core/json.ts";
import { saneWaitMs } from "../../core/retry_after.ts";
import type { EncodedFailure } from "../canonical/codec.ts";
import {
  type ErrorWords,
  readErrorWords,
} from "../canonical/failure/error_words.ts";
import {
  type Failure,
  type FailureKind,
  kindOfStatus,
  shownFailure,
} from "../canonical/failure/failure.ts";
import { isOverflow, kindOfWords } from "../canonical/failure/failure_kind.ts";
import { readRefusal } from "../canonical/failure/refusal.ts";
import {
  encodeOpenAiError,
  openAiStatus,
  openAiType,
  OVERFLOW_CODE,
} from "../openai/errors.ts";

/** Parses an error of any shape, also a failed response. The status is 200 for one inside an answer. */
export function decodeFailure(
  status: number,
  body: JsonValue | undefined,
): Failure {
  const words = readErrorWords(body);
  const failure: Failure = {
    kind: kindOf(status, words),
    status: status >= 400 ? status : undefined,
    message: words.message ??
      (status >= 400
        ? `The provider answered with status ${status}`
        : "The provider ended the answer without a reason"),
    type: words.type === undefined
      ? undefined
      : { protocol: "responses", value: words.type },
    code: words.code,
    param: words.param,
    retryAfterMs: resetIn(body) ?? delayIn(words.message),
    ...(status >= 400 ? { resetsAtMs: resetAt(body) } : {}),
  };
  return readRefusal(failure, { status, body });
}

/** Returns a failure as an HTTP error. */
export function encodeFailure(failure: Failure): EncodedFailure {
  const shown = shownFailure(failure);
  return {
    status: openAiStatus(shown),
    body: {
      error: {
        message: shown.message,
        type: openAiType(shown),
        param: shown.param ?? null,
        code: errorCode(shown),
        ...usageLimit(shown.resetsAtMs),
      },
    },
  };
}

/** Returns the error's code: a known one for an overflow or a quota, on which clients act. */
function errorCode({ kind, code }: Failure): string | null {
  if (kind === "context_too_long") return OVERFLOW_CODE;
  const isActionable = code !== undefined && ACTIONABLE_CODES.has(code);
  return (kind === "quota" && !isActionable ? undefined : code) ??
    CODE_BY_KIND[kind] ?? null;
}

/**
 * Returns a failure as the `error` of a failed response. Codex reads its `code` and `message`. Some codes end the turn
 * or shorten the conversation. On any other code, Codex retries after the time in the message.
 */
export function failedError(failure: Failure): JsonObject {
  const shown = shownFailure(failure);
  const { kind, code } = shown;
  const isActionable = kind !== "context_too_long" && code !== undefined &&
    ACTIONABLE_CODES.has(code);
  return {
    code: isActionable ? code : CODE_BY_KIND[kind] ?? "server_error",
    message: withDelay(shown),
  };
}

/** The codes of a failed response that clients act on. They are forwarded unchanged. */
const ACTIONABLE_CODES = wordSet(`
  server_error rate_limit_exceeded context_length_exceeded insufficient_quota
  usage_not_included invalid_prompt cyber_policy bio_policy
`);

const CODE_BY_KIND: Readonly<Partial<Record<FailureKind, string>>> = {
  unauthenticated: "token_removed",
  invalid_request: "invalid_prompt",
  context_too_long: OVERFLOW_CODE,
  too_large: "invalid_prompt",
  filtered: "invalid_prompt",
  quota: "insufficient_quota",
  rate_limited: "rate_limit_exceeded",
};

const KIND_BY_CODE: Readonly<Record<string, FailureKind>> = {
  context_length_exceeded: "context_too_long",
  insufficient_quota: "quota",
  usage_limit_reached: "quota",
  usage_not_included: "quota",
  rate_limit_exceeded: "rate_limited",
  server_is_overloaded: "overloaded",
  slow_down: "overloaded",
  content_filter: "filtered",
  cyber_policy: "filtered",
  bio_policy: "filtered",
  image_content_policy_violation: "filtered",
  invalid_prompt: "invalid_request",
  server_error: "server",
};

/** Returns the kind that the error's code, type or message names, or else the kind of the status. */
function kindOf(status: number, words: ErrorWords): FailureKind {
  if (isOverflow(status, words)) return "context_too_long";
  const { type = "", code = "" } = words;
  const named = lookup(KIND_BY_CODE, code) ?? lookup(KIND_BY_CODE, type);
  if (status >= 400) {
    return named !== undefined && isPlausible(named, status)
      ? named
      : kindOfStatus(status);
  }
  if (named !== undefined) return named;
  return code.includes("image") ? "invalid_request" : kindInsideAnswer(words);
}

/** Returns the kind that the error's code, type or message names, or else the kind of the status in the body. */
function kindInsideAnswer(words: ErrorWords): FailureKind {
  const kind = kindOfWords(words);
  return kind === "server" && words.status !== undefined
    ? kindOf(words.status, words)
    : kind;
}

/** Returns false when a code must not replace the kind of the status, such as a rejected credential. */
function isPlausible(kind: FailureKind, status: number): boolean {
  return status !== 401 && status !== 403 || kind === "quota";
}

/** Returns the time until an exhausted ChatGPT window resets, in milliseconds. */
function resetIn(body: JsonValue | undefined): number | undefined {
  return secondsIn(errorIn(body)?.resets_in_seconds);
}

/** Returns the time at which an exhausted ChatGPT window resets, in milliseconds since 1970. */
function resetAt(body: JsonValue | undefined): number | undefined {
  const seconds = errorIn(body)?.resets_at;
  return typeof seconds === "number" ? seconds * 1000 : undefined;
}

function errorIn(body: JsonValue | undefined): JsonObject | undefined {
  const error = isJsonObject(body) ? body.error : undefined;
  return isJsonObject(error) ? error : undefined;
}

function secondsIn(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" ? saneWaitMs(value * 1000) : undefined;
}

const DELAY_REGEXP = /try again in (\d+(?:\.\d+)?)\s*(ms|s|seconds?)\b/i;

/** Returns the delay that a rate limit's message names, in milliseconds. */
function delayIn(message: string | undefined): number | undefined {
  const [, amount, unit] = DELAY_REGEXP.exec(message ?? "") ?? [];
  if (amount === undefined) return undefined;
  const unitMs = unit?.toLowerCase() === "ms" ? 1 : 1000;
  return saneWaitMs(Math.ceil(Number(amount) * unitMs));
}

function withDelay({ message, kind, retryAfterMs }: Failure): string {
  if (
    kind !== "rate_limited" || retryAfterMs === undefined ||
    DELAY_REGEXP.test(message)
  ) return message;
  return `${message.replace(/\.?$/, ".")} Please try again in ${
    retryAfterMs / 1000
  }s.`;
}

/** Returns an error of the gateway. An exhausted limit has the fields of {@linkcode usageLimit}. */
export function encodeError(error: GatewayError): object {
  const { error: shown } = encodeOpenAiError(error);
  return { error: { ...shown, ...usageLimit(error.resetsAtMs) } };
}

/**
 * Returns the fields of an error about an exhausted limit, as the ChatGPT back end sends them. Codex stops at this
 * error and shows the time, but repeats every other 429 (codex-rs/codex-api/src/api_bridge.rs of openai/codex).
 *
 * @param resetsAtMs The time at which the limit resets, in milliseconds since 1970. Without it, no field is written.
 */
function usageLimit(resetsAtMs: number | undefined): JsonObject {
  return resetsAtMs === undefined ? {} : {
    type: "usage_limit_reached",
    resets_at: Math.ceil(resetsAtMs / 1000),
  };
}
