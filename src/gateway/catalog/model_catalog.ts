import type { Fetch } from "../upstream/call.ts";
import type { Connection, Deployment } from "../config/config.ts";
import type { LiveConfig } from "../config/live_config.ts";
import { oncePer, SingleFlight } from "@gateway/base/memo";
import {
  type Deadlines,
  untilAbort,
  within,
} from "@gateway/base/time/deadlines";
import type { Clock } from "@gateway/base/time/timers";
import type { Log } from "../observe/log.ts";
import {
  configuredFacts,
  type ModelFacts,
  preferFirst,
} from "./model_facts.ts";
import { type ModelList, NoModelList, readModelList } from "./read_list.ts";

/** The facts about models. A fact in the configuration comes before the same fact in a provider's list. */
export interface ModelCatalog {
  /**
   * Reads missing and old model lists of some connections. Waits briefly for lists that were never read. Old lists are
   * read in the background.
   *
   * @param signal Aborted when the caller disconnects. The wait then ends, but the readings continue.
   * @throws The signal's reason when it aborts.
   */
  refresh(
    connections: readonly Connection[],
    signal: AbortSignal,
  ): Promise<void>;
  /** Returns the facts about a model that are known now, without a request. */
  factsOf(deployment: Deployment): ModelFacts;
}

/** The dependencies of a {@linkcode ModelCatalog}. */
interface ModelCatalogOptions {
  readonly liveConfig: Pick<LiveConfig, "current">;
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** Logs every list that cannot be read. */
  readonly log: Log;
}

/** The age up to which a list is fresh, in milliseconds. */
const FRESH_MS = 3_600_000;

/** The pause before a list that could not be read is requested again, in milliseconds. */
const FAILED_MS = 600_000;

/** The timeout of a reading, in milliseconds. */
const READ_MS = 5000;

/**
 * The longest wait for a first reading, in milliseconds. Clients ask for the models once, at their start. Claude Code
 * waits 3 s for the models, Codex 5 s.
 */
const FIRST_WAIT_MS = 1500;

/** The largest number of cached lists. The list that was requested first is dropped first. */
const MAX_LISTS = 1000;

/** The cached list of a connection. */
interface Listing {
  /** Absent before the first successful reading. A failed reading keeps the last list. */
  list?: ModelList;
  /** The time of the next reading, on the monotonic clock; absent before the first reading. */
  dueMs?: number;
}

/** Creates a catalog without any lists. */
export function createModelCatalog(options: ModelCatalogOptions): ModelCatalog {
  const { liveConfig, clock, deadlines, log } = options;
  const listings = new Map<string, Listing>();
  const flights = new SingleFlight<string, void>();

  function listingOf(connection: Connection): Listing {
    const key = listKey(connection);
    const known = listings.get(key);
    if (known !== undefined) return known;
    const [oldest] = listings.keys();
    if (oldest !== undefined && listings.size >= MAX_LISTS) {
      listings.delete(oldest);
    }
    const listing: Listing = {};
    listings.set(key, listing);
    return listing;
  }

  async function refresh(
    connections: readonly Connection[],
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    const nowMs = clock.elapsedMs();
    const first = connections.flatMap((one) => {
      const { dueMs } = listingOf(one);
      if (dueMs !== undefined && nowMs < dueMs) return [];
      const reading = flights.run(listKey(one), () => read(one));
      return dueMs === undefined ? [reading] : [];
    });
    if (first.length === 0) return;
    await within(untilAbort(Promise.all(first), signal), {
      ms: FIRST_WAIT_MS,
      start: deadlines.start,
      onLate: () => {},
    });
  }

  /** Reads the list of a connection; never rejects. */
  async function read(connection: Connection): Promise<void> {
    const listing = listingOf(connection);
    const late = new AbortController();
    const cancel = deadlines.start(READ_MS, () => late.abort());
    try {
      listing.list = await readModelList(connection, {
        fetch: options.fetch,
        clock,
        messagesVendor: liveConfig.current().messagesVendor,
        signal: late.signal,
      });
      listing.dueMs = clock.elapsedMs() + FRESH_MS;
    } catch (error) {
      listing.dueMs = clock.elapsedMs() + FAILED_MS;
      log.write("model_list_unread", {
        connection: connection.name,
        reason: error instanceof NoModelList
          ? error.message
          : "the gateway failed to read the list",
      });
    } finally {
      cancel();
    }
  }

  return {
    refresh,
    factsOf({ connection, model }) {
      const { list } = listings.get(listKey(connection)) ?? {};
      const listed = list?.get(model.upstream);
      const configured = configuredFacts(model);
      return listed === undefined
        ? configured
        : preferFirst(configured, listed);
    },
  };
}

/**
 * Returns a key that is equal for two connections with the same list, so that a reload keeps the lists. The key
 * contains the credential: keep it in memory.
 */
const listKey = oncePer((connection: Connection): string => {
  const { id, service, family, endpoints, auth, headers, models } = connection;
  const names = models.map(({ upstream }) => upstream);
  return JSON.stringify(
    [id, service, family, endpoints, auth, headers, names],
  );
});
