import type { Connection } from "../config/config.ts";
import type { Clock } from "../core/time/timers.ts";
import type { HeaderFields } from "../core/header_fields.ts";
import { periodMinutes } from "./period.ts";
import type { QuotaService } from "./service.ts";
import { QUOTA_TYPES, type QuotaWindow } from "./window.ts";

/** What Codex learns of a quota from the headers of an answer, also through a provider of the user's own. */
export interface CodexQuota {
  /**
   * The windows of a connection as far as they are known now, as Codex reads them; asks no provider. They are
   * written again once a second at most.
   */
  headersOf(connection: Connection): readonly [string, string][];
}

/** Whether an answer tells its quota to Codex by itself, as those of ChatGPT's own back end do. */
export function tellsCodexQuota(headers: HeaderFields): boolean {
  return headers.has("x-codex-primary-used-percent") ||
    headers.has("x-codex-secondary-used-percent");
}

/** How long what was written is good, in milliseconds. */
const FRESH_MS = 1000;

/** Codex shows what is left of hours and weeks; limits on speed come and go between two answers. */
const MIN_MINUTES = 60;

/** Creates a {@linkcode CodexQuota} over what is known. */
export function createCodexQuota(
  { clock, quotas }: {
    readonly clock: Clock;
    readonly quotas: Pick<QuotaService, "known">;
  },
): CodexQuota {
  const written = new WeakMap<
    Connection,
    { readonly headers: readonly [string, string][]; readonly atMs: number }
  >();
  return {
    headersOf(connection) {
      const nowMs = clock.elapsedMs();
      const last = written.get(connection);
      if (last !== undefined && nowMs - last.atMs < FRESH_MS) {
        return last.headers;
      }
      const headers = codexHeaders(quotas.known(connection));
      written.set(connection, { headers, atMs: nowMs });
      return headers;
    },
  };
}

/**
 * Windows as headers that Codex reads (codex-rs/codex-api/src/rate_limits.rs of openai/codex): the shortest of at
 * least an hour is its primary one, the longest its secondary. Limits on parts, such as one model, are left out: the
 * reader takes these two for everything.
 */
export function codexHeaders(
  windows: readonly QuotaWindow[],
): [string, string][] {
  const shown = windows.flatMap((one) => {
    const minutes = periodMinutes(one);
    const isWhole = WHOLE_TYPES.has(one.type);
    return one.used_percent === null || minutes === undefined ||
        minutes < MIN_MINUTES || !isWhole
      ? []
      : [{ ...one, used_percent: one.used_percent, minutes }];
  }).toSorted((one, other) => one.minutes - other.minutes);
  const [first] = shown;
  const last = shown.at(-1);
  if (first === undefined || last === undefined) return [];
  return last.minutes === first.minutes
    ? slotHeaders("primary", tightest(shown))
    : [...slotHeaders("primary", first), ...slotHeaders("secondary", last)];
}

/** The limits on everything, in the words of the gateway and of Z.ai. */
const WHOLE_TYPES: ReadonlySet<string> = new Set([
  QUOTA_TYPES.usage,
  QUOTA_TYPES.credits,
  QUOTA_TYPES.tokens,
  QUOTA_TYPES.requests,
  QUOTA_TYPES.spend,
]);

interface ShownWindow {
  readonly used_percent: number;
  readonly minutes: number;
  readonly resets_at: string | null;
}

function tightest(
  windows: readonly ShownWindow[],
): ShownWindow | undefined {
  return windows.toSorted((one, other) =>
    other.used_percent - one.used_percent
  )[0];
}

function slotHeaders(
  slot: "primary" | "secondary",
  one: ShownWindow | undefined,
): [string, string][] {
  if (one === undefined) return [];
  const resetsMs = Date.parse(one.resets_at ?? "");
  const headers: [string, string][] = [
    [`x-codex-${slot}-used-percent`, String(one.used_percent)],
    [`x-codex-${slot}-window-minutes`, String(one.minutes)],
  ];
  if (!Number.isNaN(resetsMs)) {
    const seconds = Math.ceil(resetsMs / 1000);
    headers.push([`x-codex-${slot}-reset-at`, String(seconds)]);
  }
  return headers;
}
