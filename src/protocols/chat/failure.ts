import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../core/json.ts";
import type { EncodedFailure } from "../canonical/codec.ts";
import {
  type Failure,
  type FailureKind,
  kindOfStatus,
  shownFailure,
} from "../canonical/failure.ts";
import { openAiStatus, openAiType } from "../canonical/openai_failure.ts";

/** An error body in any of the shapes that Chat providers send. */
interface ErrorFields {
  readonly message: string | undefined;
  readonly type: string | undefined;
  readonly code: string | undefined;
  readonly param: string | undefined;
  /** The HTTP status that an error inside an answer names. */
  readonly status: number | undefined;
}

/**
 * Reads an error body: `{"error":{message,type,param,code}}`, and the shapes of providers that deviate:
 * `{"error":"…","code":"…"}`, `{"detail":"…"}`, `{"message":"…","type":"…"}`, numbers as codes.
 *
 * @param status The HTTP status; 200 for an error inside an answer, whose body may name another.
 */
export function decodeFailure(
  status: number,
  body: JsonValue | undefined,
): Failure {
  const fields = errorFields(body);
  const actual = status >= 400 ? status : fields.status ?? 500;
  return {
    kind: kindOf(actual, fields),
    status: actual,
    message: fields.message ?? `The provider answered with status ${actual}`,
    type: fields.type === undefined
      ? undefined
      : { protocol: "chat", value: fields.type },
    code: fields.code,
    param: fields.param,
  };
}

/** Writes a failure as an HTTP error. */
export function encodeFailure(failure: Failure): EncodedFailure {
  const shown = shownFailure(failure);
  return { status: openAiStatus(shown), body: { error: errorObject(shown) } };
}

/** The `error` object of a body or of an error frame. */
export function errorObject(failure: Failure): JsonObject {
  const shown = shownFailure(failure);
  return {
    message: shown.message,
    type: openAiType(shown),
    param: shown.param ?? null,
    code: shown.code ?? CODE_BY_KIND[shown.kind] ?? null,
  };
}

const CODE_BY_KIND: Readonly<Partial<Record<FailureKind, string>>> = {
  context_too_long: "context_length_exceeded",
  filtered: "content_filter",
  quota: "insufficient_quota",
  rate_limited: "rate_limit_exceeded",
};

function errorFields(body: JsonValue | undefined): ErrorFields {
  const outer = isJsonObject(body) ? body : {};
  const inner = isJsonObject(outer.error) ? outer.error : outer;
  return {
    message: text(inner.message) ?? text(outer.error) ?? text(outer.detail) ??
      text(outer.message),
    type: text(inner.type),
    code: text(inner.code) ??
      (typeof inner.code === "number" ? String(inner.code) : undefined),
    param: text(inner.param),
    status: [inner.status, inner.status_code, inner.code, outer.raw_status_code]
      .map(Number).find((status) => status >= 400 && status < 600),
  };
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

const CONTEXT_REGEXP =
  /context_length|context length|context window|too_many_prompt_tokens|prompt is too long|input tokens exceed|maximum context|messages is too long/i;
const QUOTA_REGEXP =
  /insufficient_quota|usage_limit_reached|insufficient balance|billing/i;
const FILTER_REGEXP = /content_filter|content_policy/i;

/** What the words say goes before what the status says. */
function kindOf(status: number, fields: ErrorFields): FailureKind {
  const words = `${fields.code ?? ""} ${fields.type ?? ""} ${
    fields.message ?? ""
  }`;
  if (status === 400 || status === 413 || status === 422) {
    if (CONTEXT_REGEXP.test(words)) return "context_too_long";
    if (FILTER_REGEXP.test(`${fields.code} ${fields.type}`)) return "filtered";
  }
  if ((status === 429 || status === 402) && QUOTA_REGEXP.test(words)) {
    return "quota";
  }
  return kindOfStatus(status);
}
