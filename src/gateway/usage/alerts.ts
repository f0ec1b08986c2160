import type { QuotaList, QuotaWindow } from "@gateway/page/answers";
import type { Caller } from "../config/config.ts";
import type { LiveConfig } from "../config/live_config.ts";
import { limitWords } from "../config/usage_limits.ts";
import type { JsonObject } from "@gateway/base/json";
import { NANOS_PER_DOLLAR } from "@gateway/base/nano_dollars";
import type { TimeSpan } from "@gateway/base/time/calendar";
import { minuteText } from "@gateway/base/time/minute_text";
import { limitsModels, windowKey, windowSpan } from "../quotas/window.ts";
import { type Bound, boundLabel } from "./bounds.ts";
import type { createAlertSender } from "./alert_sender.ts";
import type { LimitState } from "./limiter.ts";
import type { Sums } from "./sums.ts";
import { holderText, spanUntil } from "./tables.ts";

/** Warns a person when limits and the providers' windows are nearly used up (docs/observing.md#alerts-for-people). */
interface Alerts {
  /** Notes a request's use of its caller's limits. Does not wait. */
  noteLimits(states: readonly LimitState[], caller: Caller): void;
  /** Notes the quotas that were read. Does not wait. */
  noteQuotas(list: Pick<QuotaList, "data">): void;
  /** Resolves when each alert for the noted uses was passed to the sender or claimed by another thread or replica. */
  settled(): Promise<void>;
}

interface AlertsOptions {
  readonly liveConfig: Pick<LiveConfig, "current">;
  readonly sums: Pick<Sums, "once">;
  readonly sender: Pick<ReturnType<typeof createAlertSender>, "send">;
  /** Returns milliseconds since 1970. */
  readonly now: () => number;
}

/** The use of a limit or of a provider's window. */
interface Use {
  /** Identifies the window in all threads and replicas. */
  readonly key: string;
  readonly percent: number;
  readonly span: TimeSpan;
  /** @see isFirst */
  readonly sameMs?: number | undefined;
  /** The owner of the window, for people. */
  readonly who: string;
  /** The window, for people. */
  readonly what: string;
  /** Further fields for programs. */
  readonly fields: JsonObject;
}

/**
 * Creates the object that sends alerts. It follows the current configuration. If the configuration sets no alerts, it
 * sends nothing.
 */
export function createAlerts(
  { liveConfig, sums, sender, now }: AlertsOptions,
): Alerts {
  const running = new Set<Promise<void>>();

  /** Sends an alert for each crossed threshold that no other thread or replica has claimed. */
  function note(use: Use, thresholds: readonly number[]): void {
    const claims = claim(use, thresholds).finally(() => running.delete(claims));
    running.add(claims);
  }

  async function claim(use: Use, thresholds: readonly number[]): Promise<void> {
    for (const threshold of thresholds) {
      if (use.percent < threshold) break;
      const what = `alert\t${threshold}\t${use.key}`;
      const isNew = await isFirst(what, use.span.endMs, { sums, ...use });
      if (isNew) sender.send(messageOf(use, threshold, now()));
    }
  }

  return {
    noteLimits(states, caller) {
      const { alerts } = liveConfig.current();
      if (alerts === undefined) return;
      for (const state of states) {
        const use = limitUse(state, caller, now());
        if (use.percent >= Math.min(...alerts.at)) note(use, alerts.at);
      }
    },
    noteQuotas({ data }) {
      const { alerts } = liveConfig.current();
      if (alerts === undefined) return;
      for (const { name, limits } of data) {
        for (const window of limits.filter(limitsModels)) {
          const use = quotaUse(name, window, now());
          if (use !== undefined) note(use, alerts.at);
        }
      }
    },
    async settled() {
      await Promise.allSettled(running);
    },
  };
}

/**
 * Two reset times that differ by at most half of this, in milliseconds, belong to the same window. The times that a
 * provider reports for one window vary by some seconds.
 */
export const SAME_WINDOW_MS = 30_000;

/**
 * Replaces {@linkcode SAME_WINDOW_MS} for the life of a session. The end of a life moves when the first request of the
 * session ends late.
 */
const SAME_LIFE_MS = 43_200_000;

/** Returns the `sameMs` of {@linkcode isFirst} for a limit. */
export function sameMsOf({ limit }: Bound): number {
  return limit.window === "session" ? SAME_LIFE_MS : SAME_WINDOW_MS;
}

/**
 * Returns true for the first call with this name and window, in any thread or replica.
 *
 * @param sameMs Two reset times that differ by at most half of this, in milliseconds, belong to the same window.
 */
export async function isFirst(
  name: string,
  resetsAtMs: number,
  { sums, sameMs = SAME_WINDOW_MS }: {
    readonly sums: Pick<Sums, "once">;
    readonly sameMs?: number | undefined;
  },
): Promise<boolean> {
  const place = Math.floor(2 * resetsAtMs / sameMs - 0.5);
  // The names are claimed one after the other, so that exactly one of several simultaneous callers gets both names.
  for (const half of [place, place + 1]) {
    if (!await sums.once(`${name}\t${half}`, resetsAtMs)) return false;
  }
  return true;
}

function limitUse(
  { bound, used, ratio, resetsAtMs }: LimitState,
  { name }: Caller,
  nowMs: number,
): Use {
  const { holder, limit } = bound;
  const isShare = limit.kind === "share";
  const most = isShare ? limit.share : limit.most;
  const scale = !isShare && limit.unit === "cost" ? NANOS_PER_DOLLAR : 1;
  return {
    key: [holderText(holder), boundLabel(bound), most].join("\t"),
    percent: Math.min(1000, Math.floor(ratio * 100)),
    span: isShare
      ? { startMs: nowMs, endMs: resetsAtMs }
      : spanUntil(limit.window, resetsAtMs),
    sameMs: sameMsOf(bound),
    who: holder.kind === "group"
      ? `The group ${holder.name}`
      : holder.kind === "session"
      ? `A session of ${name}`
      : name,
    what: limitWords(limit),
    fields: {
      kind: "limit",
      scope: holder.kind,
      name: holder.kind === "group" ? holder.name : name,
      unit: isShare ? "share" : limit.unit === "cost" ? "USD" : limit.unit,
      used: used / scale,
      limit: most / scale,
    },
  };
}

/** Returns the use of a provider's window; `undefined` when the use or the end of the window is unknown. */
function quotaUse(
  connection: string,
  window: QuotaWindow,
  nowMs: number,
): Use | undefined {
  const { used_percent: percent, used, limit, unit } = window;
  const endMs = Date.parse(window.resets_at ?? "");
  if (percent === null || !(endMs > nowMs)) return undefined;
  return {
    key: `quota\t${connection}\t${windowKey(window)}`,
    percent: Math.floor(percent),
    span: windowSpan(window) ?? { startMs: nowMs, endMs },
    who: `The plan of ${connection}`,
    what: `its window ${window.window} (${window.type})`,
    fields: {
      ...{ kind: "quota", scope: "connection", name: connection },
      ...{ unit, used, limit },
    },
  };
}

/**
 * Returns the time at which a window will be used up at the present pace. Returns `undefined` when the window ends
 * before that time.
 */
function endsAtMs(
  { percent, span: { startMs, endMs } }: Use,
  nowMs: number,
): number | undefined {
  if (percent <= 0 || percent >= 100 || nowMs <= startMs) return undefined;
  const atMs = nowMs + (nowMs - startMs) * (100 - percent) / percent;
  return atMs < endMs ? atMs : undefined;
}

/** Returns the body of an alert: `text` for chat programs, and fields for other programs. */
function messageOf(use: Use, threshold: number, nowMs: number): JsonObject {
  const { percent, span, who, what, fields } = use;
  const usedUpMs = endsAtMs(use, nowMs);
  const pace = usedUpMs === undefined
    ? ""
    : ` At this pace it ends on ${dayText(usedUpMs)}, ${
      spanText(span.endMs - usedUpMs)
    } before its reset.`;
  const passed = percent > threshold ? `, over ${threshold} %` : "";
  const text =
    `${who} has used ${percent} % of ${what}${passed}. It resets at ${
      minuteText(span.endMs)
    }.${pace}`;
  return {
    text: plain(text),
    ...fields,
    what,
    ...{ threshold, used_percent: percent },
    resets_at: new Date(span.endMs).toISOString(),
    ends_at: usedUpMs === undefined ? null : new Date(usedUpMs).toISOString(),
  };
}

const WEEKDAY = new Intl.DateTimeFormat("en", {
  weekday: "long",
  timeZone: "UTC",
});

function dayText(atMs: number): string {
  return `${WEEKDAY.format(atMs)}, ${minuteText(atMs)}`;
}

function spanText(ms: number): string {
  const [length, unit] = ms >= 2 * 86_400_000
    ? [86_400_000, "days"] as const
    : ms >= 2 * 3_600_000
    ? [3_600_000, "hours"] as const
    : [60_000, "minutes"] as const;
  return `${Math.round(ms / length)} ${unit}`;
}

/**
 * Removes the characters that chat programs read as a link, a mention or a format. Callers may choose names in the
 * text.
 */
function plain(text: string): string {
  return text.replace(/[<>&[\]`*]|@(?=(?:all|channel|everyone|here)\b)/gi, "");
}
