import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../core/json.ts";
import { lookup } from "../../core/lookup.ts";
import type { EncodedFailure } from "../canonical/codec.ts";
import {
  type Failure,
  type FailureKind,
  kindOfStatus,
  shownFailure,
} from "../canonical/failure.ts";
import { openAiStatus, openAiType } from "../canonical/openai_failure.ts";

/** An error in any of the shapes that Responses providers send. */
interface ErrorFields {
  readonly message: string | undefined;
  readonly type: string | undefined;
  readonly code: string | undefined;
  readonly param: string | undefined;
  readonly retryAfterMs: number | undefined;
}

/**
 * Reads an error: `{"error":{message,type,param,code}}`, the `error` of a failed response and the flat `error`
 * event, `{"detail":"…"}` (the Codex back end), `{"error":"…","code":"…"}` (xAI).
 *
 * @param status The HTTP status; 200 for an error inside an answer.
 */
export function decodeFailure(
  status: number,
  body: JsonValue | undefined,
): Failure {
  const fields = errorFields(body);
  return {
    kind: kindOf(status, fields),
    status: status >= 400 ? status : undefined,
    message: fields.message ??
      (status >= 400
        ? `The provider answered with status ${status}`
        : "The provider gave up on the answer and does not say why"),
    type: fields.type === undefined
      ? undefined
      : { protocol: "responses", value: fields.type },
    code: fields.code,
    param: fields.param,
    retryAfterMs: fields.retryAfterMs,
  };
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
        code: shown.code ?? CODE_BY_KIND[shown.kind] ?? null,
      },
    },
  };
}

/**
 * Writes a failure as the `error` of a failed response. Codex reads `code` and `message` there: some codes end
 * the turn or shorten the conversation, every other one makes it try again, after the time in the message.
 */
export function failedError(failure: Failure): JsonObject {
  const shown = shownFailure(failure);
  const code = shown.code !== undefined && OBEYED_CODES.has(shown.code)
    ? shown.code
    : CODE_BY_KIND[shown.kind] ?? "server_error";
  return { code, message: withDelay(shown) };
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
  context_too_long: "context_length_exceeded",
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

const CONTEXT_REGEXP =
  /context length|context window|prompt is too long|input tokens exceed|maximum context/i;

/** What the code says goes before what the status says. */
function kindOf(
  status: number,
  { code, type, message }: ErrorFields,
): FailureKind {
  const named = lookup(KIND_BY_CODE, code ?? "") ??
    lookup(KIND_BY_CODE, type ?? "");
  if (named !== undefined && isPlausible(named, status)) return named;
  if (status >= 400 && status < 500 && CONTEXT_REGEXP.test(message ?? "")) {
    return "context_too_long";
  }
  if (status >= 400) return kindOfStatus(status);
  if (type === "invalid_request_error" || code?.includes("image")) {
    return "invalid_request";
  }
  return "server";
}

/** A refusal of the gateway's credential stays one whatever its code. */
function isPlausible(kind: FailureKind, status: number): boolean {
  return status !== 401 && status !== 403 || kind === "quota";
}

function errorFields(body: JsonValue | undefined): ErrorFields {
  const outer = isJsonObject(body) ? body : {};
  const inner = isJsonObject(outer.error) ? outer.error : outer;
  const message = words(inner.message) ?? words(outer.error) ??
    words(outer.detail) ?? detailMessage(outer.detail);
  return {
    message,
    // The flat `error` event has its own name there.
    type: inner.type === "error" ? undefined : words(inner.type),
    code: words(inner.code) ?? words(outer.code),
    param: words(inner.param),
    retryAfterMs: secondsIn(inner.resets_in_seconds) ?? delayIn(message),
  };
}

function words(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function detailMessage(detail: JsonValue | undefined): string | undefined {
  const first = Array.isArray(detail) ? detail[0] : detail;
  if (!isJsonObject(first)) return undefined;
  return words(first.message) ?? words(first.msg) ?? words(first.code);
}

function secondsIn(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" && value >= 0 ? value * 1000 : undefined;
}

const DELAY_REGEXP = /try again in (\d+(?:\.\d+)?)\s*(ms|s|seconds?)\b/i;

/** The delay that a rate limit's message names. */
function delayIn(message: string | undefined): number | undefined {
  const [, amount, unit] = DELAY_REGEXP.exec(message ?? "") ?? [];
  if (amount === undefined) return undefined;
  return Math.ceil(Number(amount) * (unit?.toLowerCase() === "ms" ? 1 : 1000));
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
