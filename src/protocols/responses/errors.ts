import { lookup } from "../../core/collections.ts";
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

/**
 * Reads an error, in any shape that providers send; of a failed response and of the flat `error` event, too.
 *
 * @param status The HTTP status; 200 for an error inside an answer.
 */
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
        : "The provider gave up on the answer and does not say why"),
    type: words.type === undefined
      ? undefined
      : { protocol: "responses", value: words.type },
    code: words.code,
    param: words.param,
    retryAfterMs: resetIn(body) ?? delayIn(words.message),
  };
  return readRefusal(failure, { status, body });
}

/** Writes a failure as an HTTP error. */
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

/** Clients act on the code of these two; an upstream's own would tell them nothing. */
function errorCode({ kind, code }: Failure): string | null {
  if (kind === "context_too_long") return OVERFLOW_CODE;
  const isObeyed = code !== undefined && OBEYED_CODES.has(code);
  return (kind === "quota" && !isObeyed ? undefined : code) ??
    CODE_BY_KIND[kind] ?? null;
}

/**
 * Writes a failure as the `error` of a failed response. Codex reads `code` and `message` there: some codes end
 * the turn or shorten the conversation, every other one makes it try again, after the time in the message.
 */
export function failedError(failure: Failure): JsonObject {
  const shown = shownFailure(failure);
  const { kind, code } = shown;
  const isObeyed = kind !== "context_too_long" && code !== undefined &&
    OBEYED_CODES.has(code);
  return {
    code: isObeyed ? code : CODE_BY_KIND[kind] ?? "server_error",
    message: withDelay(shown),
  };
}

/** Codes of a failed response that clients act on; passed on as they come. */
const OBEYED_CODES: ReadonlySet<string> = new Set([
  "server_error",
  "rate_limit_exceeded",
  "context_length_exceeded",
  "insufficient_quota",
  "usage_not_included",
  "invalid_prompt",
  "cyber_policy",
  "bio_policy",
]);

const CODE_BY_KIND: Readonly<Partial<Record<FailureKind, string>>> = {
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

/** What the words say goes before what the status says. */
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

/** What the words say, else the status that they name. */
function kindInsideAnswer(words: ErrorWords): FailureKind {
  const kind = kindOfWords(words);
  return kind === "server" && words.status !== undefined
    ? kindOf(words.status, words)
    : kind;
}

/** A refusal of the gateway's credential stays one whatever its code. */
function isPlausible(kind: FailureKind, status: number): boolean {
  return status !== 401 && status !== 403 || kind === "quota";
}

/** When a used-up window of ChatGPT begins again. */
function resetIn(body: JsonValue | undefined): number | undefined {
  const error = isJsonObject(body) ? body.error : undefined;
  return isJsonObject(error) ? secondsIn(error.resets_in_seconds) : undefined;
}

function secondsIn(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" ? saneWaitMs(value * 1000) : undefined;
}

const DELAY_REGEXP = /try again in (\d+(?:\.\d+)?)\s*(ms|s|seconds?)\b/i;

/** The delay that a rate limit's message names. */
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

/** Writes an error of the gateway's own; one that waiting alone helps against as {@linkcode usageLimit} has it. */
export function encodeError(error: GatewayError): object {
  const { error: shown } = encodeOpenAiError(error);
  return { error: { ...shown, ...usageLimit(error.resetsAtMs) } };
}

/**
 * The fields of an error that says that something is used up, as the back end of ChatGPT has them: Codex stops at this
 * one with the time, and repeats every other 429 (codex-rs/codex-api/src/api_bridge.rs of openai/codex).
 *
 * @param resetsAtMs When it begins again, in milliseconds since 1970; nothing is written where that is not known.
 */
function usageLimit(resetsAtMs: number | undefined): JsonObject {
  return resetsAtMs === undefined ? {} : {
    type: "usage_limit_reached",
    resets_at: Math.ceil(resetsAtMs / 1000),
  };
}
