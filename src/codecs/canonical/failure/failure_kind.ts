import { lookup, wordList } from "@gateway/base/collections";
import type { JsonValue } from "@gateway/base/json";
import type { Protocol } from "@gateway/base/protocol";
import { saysOverflow } from "./context_overflow.ts";
import { type ErrorWords, readErrorWords } from "./error_words.ts";
import { readTimes } from "./error_times.ts";
import { type Failure, type FailureKind, kindOfStatus } from "./failure.ts";
import { limitKind } from "./limit_kind.ts";
import { type Clues, ofAccount, readClues, readRefusal } from "./refusal.ts";

/**
 * Reads an error of any shape, in any protocol, with or without a status. Codes and details decide first, then the
 * provider's own words, then words of any provider, and last the status.
 *
 * @param httpStatus The status of the response; 200 for an error inside an answer. The body may name another status.
 * @param unexplained The message for an error inside an answer, if the error has no message.
 */
export function readFailure(
  httpStatus: number,
  body: JsonValue | undefined,
  protocol: Protocol,
  unexplained: string,
): Failure {
  const words = readErrorWords(body);
  const clues = readClues(body);
  const status = httpStatus >= 400 ? httpStatus : words.status;
  const isBeijing = BEIJING_REGEXP.test(
    [...clues.codes, ...clues.texts].join("\n"),
  );
  const times = readTimes(clues, isBeijing);
  const isOfRequest = kindOfWords(words) === "invalid_request";
  const account = ofAccount(clues, {
    status: status ?? (isOfRequest ? 400 : undefined),
    param: words.param,
  });
  const kind = kindOf(status, words, { ...account, ...times });
  const failure: Failure = {
    kind,
    status,
    message: words.message ??
      (status === undefined
        ? unexplained
        : `The provider answered with status ${status}`),
    type: words.type === undefined
      ? undefined
      : { protocol, value: words.type },
    // The quota is used up, but a code about the rate would make clients repeat the request.
    code: kind === "quota" && namedKind({ code: words.code }) === "rate_limited"
      ? undefined
      : words.code,
    param: words.param,
    retryAfterMs: undefined,
    ...(TIMED_KINDS.has(kind) && times),
    ...(kind === "quota" && clues.isDaily && { resetsDaily: GOOGLE_ZONE }),
    ...(clues.codes.has("1304") && { resetsDaily: "Asia/Shanghai" }),
  };
  return readRefusal(failure, httpStatus, clues);
}

/** The zone in which Google's daily quotas reset: https://ai.google.dev/gemini-api/docs/rate-limits */
const GOOGLE_ZONE = "America/Los_Angeles";

/** A Chinese text, or the codes and words of Z.ai. Dates in such errors have no zone. */
const BEIJING_REGEXP = /\p{Script=Han}|\blimit will reset at\b|^13[0-2]\d$/mu;

/** The kinds of failure that a wait can end. */
const TIMED_KINDS: ReadonlySet<FailureKind> = new Set(
  ["quota", "rate_limited", "overloaded", "timeout", "server"],
);

/**
 * The statuses with which providers reject a prompt that is too long. Together sends 403. Servers that fail on the
 * prompt send 500 and 502.
 */
const OVERFLOW_STATUSES: ReadonlySet<number | undefined> = new Set(
  [undefined, 400, 403, 413, 422, 500, 502],
);

/** Returns the kind of an error by codes, words and status. `readRefusal` may replace this kind. */
function kindOf(
  status: number | undefined,
  words: ErrorWords,
  clues: Clues & Pick<Failure, "retryAfterMs" | "resetsDaily">,
): FailureKind {
  const named = namedKind(words, clues);
  // A 401 is about the gateway's credential. The caller cannot change this credential. Only a code about a quota means
  // something else.
  if (status === 401 && named !== "quota") return "authentication";
  if (OVERFLOW_STATUSES.has(status) && saysOverflow(words)) {
    return "context_too_long";
  }
  const isClosed = status === 402 &&
    CLOSED.some((code) => clues.codes.has(code));
  const kind = isClosed
    ? "permission"
    : named !== undefined && isPlausible(named, status)
    ? named
    : status === undefined
    ? "server"
    : kindOfStatus(status);
  return limitKind(kind, kind === named, { ...words, status }, clues);
}

/** Returns the kind of an error without any status, by its code or else by its type. */
export function kindOfWords(words: ErrorWords): FailureKind {
  return namedKind(words) ?? "server";
}

/** Returns the kind that the codes of an error name. A used-up quota counts at each level of a router's error. */
function namedKind(
  { type = "", code = "", isBaseResponse }: ErrorWords,
  { codes, texts }: Pick<Clues, "codes" | "texts"> = readClues(undefined),
): FailureKind | undefined {
  if (isBaseResponse) return lookup(KIND_BY_BASE_CODE, code);
  const base = texts.map((text) => BASE_CODE_REGEXP.exec(text)?.[1] ?? "")
    .map((digits) => lookup(KIND_BY_BASE_CODE, digits));
  const kindOfWord = (word: string) => lookup(KIND_BY_WORD, word.toLowerCase());
  const all = [...codes].map(kindOfWord);
  return [...all, ...base].find((kind) => kind === "quota") ??
    base.find((kind) => kind !== undefined) ??
    kindOfWord(code) ?? kindOfWord(type) ??
    (/image/.test(code) ? "invalid_request" : undefined) ??
    all.find((kind) => kind === "rate_limited" || kind === "overloaded");
}

/** Matches MiniMax's code at the end of a message. MiniMax's endpoints for other protocols send the code there. */
const BASE_CODE_REGEXP = /\((\d{4})\)\s*$/;

/** The codes of an account that stays closed after a payment. */
const CLOSED = wordList("account_deactivated deactivated_workspace");

/** For some statuses, the only kinds that a code may name. With other statuses, a code may name more kinds. */
const NAMED_BY_STATUS: Readonly<Record<number, ReadonlySet<FailureKind>>> = {
  402: new Set(["quota"]),
  403: new Set(["quota", "rate_limited", "permission"]),
  429: new Set(["quota", "rate_limited", "overloaded", "permission"]),
};

/**
 * Kinds that a code cannot give a 4xx status. The status excludes `overloaded` and `timeout`, and already implies
 * `invalid_request`.
 */
const NO_MISTAKES: ReadonlySet<FailureKind> = new Set(
  ["overloaded", "timeout", "invalid_request"],
);

/** Kinds that a code cannot give a 5xx status. Some relays report any error of the relay as a missing model. */
const MISTAKES: ReadonlySet<FailureKind> = new Set(
  ["invalid_request", "not_found", "too_large"],
);

/** Returns true when `kind`, which a code names, may replace the kind of the status. */
function isPlausible(kind: FailureKind, status = 200): boolean {
  const named = NAMED_BY_STATUS[status];
  if (named !== undefined) return named.has(kind);
  if (status < 400) return true;
  // A status such as 503 is more precise than `server`.
  if (kind === "server") return kindOfStatus(status) === kind;
  if (status >= 500) return !MISTAKES.has(kind);
  // Both statuses are about the request itself. Neither a wait nor another key helps.
  if (status === 413 || status === 422) {
    if (kind === "rate_limited" || kind === "authentication") return false;
  }
  return !NO_MISTAKES.has(kind);
}

/** Codes and types of errors, in lower case, by the kind that they name. See also tests/fixtures/failures.yaml. */
const KIND_BY_WORD = byCode({
  // https://platform.openai.com/docs/guides/error-codes, https://docs.claude.com/en/api/errors, ChatGPT's back end,
  // Moonshot, New API, DashScope, Volcengine; the last lines: https://docs.z.ai/api-reference/api-code
  quota: `
    insufficient_quota billing_hard_limit_reached usage_limit_reached
    usage_not_included billing_error billing_not_active
    exceeded_current_quota_error servicequotaexceededexception
    insufficient_user_quota pre_consume_token_quota_failed arrearage
    accountoverdueerror setlimitexceeded creditserror budget_exceeded
    blocked_api_access 1113 1304 1308 1309 1310 1316 1317 1318 1319 1320 1321
  `,
  rate_limited: `
    rate_limit_exceeded rate_limit_error rate_limit_reached_error
    resource_exhausted ratelimitexceeded userratelimitexceeded
    throttlingexception too_many_requests too_many_requests_error
    capacity_exceeded 1302 1303
  `,
  authentication: `
    invalid_api_key invalidapikey authentication_error unauthenticated
    1000 1001 1002 1003 1004
  `,
  permission: `
    permission_error permission_denied permission_denied_error access_denied
    ${CLOSED.join(" ")} 1220 1311 1313
  `,
  not_found: "model_not_found not_found_error not_found 1211",
  too_large: "request_too_large",
  filtered: `
    content_filter content_policy_violation image_content_policy_violation
    cyber_policy bio_policy 1301
  `,
  invalid_request: `
    unsupported_parameter unsupported_value unknown_parameter
    missing_required_parameter invalid_value invalid_type invalid_prompt
    invalid_request_error invalid_argument failed_precondition conflict_error
    1210 1213 1214
  `,
  overloaded: `
    server_is_overloaded slow_down overloaded_error unavailable
    engine_overloaded_error serveroverloaded 1305 1312 3505
  `,
  timeout: "timeout_error deadline_exceeded",
  server: "server_error api_error internal",
});

/** MiniMax's codes: https://platform.minimax.io/docs/api-reference/errorcode */
const KIND_BY_BASE_CODE = byCode({
  timeout: "1001",
  rate_limited: "1002 1039 1041",
  authentication: "1004 2049",
  quota: "1008 2056",
  filtered: "1026 1027",
  invalid_request: "2013",
});

function byCode(
  table: Readonly<Partial<Record<FailureKind, string>>>,
): Readonly<Record<string, FailureKind>> {
  const kinds: Record<string, FailureKind> = {};
  let kind: FailureKind;
  for (kind in table) {
    for (const word of wordList(table[kind] ?? "")) kinds[word] = kind;
  }
  return kinds;
}
