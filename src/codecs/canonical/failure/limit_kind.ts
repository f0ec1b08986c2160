import type { ErrorWords } from "./error_words.ts";
import type { Failure, FailureKind } from "./failure.ts";
import { asWords, type Clues } from "./refusal.ts";

/** Matches the words for a limit that ends in a moment. */
const MOMENT_REGEXP =
  /\bper[-_ ]?(?:\d+[-_ ]?)?(?:min(?:ute)?|sec(?:ond)?)s?\b|\/ ?(?:min|sec)\b|\b[rt]p[ms]\b|\bqps\b|\bconcurren|\bin[- ]?flight\b|\bparallel\b|每(?:分钟|秒)|并发|频率|频繁|速率/i;

/** Matches the words for a limit of hours or longer. */
const LONG_REGEXP =
  /\b(?:day|dai?ly|week(?:ly)?|month(?:ly)?|year(?:ly)?|hour(?:ly)?|today|tomorrow|midnight)s?\b|\bsession (?:limit|usage)|\b[rt]pd\b|\bper \d{4,6} ?s(?:ec\w*)?\b|每[天日周月年]|今[天日]|当[天日周月]|小时|明天/i;

const LIMIT_REGEXP =
  /\b(?:limit|quota|cap|allowance|allocation|usage|requests?|tokens?|credits?|calls)s?\b|限额|上限|额度|配额|次数|用量/i;

const { raw } = String;

const REACHED =
  raw`reach\w*|hit|exceed\w*|exhaust\w*|deplet\w*|used (?:up|all)|consumed|crossed|over|r[au]n out|out of|overrun`;
const REACHED_REGEXP = new RegExp(
  raw`\b(?:${REACHED})\b|达|超出|超过|用完|用尽|耗尽`,
  "i",
);

/**
 * If a provider asks for a wait of at least this many milliseconds, its limit is for hours or longer. No limit per
 * minute asks for so long a wait.
 */
const LONG_WAIT_MS = 600_000;

/** The words for a plan or a budget that may be used up. */
const PLAN =
  raw`(?:usage|budget|plan|subscription|inference|key|credit) (?:limit|cap|quota)s?|(?<!(?:thinking|reasoning|token) )budget(?! tokens)|allowance|free (?:tier|trial|allocation|quota)`;
const PLAN_REGEXP = eitherWay(PLAN, REACHED);
const QUOTA_REGEXP = eitherWay("quota", `${REACHED}|insufficient|not enough`);

/** Matches the words for an account without credit. */
const CREDIT_REGEXP = new RegExp(
  eitherWay(
    "balance|credits?|funds?|extra usage|spend(?:ing)? (?:limit|cap)s?",
    raw`insufficient|not enough|(?:not|\w+n't) have (?:any|enough)|(?:too )?low|negative|expired|more|${REACHED}`,
  ).source +
    raw`|\barrears?\b|\b(?:overdue|past due)\b|\bin good standing\b|\bpayment (?:is )?required\b|\b(?:(?:in)?valid|add|update|missing|no) (?:\w+ ){0,3}payment (?:method|instrument|card)s?\b|(?:余额|额度|资源包|点数|积分)[^，。]{0,10}(?:不足|用尽|用完|耗尽|为0)|欠费|预扣费|套餐[^，。]{0,6}(?:到期|过期)`,
  "i",
);

function eitherWay(one: string, other: string): RegExp {
  const [first, last] = [one, other].map((words) => `\\b(?:${words})\\b`);
  const between = "[^.;,!?]{0,60}?";
  return new RegExp(`${first}${between}${last}|${last}${between}${first}`, "i");
}

/**
 * Returns the kind of a limit: `quota` if a plan or the credit is used up, or `rate_limited` if the limit ends in a
 * moment. Providers may report both limits with the status of another kind.
 *
 * @param kind The kind by codes and status.
 * @param isNamed True when a code has named this kind.
 */
export function limitKind(
  kind: FailureKind,
  isNamed: boolean,
  { status }: Pick<ErrorWords, "status">,
  clues: Clues & Pick<Failure, "retryAfterMs" | "resetsDaily">,
): FailureKind {
  const named = [...clues.codes].map(asWords).join("\n. ");
  // OpenRouter also sends 402 when its budget for concurrent requests is used up.
  if (status === 402) return MOMENT_REGEXP.test(named) ? "rate_limited" : kind;
  const isLimit = kind === "rate_limited" || kind === "quota";
  const isRefused = kind === "forbidden" ||
    kind === "permission" && status === 403;
  const isRequest = kind === "invalid_request" &&
    (status === undefined || status < 413);
  const isUnclear = kind === "server" && status === undefined;
  if (!isLimit && !isRefused && !isRequest && !isUnclear) return kind;
  const text = [...clues.texts, named].join("\n. ").replaceAll("_", " ");
  const isLong = clues.resetsDaily !== undefined ||
    LONG_REGEXP.test(text) && LIMIT_REGEXP.test(text);
  // DashScope reports a limit of a minute in these words, with a code of used-up quotas:
  // https://www.alibabacloud.com/help/en/model-studio/rate-limit
  const isMinute = !isLong &&
    (/(?<!free )\ballocated quota exceeded/i.test(text) ||
      clues.isAlibaba && /\bexceeded your current quota/i.test(text));
  if (kind === "quota" && isNamed && !isMinute) return kind;
  const waitMs = clues.retryAfterMs ?? 0;
  if (isLimit && waitMs >= LONG_WAIT_MS) return "quota";
  if (isMinute || MOMENT_REGEXP.test(text) && !isLong) {
    const isReached = LIMIT_REGEXP.test(text) && REACHED_REGEXP.test(text);
    return isLimit || isUnclear || isRefused && isReached
      ? "rate_limited"
      : kind;
  }
  // Google names each limit a quota.
  const isGoogle = clues.codes.has("resource_exhausted");
  const isUsedUp = CREDIT_REGEXP.test(text) ||
    isLong && (isLimit || !isRequest && REACHED_REGEXP.test(text)) ||
    !isGoogle && PLAN_REGEXP.test(text) ||
    !isGoogle && !isRequest && QUOTA_REGEXP.test(text);
  const isShort = !clues.isDaily &&
    (clues.retryAfterMs ?? Infinity) < 60_000;
  if (isUsedUp) return isShort ? "rate_limited" : "quota";
  return isUnclear && /rate limit|too many requests/i.test(text)
    ? "rate_limited"
    : kind;
}
