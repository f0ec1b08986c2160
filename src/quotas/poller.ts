import type { Config, Connection } from "../config/config.ts";
import type { Clock } from "../core/time/timers.ts";
import { SingleFlight } from "../core/memo.ts";
import { FAILURE_WORD_BY_KIND } from "../observe/facts.ts";
import type { Log } from "../observe/log.ts";
import { type QuotaFetch, readQuota } from "./read.ts";
import type { QuotaPoll, QuotaSource } from "./readers/reader.ts";
import {
  type FailedReading,
  isGood,
  type LastingReading,
  type Reading,
  type SharedReadings,
  sourceKey,
} from "./reading.ts";
import { TtlCache } from "../core/collections.ts";

/** Reads quota endpoints no more often than need be, for all callers together. */
export interface Poller {
  /**
   * What the endpoint of a connection tells: from the cache, from a read that is already running, or
   * from a new one. Never rejects. A new read goes on when the asker stops waiting, and its result is
   * there for the next.
   */
  read(endpoint: QuotaPoll, options: PollOptions): Promise<PolledReading>;
  /** What a read of the connection left in the cache; no read is made. */
  known(connection: Connection): Reading | undefined;
  /** Keeps what another gateway has read, unless something newer is known. */
  learn(connection: Connection, lasting: LastingReading): void;
  /** Forgets what does not belong to `connections` as they are configured now. */
  retain(connections: readonly Connection[]): void;
}

/** Whose quota is read, and under which limits. */
export interface PollOptions {
  readonly source: QuotaSource;
  readonly limits: Config["limits"];
}

/** A reading, and whether it came from the cache. */
export interface PolledReading {
  readonly reading: Reading;
  readonly cached: boolean;
}

/** What a {@linkcode Poller} needs from outside. */
export interface PollerOptions {
  readonly fetch: QuotaFetch;
  readonly clock: Clock;
  /** Told of every read that fails. */
  readonly log: Log;
  /** A signal that aborts after this many milliseconds; default `AbortSignal.timeout`. */
  readonly deadline?: (ms: number) => AbortSignal;
  /** Where one gateway reads for several; default: each reads for itself. */
  readonly sharedReadings?: SharedReadings | undefined;
  /** Told of what this gateway has read. */
  readonly onRead?: (connection: Connection, lasting: LastingReading) => void;
}

/** Results are kept for up to 60 seconds (docs/design.md#quotas). */
const MAX_CACHE_MS = 60_000;

const FAILURE_CACHE_MS = 10_000;

const MIN_RETRY_MS = 1000;

/** A read outlives the budget of GET /limits by a little, so that a budget's end never races it. */
const GRACE_MS = 250;

/** Creates a {@linkcode Poller} that has read nothing yet. */
export function createPoller(options: PollerOptions): Poller {
  const { fetch, clock, log, sharedReadings } = options;
  const deadline = options.deadline ?? ((ms) => AbortSignal.timeout(ms));
  const cache = new TtlCache<string, Reading>(clock);
  const flights = new SingleFlight<string, Reading>();
  /** The keys of the current config: a read that outlives its config leaves nothing behind. */
  let current: ReadonlySet<string> = new Set();
  /** Those that let their last read run into its deadline. */
  const silent = new Set<string>();

  async function read(
    endpoint: QuotaPoll,
    poll: PollOptions,
  ): Promise<PolledReading> {
    const key = sourceKey(poll.source.connection);
    const known = cache.get(key);
    if (known !== undefined) return { reading: known, cached: true };
    const reading = await flights.run(key, () => ask(endpoint, poll));
    return { reading, cached: false };
  }

  async function ask(
    endpoint: QuotaPoll,
    { source, limits }: PollOptions,
  ): Promise<Reading> {
    const key = sourceKey(source.connection);
    // Who was silent for a whole budget is given half of the next, so that the others are not hidden by
    // it again and again.
    const signal = deadline(
      silent.has(key) ? limits.budgetMs / 2 : limits.budgetMs + GRACE_MS,
    );
    const { connection } = source;
    const found = await sharedReadings?.find(connection, signal);
    if (found !== undefined) {
      if (current.has(key)) cache.set(key, found.reading, found);
      return found.reading;
    }
    const reading = await readQuota(endpoint, source, {
      fetch,
      clock,
      signal,
    });
    if (!isGood(reading)) report(connection, reading);
    const lasting = { reading, ttlMs: lifetime(reading, endpoint, limits) };
    sharedReadings?.publish(connection, lasting);
    if (!current.has(key)) return reading;
    cache.set(key, reading, lasting);
    options.onRead?.(connection, lasting);
    if (signal.aborted && !isGood(reading)) silent.add(key);
    else silent.delete(key);
    return reading;
  }

  function report({ name }: Connection, { failure }: FailedReading): void {
    log.write("quota_read_failed", {
      connection: name,
      failure: FAILURE_WORD_BY_KIND[failure.kind],
      reason: failure.message,
    });
  }

  function retain(connections: readonly Connection[]): void {
    current = new Set(connections.map(sourceKey));
    cache.retain(current);
    for (const key of silent) if (!current.has(key)) silent.delete(key);
  }

  return {
    read,
    known: (connection) => cache.get(sourceKey(connection)),
    learn(connection, lasting) {
      const key = sourceKey(connection);
      const known = cache.get(key)?.checkedAtMs ?? -Infinity;
      const { reading } = lasting;
      if (known < reading.checkedAtMs) cache.set(key, reading, lasting);
    },
    retain,
  };
}

/**
 * How long a reading is kept, in milliseconds: as docs/design.md#quotas says, but no shorter than the
 * provider's pace. A reading says when it was made, and the last good one serves staff better than the
 * 429 that asking again would bring.
 */
function lifetime(
  reading: Reading,
  { paceMs }: QuotaPoll,
  { cacheMs }: Config["limits"],
): number {
  const freshMs = Math.min(cacheMs, MAX_CACHE_MS);
  if (isGood(reading)) return paceMs ?? freshMs;
  const { reason, retryAfterMs } = reading.failure;
  // A provider that answered counts the read, whatever it answered.
  if (paceMs !== undefined && reason !== "unreachable") return paceMs;
  if (retryAfterMs === undefined) return Math.min(freshMs, FAILURE_CACHE_MS);
  return Math.min(Math.max(retryAfterMs, MIN_RETRY_MS), MAX_CACHE_MS);
}
