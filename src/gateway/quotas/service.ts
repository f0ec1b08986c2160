import type { Caller, Config, Connection } from "../config/config.ts";
import { GatewayError } from "@gateway/base/error";
import { untilAbort } from "@gateway/base/time/deadlines";
import type { Clock } from "@gateway/base/time/timers";
import { QuotaFailure, unreadable } from "./failure.ts";
import type { Harvest } from "./harvest.ts";
import { quotaList, readEntry, unreadEntry } from "./list.ts";
import type {
  ConnectionEntry,
  QuotaList,
  QuotaWindow,
} from "@gateway/page/answers";
import type { PolledReading, Poller } from "./poller.ts";
import { readerOf } from "./readers/mod.ts";
import {
  type GoodReading,
  isGood,
  type Reading,
  sourceKey,
} from "./reading.ts";
import { isExhausted, windowKey } from "./window.ts";

/** Reports the quotas of connections to callers. */
export interface QuotaService {
  /**
   * Returns the quotas of the caller's connections, in the order of the config. If a quota cannot be read, its entry
   * has the error, and all other quotas are still returned.
   *
   * @param signal Aborts when the caller disconnects. The wait then ends, but the reads continue.
   * @throws GatewayError `provider_limits_timeout` (504) when the reads take longer than the budget. Finished reads are
   * kept for the next call.
   * @throws The signal's reason when it aborts.
   */
  read(
    caller: Caller,
    config: Config,
    signal?: AbortSignal,
  ): Promise<QuotaList>;
  /**
   * Returns the known windows of a connection's quota without a new read. An exhausted window stays known until the
   * window resets.
   */
  known(connection: Connection): readonly QuotaWindow[];
}

/** The dependencies of a {@linkcode QuotaService}. */
interface QuotaServiceOptions {
  readonly clock: Clock;
  /** Reads quota endpoints. */
  readonly poller: Poller;
  /** Keeps the quotas in response headers. */
  readonly harvest: Harvest;
  /** Returns a signal that aborts after this many milliseconds. Default: `AbortSignal.timeout`. */
  readonly deadline?: (ms: number) => AbortSignal;
}

/** Creates a {@linkcode QuotaService} without readings. */
export function createQuotaService(
  options: QuotaServiceOptions,
): QuotaService {
  const { clock, harvest, poller } = options;
  const deadline = options.deadline ?? ((ms) => AbortSignal.timeout(ms));
  const exhausted = createExhaustedWindows(options);
  let latest: Config | undefined;

  async function read(
    caller: Caller,
    config: Config,
    signal?: AbortSignal,
  ): Promise<QuotaList> {
    signal?.throwIfAborted();
    adopt(config);
    const budget = deadline(config.limits.budgetMs);
    const entries = config.connections
      .filter(({ id }) => caller.connectionIds.has(id))
      .map((connection) => entryOf(connection, config));
    const end = signal ? AbortSignal.any([budget, signal]) : budget;
    try {
      return quotaList(await untilAbort(Promise.all(entries), end));
    } catch (error) {
      throw budget.aborted && !signal?.aborted ? budgetOver() : error;
    }
  }

  /**
   * Adopts a new configuration. Drops the data of every connection that the new configuration lacks. Responses that
   * arrive late for such a connection are dropped at the next call.
   */
  function adopt(config: Config): void {
    const hasOthers = harvest.size > config.connections.length;
    if (config === latest && !hasOthers) return;
    latest = config;
    poller.retain(config.connections);
    harvest.retain(config.connections);
    exhausted.retain(config.connections);
  }

  async function entryOf(
    connection: Connection,
    config: Config,
  ): Promise<ConnectionEntry> {
    const nowMs = clock.now();
    const { enabled, quota } = connection;
    if (!enabled) return unreadEntry(connection, "disabled", { nowMs });
    if (!quota) return unreadEntry(connection, "unsupported", { nowMs });
    const source = { connection, quota };
    const { poll } = readerOf(quota);
    const polled = poll && (poll.appliesTo?.(source) ?? true)
      ? await poller.read(poll, { source, limits: config.limits })
      : undefined;
    return entryWithQuota(connection, polled);
  }

  function entryWithQuota(
    connection: Connection,
    polled: PolledReading | undefined,
  ): ConnectionEntry {
    const reading = freshest(polled?.reading, harvest.reading(connection));
    if (reading === undefined) {
      const nothing = { checkedAtMs: clock.now(), failure: nothingRelayed() };
      return readEntry(connection, nothing, { cached: false });
    }
    if (isGood(reading)) exhausted.learn(connection, reading.windows);
    const isPolled = polled !== undefined && reading === polled.reading;
    return readEntry(connection, reading, {
      cached: isPolled ? polled.cached : true,
    });
  }

  function known(connection: Connection): readonly QuotaWindow[] {
    const { enabled, quota } = connection;
    if (!enabled || quota === undefined) return [];
    const seen = harvest.reading(connection);
    const reading = freshest(poller.known(connection), seen);
    const reported = reading !== undefined && isGood(reading)
      ? reading.windows
      : [];
    exhausted.learn(connection, reported);
    return withExhausted(reported, exhausted.of(connection));
  }

  return { read, known };
}

/** Returns the reported windows, and the exhausted windows that the report lacks. */
function withExhausted(
  reported: readonly QuotaWindow[],
  exhausted: readonly QuotaWindow[],
): readonly QuotaWindow[] {
  const still = new Map(exhausted.map((one) => [windowKey(one), one]));
  const reportedKeys = new Set(reported.map(windowKey));
  return [
    ...reported.map((one) => still.get(windowKey(one)) ?? one),
    ...exhausted.filter((one) => !reportedKeys.has(windowKey(one))),
  ];
}

function budgetOver(): GatewayError {
  return new GatewayError(
    "timeout",
    "Cannot read all quotas: the reads took longer than their time budget. Try again: finished reads are kept.",
    { type: "provider_limits_timeout", code: "provider_limits_timeout" },
  );
}

function nothingRelayed(): QuotaFailure {
  return unreadable(
    "server",
    "this service reports the quota with its responses, and no response has been relayed yet.",
    { reason: "not_known_yet" },
  );
}

/**
 * Returns the newest data for each window, from the quota endpoint or the last relayed response.
 *
 * If the read of the endpoint failed, returns the reading of the headers until all of its windows have reset. A token
 * for models may lack the right to read its own quota.
 *
 * @param polled The reading of the endpoint. Undefined when there is none.
 * @param seen The reading of the headers. Undefined when no response was relayed yet.
 * @returns Undefined when both are missing. `checkedAtMs` is the time of the oldest window.
 */
function freshest(
  polled: Reading | undefined,
  seen: GoodReading | undefined,
): Reading | undefined {
  if (seen === undefined) return polled;
  if (polled === undefined) return seen;
  if (!isGood(polled)) return seen.windows.some(isRunning) ? seen : polled;
  return seen.checkedAtMs > polled.checkedAtMs ? update(polled, seen) : polled;
}

function isRunning(one: QuotaWindow): boolean {
  return one.used !== null;
}

/**
 * Merges a reading of the endpoint and a newer reading of the headers. A window that the headers leave out keeps the
 * numbers of the endpoint. The result is then as old as the endpoint's reading.
 */
function update(polled: GoodReading, seen: GoodReading): GoodReading {
  const newer = new Map(seen.windows.map((one) => [windowKey(one), one]));
  const polledKeys = new Set(polled.windows.map(windowKey));
  const isComplete = polled.windows.every((one) => newer.has(windowKey(one)));
  return {
    checkedAtMs: isComplete ? seen.checkedAtMs : polled.checkedAtMs,
    windows: [
      ...polled.windows.map((one) => newer.get(windowKey(one)) ?? one),
      ...seen.windows.filter((one) => !polledKeys.has(windowKey(one))),
    ],
  };
}

/** Keeps exhausted windows until they reset, even after the caches have dropped the readings. */
interface ExhaustedWindows {
  /** Updates the exhausted windows from a report. A window that the report leaves out stays. */
  learn(connection: Connection, reported: readonly QuotaWindow[]): void;
  /** Returns the windows that are still exhausted. */
  of(connection: Connection): readonly QuotaWindow[];
  /**
   * Removes the windows of connections that are not in `connections`, or that have different settings in `connections`.
   */
  retain(connections: readonly Connection[]): void;
}

/**
 * The largest number of connections whose windows are kept. The connection that was updated longest ago is removed
 * first.
 */
const MAX_CONNECTIONS = 1000;

/** Creates an empty {@linkcode ExhaustedWindows}. */
function createExhaustedWindows(
  { clock }: { readonly clock: Clock },
): ExhaustedWindows {
  /** The exhausted windows by the key of the connection's quota, then by the key of the window. */
  const known = new Map<string, Map<string, QuotaWindow>>();

  return {
    learn(connection, reported) {
      const key = sourceKey(connection);
      const windows = known.get(key) ?? new Map<string, QuotaWindow>();
      for (const one of reported) {
        if (isExhausted(one) && runsAt(one, clock.now())) {
          windows.set(windowKey(one), one);
        } else if (one.used_percent !== null || one.remaining !== null) {
          windows.delete(windowKey(one));
        }
      }
      known.delete(key);
      if (windows.size > 0) known.set(key, windows);
      const [oldest] = known.keys();
      if (oldest !== undefined && known.size > MAX_CONNECTIONS) {
        known.delete(oldest);
      }
    },
    of(connection) {
      const windows = known.get(sourceKey(connection));
      if (windows === undefined) return [];
      const nowMs = clock.now();
      return [...windows.values()].filter((one) => runsAt(one, nowMs));
    },
    retain(connections) {
      const keys = new Set(connections.map(sourceKey));
      for (const key of known.keys()) if (!keys.has(key)) known.delete(key);
    },
  };
}

function runsAt({ resets_at }: QuotaWindow, nowMs: number): boolean {
  return Date.parse(resets_at ?? "") > nowMs;
}
