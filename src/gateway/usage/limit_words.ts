import { limitWords } from "../config/usage_limits.ts";
import { GatewayError } from "@gateway/base/error";
import { NANOS_PER_DOLLAR } from "@gateway/base/nano_dollars";
import { retryAfterText } from "@gateway/base/retry_after";
import { minuteText } from "@gateway/base/time/minute_text";
import type { Bound } from "./bounds.ts";
import type { LimitRefusal, RequestLimitState } from "./limiter.ts";

/** The longest wait after which a client may retry by itself, in milliseconds. */
const MAX_CLIENT_WAIT_MS = 60_000;

/** The wait when a token's running requests hold the rest of its limit, in milliseconds. */
const HELD_WAIT_MS = 5000;

/** Returns the time at which a refused request may be tried again, in milliseconds since 1970. */
export function retryAtMs(
  { isHeld, resetsAtMs }: LimitRefusal,
  nowMs: number,
): number {
  return isHeld ? Math.min(resetsAtMs, nowMs + HELD_WAIT_MS) : resetsAtMs;
}

/**
 * Returns the error for a caller over a limit (docs/usage.md#over-a-limit). The error names the rejected model and
 * connection, but no other model or connection of the limit.
 *
 * @param address The address of the gateway's page, for the caller; `undefined` if it is not known.
 */
export function limitExceeded(
  refusal: LimitRefusal,
  { nowMs, address, session = "" }: {
    readonly nowMs: number;
    /** The client's id of the session of the request. */
    readonly session?: string | undefined;
    readonly address: string | undefined;
  },
): GatewayError {
  const waitMs = Math.max(0, retryAtMs(refusal, nowMs) - nowMs);
  const isFinal = waitMs > MAX_CLIENT_WAIT_MS || isTooLarge(refusal);
  const { bound: { limit, holder }, row, resetsAtMs } = refusal;
  const who = holder.kind === "token"
    ? "this token"
    : holder.kind === "group"
    ? `the group ${holder.name}`
    : `this session (${JSON.stringify(session)})`;
  const way = wayToNumbers(address);
  return new GatewayError(
    "rate_limited",
    `Cannot take the request: ${who} may use ${
      limitWords(limit, row)
    } and has used ${usedWords(refusal)}. ${
      refusal.isHeld ? `${HELD_WORDS} ` : ""
    }${holder.kind === "session" ? `${SESSION_WORDS} ` : ""}${
      isFinal ? FINAL_WORDS : "The limit resets at"
    } ${minuteText(resetsAtMs)}. ${way}.`,
    {
      code: "token_limit_exceeded",
      details: { error_code: "token_limit_exceeded" },
      headers: {
        "retry-after": retryAfterText(Math.max(1, waitMs)),
        ...(isFinal && { [CODEX_HEADER]: way }),
      },
      isFinal,
      resetsAtMs: isFinal ? resetsAtMs : undefined,
      limit: limitWords(limit),
      group: holder.kind === "group" ? holder.name : undefined,
    },
  );
}

/**
 * Words in a 429 that stop Qwen Code over Chat and Messages: `quota`, `exceeded` and `will reset`
 * (https://github.com/QwenLM/qwen-code/blob/main/packages/core/src/utils/quotaErrorDetection.ts).
 */
const FINAL_WORDS = "The quota is exceeded and will reset at";

const HELD_WORDS =
  "Running requests hold the rest: try again when they have ended.";

const SESSION_WORDS =
  "To go on now, start a new session in your client, mostly with /new or /clear.";

/**
 * The header whose text Codex shows for a used-up limit, before "or try again at". Codex does not show the error's own
 * message (`UsageLimitReachedError` in codex-rs/protocol/src/error.rs of openai/codex).
 */
const CODEX_HEADER = "x-codex-promo-message";

/**
 * Returns a sentence without a full stop. The sentence says where a refused caller can see the limits. A space follows
 * the address, so that terminals make the address a link.
 */
function wayToNumbers(address: string | undefined): string {
  const page = address === undefined
    ? "on the gateway's page"
    : `at ${address}/`;
  return `See your limits ${page} or with model-gateway usage`;
}

/** Returns true when the request would exceed even an empty window. */
function isTooLarge({ bound, needed = 0 }: LimitRefusal): boolean {
  return bound.kind === "amount" && needed > bound.limit.most;
}

function usedWords(refusal: LimitRefusal): string {
  const { bound, used, needed } = refusal;
  if (bound.kind === "share") return percent(used);
  const { unit } = bound.limit;
  const isMoney = unit === "cost";
  const words = (amount: number) =>
    isMoney ? `${dollars(amount)} USD` : `${amount}`;
  return needed === undefined || unit === "requests"
    ? words(used)
    : `${words(used)}; the request needs about ${words(needed)}${
      isTooLarge(refusal)
        ? ", more than the limit of a whole window: send a smaller request"
        : ""
    }`;
}

/**
 * Returns a warning for a response header, in ASCII: other characters become `?`. The warning names the request's model
 * and connection, but no other model or connection of the limit.
 */
export function warningWords(state: RequestLimitState): string {
  const words = `${percent(state.ratio)} used of ${
    limitWords(state.bound.limit, state.row)
  }${groupWords(state.bound)}, resets at ${instant(state.resetsAtMs)}`;
  return words.replace(/[^\x20-\x7e]/g, "?");
}

function groupWords({ holder }: Bound): string {
  return holder.kind === "group" ? ` of the group ${holder.name}` : "";
}

/** Returns an amount in dollars, rounded to a hundredth of a cent. */
function dollars(nanos: number): number {
  return Math.round(nanos / NANOS_PER_DOLLAR * 10_000) / 10_000;
}

function percent(ratio: number): string {
  return `${Math.floor(ratio * 1000) / 10} %`;
}

function instant(ms: number): string {
  return new Date(ms).toISOString().replace(".000Z", "Z");
}
