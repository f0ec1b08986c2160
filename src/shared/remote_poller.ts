import type { Connection } from "../config/config.ts";
import type { Clock } from "../core/time/clock.ts";
import { TtlCache } from "../core/collections/ttl_cache.ts";
import { fromPlain, type PlainReading } from "../limits/plain_reading.ts";
import type { Poller } from "../limits/poller.ts";
import type { Reading } from "../limits/reading.ts";
import { sourceKey } from "../limits/source_key.ts";

/** What a thread is told when it asks for a quota. */
export interface RemoteReading {
  readonly reading: PlainReading;
  readonly cached: boolean;
}

/** What a {@linkcode Poller} in a thread works with. */
export interface RemotePollerOptions {
  readonly clock: Clock;
  /** Asks who reads for all threads, by the id of a connection; never rejects. */
  readonly ask: (connectionId: string) => Promise<RemoteReading>;
}

/** A poller that reads nothing itself: it asks the one who reads for all, and learns what that one tells everybody. */
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
