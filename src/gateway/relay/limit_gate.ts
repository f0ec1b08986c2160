import type { GatewayError } from "@gateway/base/error";
import { limitWords } from "../config/usage_limits.ts";
import type { Operation } from "@gateway/base/protocol";
import { publicAddress } from "@gateway/base/public_address";
import { showTighter } from "../quotas/codex_quota.ts";
import {
  limitExceeded,
  retryAtMs,
  warningWords,
} from "../usage/limit_words.ts";
import type { LimitRefusal } from "../usage/limiter.ts";
import { type Soon, soon } from "../usage/sums.ts";
import { spanUntil } from "../usage/tables.ts";
import type { Tally } from "../usage/tally.ts";
import type { Exchange } from "./exchange.ts";
import type { Candidate } from "./routing/candidate.ts";
import {
  type NamedInBody,
  servingDeployments,
} from "./routing/named_in_body.ts";
import type { Uses } from "./services.ts";

/** Applies the limits of a token to each attempt of a request. */
export interface LimitGate {
  /** Returns true when the limits have room for an attempt. Then also reserves the usage of the attempt. */
  enter(candidate: Candidate): Soon<boolean>;
  /** Takes back the last {@linkcode LimitGate.enter}, because the attempt did not begin. */
  withdraw(): void;
  /**
   * Returns the time until which a limit excludes a candidate, in milliseconds since 1970; `undefined` if no limit
   * does.
   */
  limitedUntilMs(candidate: Candidate): number | undefined;
  /** Returns the error for a caller whose limit excluded a candidate. */
  refusal(candidate: Candidate): GatewayError | undefined;
  /**
   * Adds a response header with the limits that are nearly used up. In a Responses answer, also makes Codex show the
   * limit with the least room, unless the provider's quota has less room.
   */
  warn(answer: Pick<Response, "headers">, operation: Operation): void;
}

/** A request that the limits may count. */
export interface LimitedRequest {
  /** Counts the request against the limits; `undefined` for a request that is not counted. */
  readonly tally: Tally | undefined;
  /** The models that the request's body names. */
  readonly named: NamedInBody;
}

/** Creates the gate of one request. Without a tally the gate admits every attempt. */
export function createLimitGate(
  { tally, named }: LimitedRequest,
  { caller, request: { url }, headers, record }: Pick<
    Exchange,
    "caller" | "request" | "headers" | "record"
  >,
  { usage, clock }: Uses<"usage" | "clock">,
): LimitGate {
  const refusals = new Map<Candidate, LimitRefusal>();

  return {
    enter(candidate) {
      if (tally === undefined) return true;
      const entered = tally.enter(servingDeployments(candidate, named, caller));
      return soon(entered, (refusal) => {
        if (refusal !== undefined) refusals.set(candidate, refusal);
        return refusal === undefined;
      });
    },
    withdraw: () => tally?.withdraw(),
    limitedUntilMs(candidate) {
      const refusal = refusals.get(candidate);
      if (refusal === undefined) return undefined;
      const nowMs = clock.now();
      const untilMs = retryAtMs(refusal, nowMs);
      return untilMs > nowMs ? untilMs : undefined;
    },
    refusal(candidate) {
      const refusal = refusals.get(candidate);
      if (refusal === undefined) return undefined;
      usage.refused(refusal, caller);
      return limitExceeded(refusal, {
        nowMs: clock.now(),
        address: publicAddress({ url, headers }),
        session: record.facts.client?.session,
      });
    },
    warn(answer, operation) {
      if (operation === "responses") showToCodex(answer.headers, tally);
      if (tally !== undefined) usage.watch(tally.states(), caller);
      const near = tally?.near() ?? [];
      if (near.length === 0) return;
      usage.near(near, caller);
      answer.headers.set(WARNING_HEADER, near.map(warningWords).join(", "));
    },
  };
}

/** The windows of the limits that Codex can show. Codex shows only windows of an hour and more. */
const SHOWN_WINDOWS: ReadonlySet<string> = new Set([
  "hour",
  "day",
  "week",
  "month",
  "session",
]);

function showToCodex(headers: Headers, tally: Tally | undefined): void {
  const [own] = (tally?.states() ?? [])
    .filter(({ bound }) => SHOWN_WINDOWS.has(bound.limit.window))
    .toSorted((one, other) => other.ratio - one.ratio);
  if (own === undefined || own.bound.kind === "share") return;
  const { limit, holder } = own.bound;
  const { startMs, endMs } = spanUntil(limit.window, own.resetsAtMs);
  const whose = holder.kind === "group"
    ? `group ${holder.name}`
    : `your ${holder.kind}`;
  const name = `${whose}: ${limitWords(limit, own.row)}`;
  showTighter(
    headers,
    {
      used_percent: Math.min(100, Math.floor(own.ratio * 1000) / 10),
      minutes: (endMs - startMs) / MINUTE_MS,
      resets_at: new Date(own.resetsAtMs).toISOString(),
    },
    name.replace(/[^\x20-\x7e]/g, "?"),
  );
}

const MINUTE_MS = 60_000;

const WARNING_HEADER = "x-gateway-limit-warning";
