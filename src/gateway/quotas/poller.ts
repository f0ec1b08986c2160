import type { Config, Connection } from "../config/config.ts";
import type { Clock } from "@gateway/base/time/timers";
import { SingleFlight } from "@gateway/base/memo";
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
import { TtlCache } from "@gateway/base/collections";

/** Reads quota endpoints for all callers together, and caches the results. */
export interface Poller {
  /**
   * Returns the quota of a connection from the cache, from a running read, or from a new read. Never rejects. A read
   * continues when its caller stops waiting, and the next caller gets the result of that read.
   */
  read(endpoint: QuotaPoll, options: PollOptions): Promise<PolledReading>;
  /** Returns the cached reading of the connection, without a new read. */
  known(connection: Connection): Reading | undefined;
  /** Keeps a reading of another gateway, unless a newer reading is known. */
  learn(connection: Connection, lasting: LastingReading): void;
  /**
   * Removes the readings of connections that are not in `connections`, or that have different settings in
   * `connections`.
   */
  retain(connections: readonly Connection[]): void;
}

/** The quota to read, and the limits of the read. */
interface PollOptions {
  readonly source: QuotaSource;
  readonly limits: Config["limits"];
}

/** A reading, its remaining lifetime and its origin. */
export interface PolledReading extends LastingReading {
  readonly cached: boolean;
}

/** The dependencies of a {@linkcode Poller}. */
interface PollerOptions {
  readonly fetch: QuotaFetch;
  readonly clock: Clock;
  /** Gets a line for every failed read. */
  readonly log: Log;
  /** Returns a signal that aborts after this many milliseconds. Default: `AbortSignal.timeout`. */
  readonly deadline?: (ms: number) => AbortSignal;
  /** Lets one replica read for all. Default: each replica reads for itself. */
  readonly sharedReadings?: SharedReadings | undefined;
  /** Called with every reading of this gateway. */
  readonly onRead?: (connection: Connection, lasting: LastingReading) => void;
}

/** The longest lifetime of a result: 60 seconds (docs/design.md#quotas). */
const MAX_CACHE_MS = 60_000;

const FAILURE_CACHE_MS = 10_000;

const MIN_RETRY_MS = 1000;

/**
 * A read may take this many milliseconds longer than the budget of GET /limits, so that the budget always ends first.
 */
const GRACE_MS = 250;

/** Creates a {@linkcode Poller} without readings. */
export function createPoller(options: PollerOptions): Poller {
  const { fetch, clock, log, sharedReadings } = options;
  const deadline = options.deadline ?? ((ms) => AbortSignal.timeout(ms));
  const cache = new TtlCache<string, Reading>(clock);
  const flights = new SingleFlight<string, Reading>();
  /** The keys of the connections in the current configuration. A read for an older configuration stores nothing. */
  let current: ReadonlySet<string> = new Set();
  /** The keys of the connections whose last read ran into its deadline. */
  const silent = new Set<string>();

  async function read(
    endpoint: QuotaPoll,
    poll: PollOptions,
  ): Promise<PolledReading> {
    const key = sourceKey(poll.source.connection);
    const known = cache.get(key);
    const cached = known !== undefined;
    const reading = known ??
      await flights.run(key, () => readSource(endpoint, poll));
    return { reading, ttlMs: cache.ttlMs(key), cached };
  }

  async function readSource(
    endpoint: QuotaPoll,
    { source, limits }: PollOptions,
  ): Promise<Reading> {
    const key = sourceKey(source.connection);
    // A provider that was too slow at the last read gets half of the budget, so that GET /limits can report the others.
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
 * Returns the lifetime of a reading in milliseconds. It is the provider's pace, because the provider answers faster
 * reads with 429. For a provider without a pace, it is the lifetime in docs/design.md#quotas.
 */
function lifetime(
  reading: Reading,
  { paceMs }: QuotaPoll,
  { cacheMs }: Config["limits"],
): number {
  const freshMs = Math.min(cacheMs, MAX_CACHE_MS);
  if (isGood(reading)) return paceMs ?? freshMs;
  const { reason, retryAfterMs } = reading.failure;
  // A provider that responded has counted the read, even if it failed.
  if (paceMs !== undefined && reason !== "unreachable") return paceMs;
  if (retryAfterMs === undefined) return Math.min(freshMs, FAILURE_CACHE_MS);
  return Math.min(Math.max(retryAfterMs, MIN_RETRY_MS), MAX_CACHE_MS);
}
