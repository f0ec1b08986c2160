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
import { contextMessage, isContextMessage } from "./context_message.ts";
import { optionalText } from "./fields.ts";

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

const TYPE_BY_KIND: Readonly<Record<FailureKind, string>> = {
  invalid_request: "invalid_request_error",
  context_too_long: "invalid_request_error",
  too_large: "request_too_large",
  filtered: "invalid_request_error",
  authentication: "api_error",
  permission: "api_error",
  not_found: "not_found_error",
  quota: "billing_error",
  rate_limited: "rate_limit_error",
  overloaded: "overloaded_error",
  timeout: "timeout_error",
  server: "api_error",
  broken: "api_error",
  oversized: "api_error",
};

const STATUS_BY_KIND: Readonly<Record<FailureKind, number>> = {
  invalid_request: 400,
  context_too_long: 400,
  too_large: 413,
  filtered: 400,
  authentication: 502,
  permission: 502,
  not_found: 404,
  quota: 402,
  rate_limited: 429,
  overloaded: 529,
  timeout: 504,
  server: 502,
  broken: 502,
  oversized: 502,
};

const QUOTA_REGEXP =
  /credit balance|insufficient.{0,10}(balance|quota)|billing/i;

/**
 * Reads an error body: `{"type":"error","error":{type,message}}`, and the shapes of compatible servers:
 * `{"error":{"code":"1302","message":"…"}}`, `{"error":"…"}`, `{"detail":"…"}`, `{"message":"…"}`.
 *
 * @param status The HTTP status; 200 for an error inside an answer.
 */
export function decodeFailure(
  status: number,
  body: JsonValue | undefined,
): Failure {
  const outer = isJsonObject(body) ? body : {};
  const error = isJsonObject(outer.error) ? outer.error : outer;
  const type = optionalText(error.type);
  const message = optionalText(error.message) ?? optionalText(outer.error) ??
    optionalText(outer.detail) ?? "";
  const kind = kindOf(status, type, message);
  return {
    kind,
    status: status >= 400 ? status : STATUS_BY_KIND[kind],
    message: message === ""
      ? `The provider answered with status ${status}`
      : message,
    type: type === undefined || type === "error"
      ? undefined
      : { protocol: "messages", value: type },
    code: codeOf(error),
  };
}

/** Writes a failure as an HTTP error. */
export function encodeFailure(
  failure: Failure,
  requestId: string,
): EncodedFailure {
  const shown = shownFailure(failure);
  const { status } = shown;
  return {
    status: status === undefined || status < 400 || status > 599
      ? STATUS_BY_KIND[shown.kind]
      : status,
    body: { type: "error", error: errorObject(shown), request_id: requestId },
  };
}

/** The `error` object of a body or of an `error` event. */
export function errorObject(failure: Failure): JsonObject {
  const shown = shownFailure(failure);
  const { kind, message, code } = shown;
  return {
    type: TYPE_BY_KIND[kind],
    message: kind === "context_too_long" ? contextMessage(message) : message,
    ...(code === undefined ? {} : { details: { error_code: code } }),
  };
}

/** What the words say goes before what the type says, and that before the status. */
function kindOf(
  status: number,
  type: string | undefined,
  message: string,
): FailureKind {
  const known = KIND_BY_TYPE.get(type ?? "");
  const kind = known ?? (status >= 400 ? kindOfStatus(status) : "server");
  if (kind === "invalid_request" || kind === "too_large") {
    if (isContextMessage(message)) return "context_too_long";
    return QUOTA_REGEXP.test(message) ? "quota" : kind;
  }
  return kind === "rate_limited" && QUOTA_REGEXP.test(message) ? "quota" : kind;
}

function codeOf(error: JsonObject): string | undefined {
  const details = isJsonObject(error.details) ? error.details : {};
  const code = details.error_code ?? error.code;
  return typeof code === "string" || typeof code === "number"
    ? String(code)
    : undefined;
}
