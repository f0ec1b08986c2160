import type { TimeSpan } from "../core/time/calendar.ts";
import { type Addition, type Soon, soon, type Sums } from "./sums.ts";
import { type Holder, holderDigest } from "./tables.ts";

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

const FINEST_MS = 15 * MINUTE_MS;

/** The finest first; each bucket lies in one of the next level. */
const LEVELS: readonly Level[] = [
  { bucketMs: FINEST_MS, keptMs: 6 * HOUR_MS },
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
  readonly holders: readonly { readonly digest: string }[];
  readonly tokens: number;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** Tells what to add for tokens that were relayed. */
export interface Relayed {
  add(tokens: RelayedTokens, additions: Addition[]): void;
}

/** Remembers the names of the buckets that run. */
export function createRelayed(): Relayed {
  /** By connection, then by level. */
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

  return {
    add({ connection, holders, tokens, atMs }, additions) {
      if (tokens === 0) return;
      const amounts = [ALL, ...holders.map(({ digest }) => digest)]
        .map((field) => ({ field, amount: tokens }));
      for (const { table, endsAtMs } of bucketsAt(connection, atMs)) {
        additions.push({ table, endsAtMs, amounts });
      }
    },
  };
}

/** The tokens of a connection in a stretch of time. */
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

/** Whose part of what is asked for. */
export interface ShareAsked {
  /** The connection's name. */
  readonly connection: string;
  readonly holder: Holder;
  /** From the window's start to now, which belongs to it. */
  readonly span: TimeSpan;
}

/**
 * Returns which part of the tokens that went through a connection in a stretch of time a holder had, from 0 to 1. A
 * bucket that is only partly in the stretch counts as far as its time is in it.
 *
 * @param maxAgeMs How old the sums may be, in milliseconds.
 * @returns 0 where nothing went through; `undefined` for a stretch that is longer than tokens are kept.
 */
export function relayedShare(
  { connection, holder, span }: ShareAsked,
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
  const asked = [...sumsOf(holderDigest(holder)), ...sumsOf(ALL)];
  return soon(sums.read(asked, maxAgeMs), (amounts) => {
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
