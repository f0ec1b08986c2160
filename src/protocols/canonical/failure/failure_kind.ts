import { lookup } from "../../../core/collections.ts";
import { saysOverflow } from "./context_overflow.ts";
import type { ErrorWords } from "./error_words.ts";
import type { FailureKind } from "./failure.ts";

/**
 * The statuses of errors that may be about the length of a prompt. These are errors of the request, Together's 403
 * (https://docs.together.ai/docs/error-codes), and server errors that a long prompt causes. 200 is for an error inside
 * an answer. Errors about the credential or the rate are excluded.
 */
const OVERFLOW_STATUSES: ReadonlySet<number> = new Set([
  ...[200, 400, 403, 413, 422],
  ...[500, 502],
]);

/** Returns true when the status and the text of an error mean that the prompt is too long. */
export function isOverflow(status: number, words: ErrorWords): boolean {
  return OVERFLOW_STATUSES.has(status) && saysOverflow(words);
}

/** Returns the kind of an error without any status, by its code or else by its type. */
export function kindOfWords(words: ErrorWords): FailureKind {
  if (saysOverflow(words)) return "context_too_long";
  const { type = "", code = "" } = words;
  if (words.isBaseResponse) return lookup(KIND_BY_BASE_CODE, code) ?? "server";
  return lookup(KIND_BY_WORD, code.toLowerCase()) ??
    lookup(KIND_BY_WORD, type.toLowerCase()) ?? "server";
}

/** Codes and types that providers of more than one protocol use, in lower case. */
const KIND_BY_WORD: Readonly<Record<string, FailureKind>> = {
  // https://platform.openai.com/docs/guides/error-codes
  insufficient_quota: "quota",
  billing_hard_limit_reached: "quota",
  rate_limit_exceeded: "rate_limited",
  invalid_api_key: "authentication",
  model_not_found: "not_found",
  content_filter: "filtered",
  content_policy_violation: "filtered",
  unsupported_parameter: "invalid_request",
  unsupported_value: "invalid_request",
  unknown_parameter: "invalid_request",
  missing_required_parameter: "invalid_request",
  invalid_value: "invalid_request",
  invalid_type: "invalid_request",
  invalid_prompt: "invalid_request",
  server_error: "server",
  server_is_overloaded: "overloaded",
  slow_down: "overloaded",
  // https://docs.claude.com/en/api/errors
  invalid_request_error: "invalid_request",
  authentication_error: "authentication",
  billing_error: "quota",
  permission_error: "permission",
  not_found_error: "not_found",
  request_too_large: "too_large",
  rate_limit_error: "rate_limited",
  timeout_error: "timeout",
  api_error: "server",
  overloaded_error: "overloaded",
  // https://ai.google.dev/gemini-api/docs/troubleshooting
  invalid_argument: "invalid_request",
  failed_precondition: "invalid_request",
  unauthenticated: "authentication",
  permission_denied: "permission",
  not_found: "not_found",
  resource_exhausted: "rate_limited",
  internal: "server",
  unavailable: "overloaded",
  deadline_exceeded: "timeout",
  // https://platform.moonshot.ai/docs/api/chat
  exceeded_current_quota_error: "quota",
  rate_limit_reached_error: "rate_limited",
  engine_overloaded_error: "overloaded",
  // https://docs.z.ai/api-reference/api-code
  "1113": "quota",
  "1210": "invalid_request",
  "1211": "not_found",
  "1213": "invalid_request",
  "1214": "invalid_request",
  "1301": "filtered",
  "1302": "rate_limited",
  "1303": "rate_limited",
  "1304": "quota",
  "1305": "overloaded",
  "1308": "quota",
  "1309": "quota",
  "1310": "quota",
  "1312": "overloaded",
};

/** MiniMax's codes: https://platform.minimax.io/docs/api-reference/errorcode */
const KIND_BY_BASE_CODE: Readonly<Record<string, FailureKind>> = {
  "1001": "timeout",
  "1002": "rate_limited",
  "1004": "authentication",
  "1008": "quota",
  "1026": "filtered",
  "1027": "filtered",
  "1039": "rate_limited",
  "1041": "rate_limited",
  "2013": "invalid_request",
  "2049": "authentication",
  "2056": "quota",
};
