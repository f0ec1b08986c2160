import { limitWords } from "../config/usage_limits.ts";
import { GatewayError } from "../core/error.ts";
import { NANOS_PER_DOLLAR } from "../core/nano_dollars.ts";
import { retryAfterText } from "../core/retry_after.ts";
import { NOT_AGAIN } from "../core/should_retry.ts";
import type { Bound } from "./bounds.ts";
import type { LimitRefusal, LimitState } from "./limiter.ts";
import type { Row } from "./tables.ts";

/** Who is told to wait longer than this is told not to repeat the request by itself, in milliseconds. */
const MAX_PATIENCE_MS = 60_000;

/**
 * The error for a caller whom a limit does not let through (docs/usage.md#over-a-limit).
 *
 * @param options.row What was asked for; nothing else that the limit counts is named.
 */
export function limitExceeded(
  refusal: LimitRefusal,
  { row, nowMs }: { readonly row: Row; readonly nowMs: number },
): GatewayError {
  const waitMs = Math.max(0, refusal.resetsAtMs - nowMs);
  const isLong = waitMs > MAX_PATIENCE_MS;
  const { bound: { limit, holder }, resetsAtMs } = refusal;
  const who = holder.kind === "token"
    ? "this token"
    : `the group ${holder.name}`;
  return new GatewayError(
    "rate_limited",
    `Cannot take the request: ${who} may use ${limitWords(limit, row)}, ${
      usedWords(refusal)
    }; the limit resets at ${instant(resetsAtMs)}`,
    {
      code: "token_limit_exceeded",
      details: { error_code: "token_limit_exceeded" },
      headers: {
        "retry-after": retryAfterText(Math.max(1, waitMs)),
        ...(isLong || isTooLarge(refusal) ? NOT_AGAIN : {}),
      },
      resetsAtMs: isLong ? resetsAtMs : undefined,
    },
  );
}

/** Whether it would not fit into a whole window, either. */
function isTooLarge({ bound, needed = 0 }: LimitRefusal): boolean {
  return bound.kind === "amount" && needed > bound.limit.most;
}

function usedWords(refusal: LimitRefusal): string {
  const { bound, used, needed } = refusal;
  if (bound.kind === "share") return `${percent(used)} are used by it`;
  const { unit } = bound.limit;
  const isMoney = unit === "cost";
  const words = (amount: number) =>
    isMoney ? `${dollars(amount)} USD` : `${amount}`;
  return needed === undefined || unit === "requests"
    ? `${words(used)} are used`
    : `${words(used)} are used and it needs about ${words(needed)}${
      isTooLarge(refusal) ? ", more than a whole window has" : ""
    }`;
}

/**
 * For the header of an answer: ASCII, whatever the configuration's names hold.
 *
 * @param row What was asked for; nothing else that the limit counts is named.
 */
export function warningWords(state: LimitState, row: Row): string {
  const words = `${percent(state.ratio)} used of ${
    limitWords(state.bound.limit, row)
  }${groupWords(state.bound)}, resets at ${instant(state.resetsAtMs)}`;
  return words.replace(/[^\x20-\x7e]/g, "?");
}

function groupWords({ holder }: Bound): string {
  return holder.kind === "group" ? ` of the group ${holder.name}` : "";
}

/** Of nano-dollars, to a hundredth of a cent. */
function dollars(nanos: number): number {
  return Math.round(nanos / NANOS_PER_DOLLAR * 10_000) / 10_000;
}

function percent(ratio: number): string {
  return `${Math.floor(ratio * 1000) / 10} %`;
}

function instant(ms: number): string {
  return new Date(ms).toISOString().replace(".000Z", "Z");
}
