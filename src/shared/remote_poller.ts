import type { Connection } from "../config/config.ts";
import type { LiveConfig } from "../config/live_config.ts";
import { TtlCache } from "../core/collections.ts";
import type { Clock } from "../core/time/timers.ts";
import { QuotaFailure } from "../quotas/failure.ts";
import {
  fromPlain,
  type PlainReading,
  type Reading,
  sourceKey,
  toPlain,
} from "../quotas/reading.ts";
import type { Poller } from "../quotas/poller.ts";
import { readerOf } from "../quotas/readers/mod.ts";

/** The reply to a thread that requests a quota. */
export interface RemoteReading {
  readonly reading: PlainReading;
  readonly cached: boolean;
}

/** The dependencies of a {@linkcode Poller} in a thread. */
interface RemotePollerOptions {
  readonly clock: Clock;
  /** Requests a quota by the id of its connection from the poller of all threads; never rejects. */
  readonly ask: (connectionId: string) => Promise<RemoteReading>;
}

/**
 * Creates a poller that reads no quotas itself. It requests them from the poller of all threads, and keeps the readings
 * that this one publishes.
 */
export function createRemotePoller(
  { clock, ask }: RemotePollerOptions,
): Poller {
  const learnt = new TtlCache<string, Reading>(clock);
  const known = (connection: Connection) => learnt.get(sourceKey(connection));
  return {
    async read(_endpoint, { source }) {
      const { reading, cached } = await ask(source.connection.id);
      return { reading: fromPlain(reading), cached };
    },
    known,
    learn(connection, lasting) {
      learnt.set(sourceKey(connection), lasting.reading, lasting);
    },
    retain(connections) {
      learnt.retain(new Set(connections.map(sourceKey)));
    },
  };
}

/** Reads the quotas of connections for several threads. */
interface QuotaServer {
  /** Returns the quota from a connection's endpoint; never rejects. */
  read(connectionId: string): Promise<RemoteReading>;
}

/** The dependencies of a {@linkcode QuotaServer}. */
interface QuotaServerOptions {
  readonly liveConfig: LiveConfig;
  readonly poller: Poller;
  readonly clock: Pick<Clock, "now">;
}

/** Creates a server that reads with its own poller and follows the current configuration. */
export function createQuotaServer(
  { liveConfig, poller, clock }: QuotaServerOptions,
): QuotaServer {
  const retain = () => poller.retain(liveConfig.current().connections);
  retain();
  liveConfig.onSwap(retain);
  return {
    async read(connectionId) {
      const { connections, limits } = liveConfig.current();
      const connection = connections.find(({ id }) => id === connectionId);
      const quota = connection?.quota;
      const poll = quota && readerOf(quota).poll;
      if (!connection || !quota || !poll) return replaced(clock.now());
      const source = { connection, quota };
      const { reading, cached } = await poller.read(poll, { source, limits });
      return { reading: toPlain(reading), cached };
    },
  };
}

/** Returns the failure for a thread that still has another configuration. */
function replaced(checkedAtMs: number): RemoteReading {
  const failure = new QuotaFailure(
    "server",
    "The configuration of this connection has just changed. Try again.",
  );
  const reading = toPlain({ checkedAtMs, failure });
  return { reading, cached: false };
}
