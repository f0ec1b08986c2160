import { wordSet } from "@gateway/base/collections";
import type { GatewayError } from "@gateway/base/error";
import type { JsonObject, JsonValue } from "@gateway/base/json";
import type { EncodedFailure } from "../canonical/codec.ts";
import {
  type Failure,
  type FailureKind,
  shownFailure,
} from "../canonical/failure/failure.ts";
import { kindOfWords, readFailure } from "../canonical/failure/failure_kind.ts";
import {
  encodeOpenAiError,
  openAiStatus,
  openAiType,
  OVERFLOW_CODE,
} from "../openai/errors.ts";

/** Parses an error of any shape, or a failed response. The status is 200 for an error inside an answer. */
export function decodeFailure(
  status: number,
  body: JsonValue | undefined,
): Failure {
  const failure = readFailure(
    status,
    body,
    "responses",
    "The provider ended the answer without a reason",
  );
  return status >= 400 ? failure : { ...failure, status: undefined };
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

/**
 * Returns the code of an error. For a prompt that is too long and for a quota, this is the code that clients recognize.
 */
function errorCode({ kind, code }: Failure): string | null {
  if (kind === "context_too_long") return OVERFLOW_CODE;
  const isActionable = code !== undefined && ACTIONABLE_CODES.has(code);
  return (kind === "quota" && !isActionable ? undefined : code) ??
    CODE_BY_KIND[kind] ?? null;
}

/**
 * Returns a failure as the `error` of a failed response. Codex reads the `code` and `message` of the error. On some
 * codes, Codex ends the turn or shortens the conversation. On any other code, Codex retries after the time in the
 * message.
 */
export function failedError(failure: Failure): JsonObject {
  const shown = shownFailure(failure);
  const { kind, code } = shown;
  const isActionable = code !== undefined && ACTIONABLE_CODES.has(code) &&
    kindOfWords({ code }) === kind;
  return {
    code: isActionable ? code : CODE_BY_KIND[kind] ?? "server_error",
    message: withDelay(shown),
  };
}

/** The codes on which clients act in a failed response. These codes are forwarded unchanged. */
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

/** The words in a message that make Codex wait for the given time. */
const DELAY_REGEXP = /try again in \d+(?:\.\d+)?\s*(?:ms|s|seconds?)\b/i;

function withDelay({ message, kind, retryAfterMs }: Failure): string {
  if (
    kind !== "rate_limited" || retryAfterMs === undefined ||
    DELAY_REGEXP.test(message)
  ) return message;
  return `${message.replace(/\.?$/, ".")} Please try again in ${
    retryAfterMs / 1000
  }s.`;
}

/** Returns an error of the gateway. If a limit is exhausted, the error has the fields of {@linkcode usageLimit}. */
export function encodeError(error: GatewayError): object {
  const { error: shown } = encodeOpenAiError(error);
  return { error: { ...shown, ...usageLimit(error.resetsAtMs) } };
}

/**
 * Returns the fields of an error about an exhausted limit, as the ChatGPT back end sends them. At this error, Codex
 * stops and shows the time. At any other 429, Codex repeats the request (codex-rs/codex-api/src/api_bridge.rs of
 * openai/codex).
 *
 * @param resetsAtMs The time at which the limit resets, in milliseconds since 1970. Without this time, no field is
 * written.
 */
function usageLimit(resetsAtMs: number | undefined): JsonObject {
  return resetsAtMs === undefined ? {} : {
    type: "usage_limit_reached",
    resets_at: Math.ceil(resetsAtMs / 1000),
  };
}
