import type { Caller, Config, Connection } from "../config/config.ts";
import type { Clock } from "../core/time/clock.ts";
import { GatewayError } from "../core/error.ts";
import { untilAbort } from "../core/time/until_abort.ts";
import { QuotaFailure } from "./failure.ts";
import { freshest } from "./freshest.ts";
import type { Harvest } from "./harvest.ts";
import {
  type ConnectionEntry,
  type LimitsList,
  limitsList,
  readEntry,
  unreadEntry,
} from "./list.ts";
import type { PolledReading, Poller } from "./poller.ts";
import { readerOf } from "./readers/mod.ts";
import { isGood } from "./reading.ts";
import { createUsedUpWindows } from "./used_up.ts";
import { type QuotaWindow, windowKey } from "./window.ts";

/** Tells callers what is left of the quotas they share. */
export interface LimitsService {
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
  ): Promise<LimitsList>;
  /**
   * The windows of a connection's quota as far as they are known now; asks no provider. One that is used up
   * stays known until it resets.
   */
  known(connection: Connection): readonly QuotaWindow[];
}

/** What a {@linkcode LimitsService} needs from outside. */
export interface LimitsServiceOptions {
  readonly clock: Clock;
  /** Reads what endpoints tell. */
  readonly poller: Poller;
  /** What the relay learns from response headers. */
  readonly harvest: Harvest;
  /** A signal that aborts after this many milliseconds; default `AbortSignal.timeout`. */
  readonly deadline?: (ms: number) => AbortSignal;
}

/** Creates a {@linkcode LimitsService} that knows nothing yet. */
export function createLimitsService(
  options: LimitsServiceOptions,
): LimitsService {
  const { clock, harvest, poller } = options;
  const deadline = options.deadline ?? ((ms) => AbortSignal.timeout(ms));
  const usedUp = createUsedUpWindows(options);
  let latest: Config | undefined;

  async function read(
    caller: Caller,
    config: Config,
    signal?: AbortSignal,
  ): Promise<LimitsList> {
    signal?.throwIfAborted();
    adopt(config);
    const budget = deadline(config.limits.budgetMs);
    const entries = config.connections
      .filter(({ id }) => caller.connectionIds.has(id))
      .map((connection) => entryOf(connection, config));
    const end = signal ? AbortSignal.any([budget, signal]) : budget;
    try {
      return limitsList(await untilAbort(Promise.all(entries), end));
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
    usedUp.retain(config.connections);
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
    if (isGood(learnt)) usedUp.learn(connection, learnt.windows);
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
    usedUp.learn(connection, reported);
    return withUsedUp(reported, usedUp.of(connection));
  }

  return { read, known };
}

/** What was reported, and what is used up still though it was not reported again. */
function withUsedUp(
  reported: readonly QuotaWindow[],
  usedUp: readonly QuotaWindow[],
): readonly QuotaWindow[] {
  const still = new Map(usedUp.map((one) => [windowKey(one), one]));
  const reportedKeys = new Set(reported.map(windowKey));
  return [
    ...reported.map((one) => still.get(windowKey(one)) ?? one),
    ...usedUp.filter((one) => !reportedKeys.has(windowKey(one))),
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
