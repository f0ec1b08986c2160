import { limitWords } from "../config/usage_limits.ts";
import { GatewayError } from "../core/error.ts";
import { NANOS_PER_DOLLAR } from "../core/nano_dollars.ts";
import { NOT_AGAIN } from "../core/should_retry.ts";
import type { Bound } from "./bounds.ts";
import type { LimitRefusal, LimitState } from "./limiter.ts";

/** Who is told to wait longer than this is told not to repeat the request by itself, in milliseconds. */
const MAX_PATIENCE_MS = 60_000;

/** The error for a caller whom a limit does not let through (docs/usage.md#over-a-limit). */
export function limitExceeded(
  refusal: LimitRefusal,
  nowMs: number,
): GatewayError {
  const waitMs = Math.max(0, refusal.resetsAtMs - nowMs);
  const isLong = waitMs > MAX_PATIENCE_MS;
  const { bound: { limit, holder }, resetsAtMs } = refusal;
  const who = holder.kind === "token"
    ? "this token"
    : `the group ${holder.name}`;
  return new GatewayError(
    "rate_limited",
    `Cannot take the request: ${who} may use ${limitWords(limit)}, ${
      usedWords(refusal)
    }; the limit resets at ${instant(resetsAtMs)}`,
    {
      code: "token_limit_exceeded",
      details: { error_code: "token_limit_exceeded" },
      headers: {
        "retry-after": String(Math.max(1, Math.ceil(waitMs / 1000))),
        ...(isLong ? NOT_AGAIN : {}),
      },
      resetsAtMs: isLong ? resetsAtMs : undefined,
    },
  );
}

function usedWords({ bound, used, needed }: LimitRefusal): string {
  if (bound.kind === "share") return `${percent(used)} are used by it`;
  const { unit } = bound.limit;
  const isMoney = unit === "cost";
  const words = (amount: number) =>
    isMoney ? `${dollars(amount)} USD` : `${amount}`;
  return needed === undefined || unit === "requests"
    ? `${words(used)} are used`
    : `${words(used)} are used and it needs about ${words(needed)}`;
}

/** For the header of an answer: ASCII, whatever the configuration's names hold. */
export function warningWords(state: LimitState): string {
  const words = `${percent(state.ratio)} used of ${
    limitWords(state.bound.limit)
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
