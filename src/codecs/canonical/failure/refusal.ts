import { wordList } from "@gateway/base/collections";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import { numberIn } from "./context_overflow.ts";
import { readErrorWords, walkError } from "./error_words.ts";
import type { Failure, FailureKind } from "./failure.ts";
import {
  CLOSED_ROWS,
  CONTENT_ROWS,
  EXPIRED_ROWS,
  KEY_ROWS,
  REASONING_ROWS,
  type RefusalRow,
  RIGHTS_ROWS,
  SIZE_ROWS,
} from "./refusal_words.ts";

/**
 * Returns the failure with the kind of its refusal, as far as the body shows it:
 *
 * - `filtered`: the provider rejected the request's content, with any status except 401. The caller must change
 *   the content.
 * - `too_large`: the request alone exceeds a rate limit of the account, so that no wait helps.
 * - `authentication`: the provider rejected the gateway's key, also with 400, or with 403 for an expired key.
 * - `permission`: a 403 about the gateway's rights or its account.
 * - `forbidden`: any other 403, such as an empty response or the page of a firewall.
 *
 * @param failure The same object is returned when it is no refusal.
 * @param httpStatus 200 for an error inside an answer.
 */
export function readRefusal(
  failure: Failure,
  httpStatus: number,
  clues: Clues,
): Failure {
  const kind = refusedKind(failure, clues);
  if (kind === undefined) return failure;
  if (kind === "filtered") return filtered(failure, httpStatus);
  if (kind !== "too_large") return { ...failure, kind };
  // A wait does not help, but a code about the rate would make clients repeat the request. Only a body that is too
  // large has the status 413.
  const { status = 429, message, type, param } = failure;
  return { kind, status, message, type, param };
}

/** Returns true when the provider rejected earlier reasoning. Without that reasoning the request may succeed. */
export function refusesReasoning({ message, code }: Failure): boolean {
  return matchesAny(REASONING_ROWS, {
    codes: new Set(code === undefined ? [] : [code]),
    texts: [message],
  });
}

/** Returns a `filtered` failure. Leaves out a 5xx status from the body, and a code that only repeats the status. */
function filtered(failure: Failure, httpStatus: number): Failure {
  const { status, code } = failure;
  const isAssumed = httpStatus < 400 && status !== undefined && status >= 500;
  return {
    ...failure,
    kind: "filtered",
    status: isAssumed ? undefined : status,
    code: code === String(status) ? undefined : code,
  };
}

function refusedKind(
  failure: Failure,
  clues: Clues,
): FailureKind | undefined {
  const { status, kind } = failure;
  if (status === 401) return kind === "quota" ? kind : "authentication";
  if (refusesContent(clues)) return "filtered";
  if (kind === "context_too_long") return undefined;
  if (kind === "rate_limited" || kind === "quota") {
    return isLargerThanLimit(clues) ? "too_large" : undefined;
  }
  if (status !== 403) {
    const isOfKey = (status === 400 || kind === "authentication") &&
      matchesAny(KEY_ROWS, ofAccount(clues, failure));
    return isOfKey ? "authentication" : undefined;
  }
  if (matchesAny(EXPIRED_ROWS, clues)) return "authentication";
  const texts = [...clues.texts, ...[...clues.codes].map(asWords)];
  return kind === "permission" || matchesAny(RIGHTS_ROWS, { ...clues, texts })
    ? "permission"
    : "forbidden";
}

/** Returns true when content was refused, by codes or words. Words do not count in the error of a closed account. */
function refusesContent(clues: Clues): boolean {
  if (clues.isModeration) return true;
  if (CONTENT_ROWS.some((row) => hasCode(row, clues))) return true;
  return !matchesAny(CLOSED_ROWS, clues) &&
    CONTENT_ROWS.some((row) => hasWords(row, clues));
}

/** The numbers in an error of a rate limit: the limit, and the amount that the request needs. */
const LIMIT_REGEXP = /\blimit(?: of| is)?:? ([\d,]+)/i;
const REQUESTED_REGEXP = /\brequested(?: tokens)?:? ~?([\d,]+)/i;

/** Returns true when the request alone exceeds a rate limit. */
function isLargerThanLimit(clues: Clues): boolean {
  return matchesAny(SIZE_ROWS, clues) ||
    clues.texts.some((text) =>
      numberIn(REQUESTED_REGEXP.exec(text)?.[1]) >
        numberIn(LIMIT_REGEXP.exec(text)?.[1])
    );
}

/** The part of the clues that a row can match. */
type Marks = Pick<Clues, "codes" | "texts">;

function matchesAny(rows: readonly RefusalRow[], clues: Marks): boolean {
  return rows.some((row) => hasCode(row, clues) || hasWords(row, clues));
}

function hasCode({ codes }: RefusalRow, clues: Marks): boolean {
  return codes.some((code) => clues.codes.has(code));
}

function hasWords({ words }: RefusalRow, clues: Marks): boolean {
  return words !== undefined && clues.texts.some((text) => words.test(text));
}

/** The text of a relay before the message of the inner error: `AnthropicException - {"error":{"message":"`. */
const RELAYED_REGEXP =
  /^(?:(?:[\w.]*Error|Error code): )*(?:\w*Exception|\d{3}) - \{[^{}]*(?:\{[^{}]*?)?["']message["']: ?["']/;

/** The first character or word that begins a quoted part of the request. The text after this may be the caller's. */
const PART_REGEXP =
  /(?<!\w)['"\x60“‘{[<]|\w[.[]\d|\b(?:tools?|functions?|schemas?|propert(?:y|ies)|metadata|messages?|content|prompts?|parameters?|arguments?|fields?|values?|names?)\b|参数|消息|内容|字段|输入|工具|函数|提示|属性|名称/i;

/**
 * Returns the clues to the state of the account. An error about the request may quote the caller's text, and a
 * quotation must not stop the connection for all callers. So the message of such an error counts only up to the first
 * part of the request.
 */
export function ofAccount(
  clues: Clues,
  { status = 0, param }: Pick<Failure, "status" | "param">,
): Clues {
  if (status < 400 || [401, 402, 403, 429].includes(status)) return clues;
  const texts = param !== undefined ? [] : clues.texts.map((text) => {
    const own = text.replace(RELAYED_REGEXP, "");
    const [head = ""] = own.split(PART_REGEXP, 1);
    return head;
  });
  return { ...clues, texts };
}

/** The codes, texts and fields of an error body, from all its levels. */
export interface Clues {
  /** The codes in lower case. A code with a dot is listed twice: whole, and up to its first dot. */
  readonly codes: Set<string>;
  /** The texts without their links. */
  readonly texts: string[];
  readonly members: (readonly [key: string, value: JsonValue | undefined])[];
  /** True when the body has the fields of OpenRouter's moderation. */
  isModeration: boolean;
  /** True when the error names a daily quota of Google. */
  isDaily: boolean;
  /** True when the error refers to a page of Alibaba Cloud. */
  isAlibaba: boolean;
}

/** The fields with codes. `status` and `reason` are Google's; `reason` is in the details of an error. */
const CODE_KEYS = wordList(
  "code type status reason error_code error_type provider_code",
);

const TEXT_KEYS = wordList(
  "message error detail msg status_msg Message error_msg error_description",
);

/** The part of a text that is read, in characters. */
const MAX_READ = 4096;

const LINK_REGEXP = /https?:\/\/[^\s"')]+/gi;

/** Matches Z.ai's code at the start of a message. Z.ai's endpoints for other protocols send the code there. */
const TEXT_CODE_REGEXP = /^\[(\d{4})\]/;

/** Collects the clues of an error body. */
export function readClues(body: JsonValue | undefined): Clues {
  const clues: Clues = {
    codes: new Set(),
    texts: [],
    members: [],
    isModeration: false,
    isDaily: false,
    isAlibaba: false,
  };
  if (typeof body === "string") {
    addText(readErrorWords(body).message ?? "", clues);
  }
  walkError(body, (error) => collectFrom(error, clues));
  return clues;
}

function addText(text: string, clues: Clues): void {
  const code = TEXT_CODE_REGEXP.exec(text)?.[1];
  if (code !== undefined) clues.codes.add(code);
  clues.isAlibaba ||= /\b(?:aliyun|alibabacloud)\.com\//.test(text);
  clues.texts.push(text.slice(0, MAX_READ).replace(LINK_REGEXP, " "));
}

function collectFrom(error: JsonObject, clues: Clues): void {
  for (const key of CODE_KEYS) {
    const code = error[key];
    if (typeof code === "string" || typeof code === "number") {
      const whole = String(code).toLowerCase();
      clues.codes.add(whole).add(whole.replace(/\..*/, ""));
    }
  }
  for (const key of TEXT_KEYS) {
    const text = error[key];
    if (typeof text === "string") addText(text, clues);
  }
  const { violations, headers } = error;
  for (const holder of [error, headers]) {
    if (isJsonObject(holder)) clues.members.push(...Object.entries(holder));
  }
  const quotas = Array.isArray(violations) ? violations : [];
  for (const quota of [error, ...quotas]) {
    const id = isJsonObject(quota) && (quota.quotaId ?? quota.quota_limit);
    if (typeof id !== "string") continue;
    clues.texts.push(asWords(id));
    clues.isDaily ||= /per_?day/i.test(id);
  }
  if (error.flagged_input !== undefined || Array.isArray(error.reasons)) {
    clues.isModeration = true;
  }
}

/** Returns a name such as `GenerateRequestsPerDay-FreeTier` or `token_quota_exceeded` as words. */
export function asWords(name: string): string {
  return name.replace(/([a-z])(?=[A-Z])/g, "$1 ").replace(/[-_.]/g, " ");
}
