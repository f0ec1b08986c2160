import type { Caller } from "../config/config.ts";
import { limitWords } from "../config/usage_limits.ts";
import type { Log } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import { type Bound, boundLabel } from "./bounds.ts";
import type { LimitState } from "./limiter.ts";
import type { Sums } from "./sums.ts";
import { holderText } from "./tables.ts";

/** Reports limits that are nearly used up, each once a window. */
export interface NearLog {
  note(states: readonly LimitState[], caller: Caller): void;
}

/**
 * Two moments less than half of this apart are the reset of one window, in milliseconds: a provider does not always
 * name the same second.
 */
const SAME_WINDOW_MS = 30_000;

/** Creates a log in which nothing was written yet. */
export function createNearLog(
  { log, metrics, sums }: {
    readonly log: Log;
    readonly metrics?: Metrics | undefined;
    readonly sums: Pick<Sums, "once">;
  },
): NearLog {
  /** When the window resets that was noted last. */
  const noted = new WeakMap<Bound, number>();

  /** Whether no other thread or replica that counts with this one has noted the window. */
  async function isFirst({ bound, resetsAtMs }: LimitState): Promise<boolean> {
    const { holder, limit } = bound;
    const allowed = limit.kind === "share" ? limit.share : limit.most;
    const what = [holderText(holder), boundLabel(bound), allowed].join("\t");
    const place = Math.floor(2 * resetsAtMs / SAME_WINDOW_MS - 0.5);
    // One after the other, so that of several at once exactly one gets both.
    for (const half of [place, place + 1]) {
      const name = `near\t${what}\t${half}`;
      if (!await sums.once(name, resetsAtMs)) return false;
    }
    return true;
  }

  async function write(state: LimitState, caller: Caller): Promise<void> {
    if (!await isFirst(state)) return;
    const { bound, ratio, resetsAtMs } = state;
    const { holder, limit } = bound;
    log.write("limit_near", {
      token: caller.name,
      group: holder.kind === "group" ? holder.name : undefined,
      limit: limitWords(limit),
      used_percent: Math.floor(ratio * 100),
      resets_at: new Date(resetsAtMs).toISOString(),
    });
    metrics?.limited({
      token: caller.name,
      limit: boundLabel(bound),
      outcome: "near",
    });
  }

  return {
    note(states, caller) {
      for (const state of states) {
        const { bound, resetsAtMs } = state;
        if (resetsAtMs - (noted.get(bound) ?? 0) < SAME_WINDOW_MS) continue;
        noted.set(bound, resetsAtMs);
        write(state, caller);
      }
    },
  };
}
