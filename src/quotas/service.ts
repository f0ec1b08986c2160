import type { Caller, Config, Connection } from "../config/config.ts";
import { GatewayError } from "../core/error.ts";
import { untilAbort } from "../core/time/deadlines.ts";
import type { Clock } from "../core/time/timers.ts";
import { QuotaFailure } from "./failure.ts";
import type { Harvest } from "./harvest.ts";
import {
  type ConnectionEntry,
  type QuotaList,
  quotaList,
  readEntry,
  unreadEntry,
} from "./list.ts";
import type { PolledReading, Poller } from "./poller.ts";
import { readerOf } from "./readers/mod.ts";
import {
  type GoodReading,
  isGood,
  type Reading,
  sourceKey,
} from "./reading.ts";
import { isExhausted, type QuotaWindow, windowKey } from "./window.ts";

/** Tells callers what is left of the quotas they share. */
export interface QuotaService {
  /**
   * The quotas of the caller's connections, in the order of the config; one that cannot be read says so
   * in its entry and hides no other.
   *
   * @param signal Aborted when the caller leaves; it ends the waiting and no read.
   * @throws GatewayError `provider_limits_timeout` (504) when the answers take longer than the budget;
   * those that came are there for the next call.
   * @throws The signal's reason when it aborts.
   */
  read(
    caller: Caller,
    config: Config,
    signal?: AbortSignal,
  ): Promise<QuotaList>;
  /**
   * The windows of a connection's quota as far as they are known now; asks no provider. One that is exhausted
   * stays known until it resets.
   */
  known(connection: Connection): readonly QuotaWindow[];
}

/** What a {@linkcode QuotaService} needs from outside. */
export interface QuotaServiceOptions {
  readonly clock: Clock;
  /** Reads what endpoints tell. */
  readonly poller: Poller;
  /** What the relay learns from response headers. */
  readonly harvest: Harvest;
  /** A signal that aborts after this many milliseconds; default `AbortSignal.timeout`. */
  readonly deadline?: (ms: number) => AbortSignal;
}

/** Creates a {@linkcode QuotaService} that knows nothing yet. */
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

  /** Forgets what a new config no longer has, and what answers of an old one reported since. */
  function adopt(config: Config): void {
    const hasStrangers = harvest.size > config.connections.length;
    if (config === latest && !hasStrangers) return;
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
    return learntEntry(connection, polled);
  }

  function learntEntry(
    connection: Connection,
    polled: PolledReading | undefined,
  ): ConnectionEntry {
    const learnt = freshest(polled?.reading, harvest.reading(connection));
    if (learnt === undefined) {
      const nothing = { checkedAtMs: clock.now(), failure: nothingRelayed() };
      return readEntry(connection, nothing, { cached: false });
    }
    if (isGood(learnt)) exhausted.learn(connection, learnt.windows);
    const isPolled = polled !== undefined && learnt === polled.reading;
    return readEntry(connection, learnt, {
      cached: isPolled ? polled.cached : true,
    });
  }

  function known(connection: Connection): readonly QuotaWindow[] {
    const { enabled, quota } = connection;
    if (!enabled || quota === undefined) return [];
    const seen = harvest.reading(connection);
    const learnt = freshest(poller.known(connection), seen);
    const reported = learnt !== undefined && isGood(learnt)
      ? learnt.windows
      : [];
    exhausted.learn(connection, reported);
    return withExhausted(reported, exhausted.of(connection));
  }

  return { read, known };
}

/** What was reported, and what is still exhausted though it was not reported again. */
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
    "Reading the provider limits took longer than its time budget: ask again, what has been read by then is kept",
    { type: "provider_limits_timeout", code: "provider_limits_timeout" },
  );
}

function nothingRelayed(): QuotaFailure {
  return new QuotaFailure(
    "server",
    "This service tells its quota with its answers, and none has been relayed yet",
    { reason: "not_told_yet" },
  );
}

/**
 * Of what the quota endpoint told and what the last relayed answer told, the freshest for each window.
 *
 * Headers also stand in for an endpoint that fails, as long as they tell of a window that still runs: a
 * token that may call models need not be allowed to read its usage.
 *
 * @param polled What the endpoint told; undefined where there is none.
 * @param seen What the headers told; undefined where nothing was relayed yet.
 * @returns Undefined when neither told anything. `checkedAtMs` is that of its oldest window.
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

/** The endpoint tells of windows that the headers leave out; those keep its numbers and its age. */
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

/** Remembers which windows are exhausted until they reset, longer than any cache keeps the rest. */
interface ExhaustedWindows {
  /** Learns from what was reported last; of a window that this leaves out, the last word stands. */
  learn(connection: Connection, reported: readonly QuotaWindow[]): void;
  /** The windows that are still exhausted. */
  of(connection: Connection): readonly QuotaWindow[];
  /** Forgets what does not belong to `connections` as they are configured now. */
  retain(connections: readonly Connection[]): void;
}

/** What connections of old configurations have left goes first. */
const MAX_CONNECTIONS = 1000;

/** Nothing is known yet. */
function createExhaustedWindows(
  { clock }: { readonly clock: Clock },
): ExhaustedWindows {
  /** By connection as it is configured, and there by window. */
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
