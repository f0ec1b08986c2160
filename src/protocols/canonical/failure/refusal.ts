import { wordList } from "../../../core/collections.ts";
import type { JsonObject, JsonValue } from "../../../core/json.ts";
import { numberIn } from "./context_overflow.ts";
import { walkError } from "./error_words.ts";
import type { Failure, FailureKind } from "./failure.ts";
import {
  CLOSED_ACCOUNT,
  CONTENT_ROWS,
  EXPIRED_KEY,
  KEY_ROWS,
  REASONING_ROWS,
  type RefusalRow,
  RIGHTS_ROWS,
  SIZE_ROWS,
} from "./refusal_words.ts";

/** The error that a failure was read from. */
interface RefusalEvidence {
  /** The HTTP status; 200 for an error inside an answer. */
  readonly status: number;
  readonly body: JsonValue | undefined;
}

/**
 * Returns the failure with the kind of its refusal, as far as the body shows it:
 *
 * - `filtered`: the provider rejected the request's content, with any status except 401. The caller must change it.
 * - `too_large`: the request alone exceeds a rate limit of the account, so that no wait helps.
 * - `authentication`: the provider rejected the gateway's key, also with 400, or with 403 because it has expired.
 * - `permission`: a 403 about the gateway's rights or its account.
 * - `forbidden`: any other 403, such as an empty one or the page of a firewall.
 *
 * @param failure The failure by the rules of the protocol. The same object is returned when it is no refusal.
 */
export function readRefusal(
  failure: Failure,
  { status, body }: RefusalEvidence,
): Failure {
  const kind = refusedKind(failure, body);
  if (kind === undefined) return failure;
  if (kind === "filtered") return filtered(failure, status);
  // Clients repeat a request after a code about the rate.
  return { ...failure, kind, ...(kind === "too_large" && { code: undefined }) };
}

/** Returns true when the provider rejected earlier reasoning. Without that reasoning the request may succeed. */
export function refusesReasoning({ message, code }: Failure): boolean {
  return matchesAny(REASONING_ROWS, {
    codes: new Set(code === undefined ? [] : [code]),
    texts: [message],
    isModeration: false,
  });
}

/** Returns a `filtered` failure, without an assumed status and without a code that only repeats the status. */
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
  body: JsonValue | undefined,
): FailureKind | undefined {
  const { status, kind } = failure;
  if (status === 401) return "authentication";
  const clues = readClues(body);
  if (refusesContent(clues)) return "filtered";
  if (kind === "context_too_long") return undefined;
  if (kind === "rate_limited" && isLargerThanLimit(clues)) return "too_large";
  if (matchesAny(KEY_ROWS, clues)) return keyKind(failure);
  if (status !== 403) return undefined;
  if (matchesAny([EXPIRED_KEY], clues)) return "authentication";
  return kind === "quota" || matchesAny(RIGHTS_ROWS, clues)
    ? "permission"
    : "forbidden";
}

/** Returns the kind of an error about a key; `undefined` when its status and kind exclude a bad key. */
function keyKind({ status, kind }: Failure): FailureKind | undefined {
  if (status === 403) return "permission";
  return status === 400 || kind === "authentication"
    ? "authentication"
    : undefined;
}

/** Returns true when content was refused. Codes are reliable; words count only when no account was closed. */
function refusesContent(clues: Clues): boolean {
  if (clues.isModeration) return true;
  if (CONTENT_ROWS.some((row) => hasCode(row, clues))) return true;
  return !matchesAny([CLOSED_ACCOUNT], clues) &&
    CONTENT_ROWS.some((row) => hasWords(row, clues));
}

/** The numbers in an error of a rate limit: its size, and what the request alone would take of it. */
const LIMIT_REGEXP = /\blimit:? ([\d,]+)/i;
const REQUESTED_REGEXP = /\brequested:? ([\d,]+)/i;

/** Returns true when a request is larger than a rate limit, which it would exceed at any time. */
function isLargerThanLimit(clues: Clues): boolean {
  return matchesAny(SIZE_ROWS, clues) ||
    clues.texts.some((text) =>
      numberIn(REQUESTED_REGEXP.exec(text)?.[1]) >
        numberIn(LIMIT_REGEXP.exec(text)?.[1])
    );
}

function matchesAny(rows: readonly RefusalRow[], clues: Clues): boolean {
  return rows.some((row) => hasCode(row, clues) || hasWords(row, clues));
}

function hasCode({ codes = [] }: RefusalRow, clues: Clues): boolean {
  return codes.some((code) => clues.codes.has(code));
}

function hasWords({ words }: RefusalRow, clues: Clues): boolean {
  return words !== undefined && clues.texts.some((text) => words.test(text));
}

/** The codes and texts of an error body, from all its levels. */
interface Clues {
  /** In lower case, up to the first dot. */
  readonly codes: Set<string>;
  readonly texts: string[];
  /** True when the body has the fields of OpenRouter's moderation. */
  isModeration: boolean;
}

/** The fields with codes. `status` is Google's, and `reason` is in its details. */
const CODE_KEYS = wordList(
  "code type status reason error_code error_type provider_code",
);

const TEXT_KEYS = wordList("message error detail msg status_msg");

function readClues(body: JsonValue | undefined): Clues {
  const clues: Clues = { codes: new Set(), texts: [], isModeration: false };
  if (typeof body === "string") clues.texts.push(body);
  walkError(body, (error) => collectFrom(error, clues));
  return clues;
}

function collectFrom(error: JsonObject, clues: Clues): void {
  for (const key of CODE_KEYS) {
    const code = error[key];
    if (typeof code === "string" || typeof code === "number") {
      clues.codes.add(String(code).toLowerCase().replace(/\..*/, ""));
    }
  }
  for (const key of TEXT_KEYS) {
    const text = error[key];
    if (typeof text === "string") clues.texts.push(text);
  }
  if (error.flagged_input !== undefined || Array.isArray(error.reasons)) {
    clues.isModeration = true;
  }
}
