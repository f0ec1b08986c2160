import type { TimeSpan } from "@gateway/base/time/calendar";
import { type Addition, type Soon, soon, type Sums } from "./sums.ts";
import { type Holder, holderDigest } from "./tables.ts";

/*
 * The approximate tokens of each holder on each connection in any span of time. Providers' windows begin at any moment,
 * so tokens are kept in buckets. Small buckets are kept for a few hours, larger buckets for the length of the longest
 * window.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Buckets of one size, and the time for which they are kept. */
interface Level {
  readonly bucketMs: number;
  readonly keptMs: number;
}

const FINEST_MS = 15 * MINUTE_MS;

/** The sizes, the smallest first. Each bucket lies within one bucket of the next size. */
const LEVELS: readonly Level[] = [
  { bucketMs: FINEST_MS, keptMs: 6 * HOUR_MS },
  { bucketMs: HOUR_MS, keptMs: 8 * DAY_MS },
  { bucketMs: DAY_MS, keptMs: 32 * DAY_MS },
];

/** The shortest window that buckets can measure, in milliseconds. */
const MIN_WINDOW_MS = 30 * MINUTE_MS;

/** The field of all tokens of a connection, whatever their holder. */
const ALL = "all";

/** The tokens of a relayed request. */
interface RelayedTokens {
  /** The connection's name. */
  readonly connection: string;
  readonly holders: readonly { readonly digest: string }[];
  readonly tokens: number;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/**
 * Creates the function that turns relayed tokens into additions to sums. The function caches the names of the current
 * buckets.
 */
export function createRelayed(): (
  relayed: RelayedTokens,
  additions: Addition[],
) => void {
  /** The current buckets by connection, then by size. */
  const latest = new Map<string, Bucket[]>();

  function bucketsAt(connection: string, atMs: number): readonly Bucket[] {
    const known = latest.get(connection) ?? [];
    const [finest] = known;
    if (
      finest !== undefined && atMs >= finest.startMs &&
      atMs < finest.startMs + FINEST_MS
    ) return known;
    const made = LEVELS.map((level) => bucketAt(level, connection, atMs));
    latest.set(connection, made);
    return made;
  }

  return ({ connection, holders, tokens, atMs }, additions) => {
    if (tokens === 0) return;
    const amounts = [ALL, ...holders.map(({ digest }) => digest)]
      .map((field) => ({ field, amount: tokens }));
    for (const { table, endsAtMs } of bucketsAt(connection, atMs)) {
      additions.push({ table, endsAtMs, amounts });
    }
  };
}

/** The tokens of a connection in a span of time. */
interface Bucket {
  readonly table: string;
  readonly startMs: number;
  readonly endsAtMs: number;
}

function bucketAt(
  { bucketMs, keptMs }: Level,
  connection: string,
  atMs: number,
): Bucket {
  const startMs = atMs - atMs % bucketMs;
  return {
    table: `relayed\t${bucketMs / MINUTE_MS}\t${startMs / 1000}\t${connection}`,
    startMs,
    endsAtMs: startMs + bucketMs + keptMs,
  };
}

/** The query for a holder's share. */
interface ShareQuery {
  /** The connection's name. */
  readonly connection: string;
  readonly holder: Holder;
  /** The span from the window's start to now, inclusive. */
  readonly span: TimeSpan;
}

/**
 * Returns a holder's share of the tokens of a connection in a span of time, from 0 to 1. A bucket that lies only partly
 * in the span counts in that proportion.
 *
 * @param maxAgeMs The largest age of the sums, in milliseconds.
 * @returns 0 when the connection had no tokens; `undefined` for a span that is longer than tokens are kept.
 */
export function relayedShare(
  { connection, holder, span }: ShareQuery,
  sums: Pick<Sums, "read">,
  maxAgeMs?: number,
): Soon<number | undefined> {
  const lengthMs = span.endMs - span.startMs;
  const level = LEVELS.find(({ keptMs }) => lengthMs <= keptMs);
  if (level === undefined) return undefined;
  const starts = bucketStarts(level, span);
  const tables = starts.map((atMs) => {
    const { table, endsAtMs } = bucketAt(level, connection, atMs);
    return { table, endsAtMs };
  });
  const sumsOf = (field: string) => tables.map((one) => ({ ...one, field }));
  const wanted = [...sumsOf(holderDigest(holder)), ...sumsOf(ALL)];
  return soon(sums.read(wanted, maxAgeMs), (amounts) => {
    const tokensIn = (some: readonly number[]) =>
      some.reduce(
        (sum, amount, index) =>
          sum + amount * overlap(starts[index] ?? 0, level, span),
        0,
      );
    const own = tokensIn(amounts.slice(0, starts.length));
    if (own === 0) return 0;
    return Math.min(1, own / tokensIn(amounts.slice(starts.length)));
  });
}

/** Returns true when tokens are kept for windows of this length, in milliseconds. */
export function isWindowKept(lengthMs: number): boolean {
  return lengthMs >= MIN_WINDOW_MS &&
    LEVELS.some(({ keptMs }) => lengthMs <= keptMs);
}

function bucketStarts({ bucketMs }: Level, { startMs, endMs }: TimeSpan) {
  const first = startMs - startMs % bucketMs;
  const count = Math.max(0, Math.floor((endMs - first) / bucketMs) + 1);
  return Array.from({ length: count }, (_, index) => first + index * bucketMs);
}

/**
 * Returns the part of a bucket that overlaps a window. The current bucket counts whole, because all tokens in the
 * current bucket lie before now.
 */
function overlap(
  bucketStartMs: number,
  { bucketMs }: Level,
  { startMs }: TimeSpan,
): number {
  return Math.min(1, (bucketStartMs + bucketMs - startMs) / bucketMs);
}
