import type { ConfigStore } from "../config/store.ts";
import type { Clock } from "../core/time/clock.ts";
import { QuotaFailure } from "../limits/failure.ts";
import { toPlain } from "../limits/plain_reading.ts";
import type { Poller } from "../limits/poller.ts";
import { readerOf } from "../limits/readers/mod.ts";
import type { RemoteReading } from "./remote_poller.ts";

/** Reads the quotas of connections for several threads. */
export interface QuotaDesk {
  /** What the endpoint of a connection tells; never rejects. */
  read(connectionId: string): Promise<RemoteReading>;
}

/** What a {@linkcode QuotaDesk} works with. */
export interface QuotaDeskOptions {
  readonly store: ConfigStore;
  readonly poller: Poller;
  readonly clock: Pick<Clock, "now">;
}

/** Reads with a poller of its own, as the configuration in use says. */
export function createQuotaDesk(
  { store, poller, clock }: QuotaDeskOptions,
): QuotaDesk {
  const retain = () => poller.retain(store.current().connections);
  retain();
  store.onSwap(retain);
  return {
    async read(connectionId) {
      const { connections, limits } = store.current();
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

/** The thread that asks has another configuration yet. */
function replaced(checkedAtMs: number): RemoteReading {
  const failure = new QuotaFailure(
    "server",
    "The configuration of this connection has just changed: ask again",
  );
  const reading = toPlain({ checkedAtMs, failure });
  return { reading, cached: false };
}
