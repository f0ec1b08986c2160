import type { Connection, Deployment } from "../config/config.ts";
import type { ConfigStore } from "../config/store.ts";
import { oncePer, SingleFlight } from "../core/memo.ts";
import { type Deadlines, untilAbort, within } from "../core/time/deadlines.ts";
import type { Clock } from "../core/time/timers.ts";
import type { Log } from "../observe/log.ts";
import type { Fetch } from "../upstream/call.ts";
import {
  configuredFacts,
  type ModelFacts,
  preferFirst,
} from "./model_facts.ts";
import { type ModelList, NoModelList, readModelList } from "./read_list.ts";

/** Knows of models what the configuration says, and of the rest what their providers say. */
export interface ModelCatalog {
  /**
   * Sees to it that what the providers of some connections say is known and not old. It waits a little for those
   * of which nothing is known yet; all else is read while nobody waits for it.
   *
   * @param signal Aborted when the asker leaves; it ends the waiting and no reading.
   * @throws The signal's reason when it aborts.
   */
  refresh(
    connections: readonly Connection[],
    signal: AbortSignal,
  ): Promise<void>;
  /** What is known of a model by now; asks nobody. */
  factsOf(deployment: Deployment): ModelFacts;
}

/** What a {@linkcode ModelCatalog} needs from outside. */
interface ModelCatalogOptions {
  readonly store: Pick<ConfigStore, "current">;
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** Told of every list that cannot be read. */
  readonly log: Log;
}

/** How long a list is taken for new, in milliseconds. */
const FRESH_MS = 3_600_000;

/** How long nobody asks again who has no list, or does not tell it now, in milliseconds. */
const FAILED_MS = 600_000;

/** A reading ends after this, in milliseconds. */
const READ_MS = 5000;

/**
 * So long an asker waits, in milliseconds. Clients ask once, when they start, and keep what they get: Claude Code
 * waits 3 s for it, Codex 5 s.
 */
const FIRST_WAIT_MS = 1500;

/** So many lists are remembered; the one that was asked for first goes first. */
const MAX_LISTS = 1000;

/** What was read of a connection's provider. */
interface Listing {
  /** Absent until there is one; the last one stays while it cannot be read again. */
  list?: ModelList;
  /** When to ask again, on the clock that never jumps; absent until somebody has. */
  dueMs?: number;
}

/** Knows nothing of any provider yet. */
export function createModelCatalog(options: ModelCatalogOptions): ModelCatalog {
  const { store, clock, deadlines, log } = options;
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

  /** Never rejects. */
  async function read(connection: Connection): Promise<void> {
    const listing = listingOf(connection);
    const late = new AbortController();
    const cancel = deadlines.start(READ_MS, () => late.abort());
    try {
      listing.list = await readModelList(connection, {
        fetch: options.fetch,
        messagesVendor: store.current().messagesVendor,
        signal: late.signal,
      });
      listing.dueMs = clock.elapsedMs() + FRESH_MS;
    } catch (error) {
      listing.dueMs = clock.elapsedMs() + FAILED_MS;
      log.write("model_list_unread", {
        connection: connection.name,
        reason: error instanceof NoModelList
          ? error.message
          : "the list could not be read",
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
 * Equal for two connections whose lists are read in the same way, so that a reload reads none again. It holds the
 * credential: keep it in memory.
 */
const listKey = oncePer((connection: Connection): string => {
  const { id, service, family, endpoints, auth, headers, models } = connection;
  const names = models.map(({ upstream }) => upstream);
  return JSON.stringify(
    [id, service, family, endpoints, auth, headers, names],
  );
});
