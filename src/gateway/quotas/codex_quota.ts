import type { Connection } from "../config/config.ts";
import type { Clock } from "@gateway/base/time/timers";
import type { HeaderFields } from "@gateway/base/header_fields";
import { periodMinutes } from "./period.ts";
import type { QuotaService } from "./service.ts";
import { QUOTA_TYPES } from "./window.ts";
import type { QuotaWindow } from "@gateway/page/answers";

/** The quota headers for Codex. Codex reads these headers from any provider, not only from OpenAI. */
export interface CodexQuota {
  /**
   * Returns the known windows of a connection as headers for Codex. Sends no request to the provider. The headers are
   * rebuilt at most once a second.
   */
  headersOf(connection: Connection): readonly [string, string][];
}

/** Returns true when a response already has quota headers for Codex, such as a response of ChatGPT's back end. */
export function hasCodexQuota(headers: HeaderFields): boolean {
  return headers.has("x-codex-primary-used-percent") ||
    headers.has("x-codex-secondary-used-percent");
}

/** The time for which headers are kept before they are built again, in milliseconds. */
const FRESH_MS = 1000;

/**
 * The shortest window that Codex receives, in minutes. The use of a shorter window would change between two responses.
 */
const MIN_MINUTES = 60;

/** Creates a {@linkcode CodexQuota} over the known quotas. */
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
 * Formats windows as headers that Codex reads (codex-rs/codex-api/src/rate_limits.rs of openai/codex). The primary
 * window is the shortest window of at least an hour, the secondary window is the longest window. Leaves out limits on
 * parts, such as one model, because Codex applies both windows to everything.
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

/** The types of limits on all use, not only on a part such as one model. The gateway and Z.ai use these words. */
const WHOLE_TYPES: ReadonlySet<string> = new Set([
  QUOTA_TYPES.usage,
  QUOTA_TYPES.credits,
  QUOTA_TYPES.tokens,
  QUOTA_TYPES.requests,
  QUOTA_TYPES.spend,
]);

/** A window as Codex shows it. */
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

/**
 * If a limit of the caller has less room than the quota in the headers, replaces the quota by the limit. The limit
 * stops the caller first.
 *
 * @param headers The headers of a response, with the quota of its connection.
 * @param name The limit in words. Codex reads these words as the name of the limit.
 */
export function showTighter(
  headers: Headers,
  limit: ShownWindow,
  name: string,
): void {
  const percentOf = (slot: string) =>
    Number(headers.get(`x-codex-${slot}-used-percent`) ?? 0);
  const most = Math.max(percentOf("primary"), percentOf("secondary"));
  if (limit.used_percent <= most) return;
  for (const header of [...headers.keys()]) {
    if (SLOT_REGEXP.test(header)) headers.delete(header);
  }
  const own = slotHeaders("primary", limit);
  for (
    const [header, value] of [...own, ["x-codex-limit-name", name]] as const
  ) {
    headers.set(header, value);
  }
}

const SLOT_REGEXP = /^x-codex-(?:primary|secondary)-|^x-codex-limit-name$/;

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
