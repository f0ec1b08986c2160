import type { TimeSpan } from "../core/calendar.ts";
import { type Holder, holderText } from "./tables.ts";
import type { Addition, Sum, Sums } from "./sums.ts";

/*
 * How many tokens each holder had of each connection in any stretch of time, roughly. A provider's windows begin when
 * they like, so tokens are kept in buckets: small ones for a few hours, larger ones for as long as any window lasts.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Buckets of one size, and how long a stretch of them is kept. */
interface Level {
  readonly bucketMs: number;
  readonly keptMs: number;
}

/** The finest first. */
const LEVELS: readonly Level[] = [
  { bucketMs: 15 * MINUTE_MS, keptMs: 6 * HOUR_MS },
  { bucketMs: HOUR_MS, keptMs: 8 * DAY_MS },
  { bucketMs: DAY_MS, keptMs: 32 * DAY_MS },
];

/** A shorter window is over before its buckets tell anything, in milliseconds. */
const MIN_WINDOW_MS = 30 * MINUTE_MS;

/** The field for all that went through a connection, whoever had it. */
const ALL = "all";

/** Tokens that were relayed. */
export interface RelayedTokens {
  /** The connection's name. */
  readonly connection: string;
  readonly holders: readonly Holder[];
  readonly tokens: number;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** What to add for tokens that were relayed. */
export function relayedAdditions(
  { connection, holders, tokens, atMs }: RelayedTokens,
): readonly Addition[] {
  if (tokens === 0) return [];
  const fields = [ALL, ...holders.map(holderText)];
  return LEVELS.flatMap((level) =>
    fields.map((field) => ({
      sum: bucketSum(level, { connection, field, atMs }),
      amount: tokens,
    }))
  );
}

function bucketSum(
  { bucketMs, keptMs }: Level,
  { connection, field, atMs }: {
    readonly connection: string;
    readonly field: string;
    readonly atMs: number;
  },
): Sum {
  const startMs = atMs - atMs % bucketMs;
  return {
    table: `relayed\t${bucketMs / MINUTE_MS}\t${startMs / 1000}\t${connection}`,
    field,
    endsAtMs: startMs + bucketMs + keptMs,
  };
}

/** Whose part of what is asked for. */
export interface ShareAsked {
  /** The connection's name. */
  readonly connection: string;
  readonly holder: Holder;
  /** From the window's start to now, which belongs to it. */
  readonly span: TimeSpan;
}

/**
 * Which part of the tokens that went through a connection in a stretch of time a holder had, from 0 to 1. Of a bucket
 * that is only partly in it, as much counts as of its time is in it.
 *
 * @returns 0 where nothing went through; `undefined` for a stretch that is longer than tokens are kept.
 */
export function relayedShare(
  { connection, holder, span }: ShareAsked,
  sums: Pick<Sums, "read">,
): number | undefined {
  const lengthMs = span.endMs - span.startMs;
  const level = LEVELS.find(({ keptMs }) => lengthMs <= keptMs);
  if (level === undefined) return undefined;
  const starts = bucketStarts(level, span);
  const tokensOf = (field: string) => {
    const amounts = sums.read(
      starts.map((atMs) => bucketSum(level, { connection, field, atMs })),
    );
    return amounts.reduce(
      (sum, amount, index) =>
        sum + amount * overlap(starts[index] ?? 0, level, span),
      0,
    );
  };
  const own = tokensOf(holderText(holder));
  return own === 0 ? 0 : Math.min(1, own / tokensOf(ALL));
}

/** Whether the tokens of windows of this length are kept, in milliseconds. */
export function isWindowKept(lengthMs: number): boolean {
  return lengthMs >= MIN_WINDOW_MS &&
    LEVELS.some(({ keptMs }) => lengthMs <= keptMs);
}

function bucketStarts({ bucketMs }: Level, { startMs, endMs }: TimeSpan) {
  const first = startMs - startMs % bucketMs;
  const count = Math.max(0, Math.floor((endMs - first) / bucketMs) + 1);
  return Array.from({ length: count }, (_, index) => first + index * bucketMs);
}

/** Which part of a bucket belongs to a window; the one that has not ended yet holds no more than it has. */
function overlap(
  bucketStartMs: number,
  { bucketMs }: Level,
  { startMs }: TimeSpan,
): number {
  return Math.min(1, (bucketStartMs + bucketMs - startMs) / bucketMs);
}
