import type { Connection } from "../config/config.ts";
import type { Clock } from "@gateway/base/time/timers";
import type { HeaderFields } from "@gateway/base/header_fields";
import { readerOf } from "./readers/mod.ts";
import type { HeaderQuota } from "./readers/reader.ts";
import { type GoodReading, sourceKey } from "./reading.ts";
import type { QuotaWindow } from "@gateway/page/answers";

/** Collects quotas from the headers of relayed responses. */
export interface Harvest {
  /**
   * Keeps the quota headers of a response, whatever its status. For a service without such headers, looks up nothing.
   * The headers are not copied, so the caller must not change the headers later.
   */
  observe(connection: Connection, headers: HeaderFields): void;
  /**
   * Returns the windows of the last response with quota headers. A window that has reset since that response keeps only
   * its limit.
   */
  reading(connection: Connection): GoodReading | undefined;
  /** Keeps a reading from another gateway, unless this gateway knows a newer response. */
  learn(connection: Connection, reading: GoodReading): void;
  /** Returns the latest reading of each connection that has sent quota headers since the last call. */
  takeNews(): readonly HarvestNews[];
  /** The number of connections with a kept response. */
  readonly size: number;
  /** Drops the response of every connection that is not in `connections`, or whose quota is now read in another way. */
  retain(connections: readonly Connection[]): void;
}

/** A new reading of a connection's quota. */
interface HarvestNews {
  readonly connection: Connection;
  readonly reading: GoodReading;
}

/** A connection's last response with quota headers. */
interface Seen {
  connection: Connection;
  readonly headers: HeaderFields;
  readonly atMs: number;
  /** The windows in `headers`. Parsed when they are first used. */
  windows?: readonly QuotaWindow[];
}

/** The dependencies of a {@linkcode Harvest}. */
interface HarvestOptions {
  readonly clock: Clock;
  /**
   * Called once when there is a new reading, and again only after {@linkcode Harvest.takeNews}. Default: nothing is
   * called.
   */
  readonly onNews?: (() => void) | undefined;
}

const NO_HEADERS = new Headers();

/** Creates an empty {@linkcode Harvest}. */
export function createHarvest({ clock, onNews }: HarvestOptions): Harvest {
  const seenById = new Map<string, Seen>();
  /** The ids of the connections with a new reading. */
  const news = new Set<string>();
  let isAnnounced = false;

  function observe(connection: Connection, headers: HeaderFields): void {
    const quota = headerQuotaOf(connection);
    if (!quota?.probes.some((probe) => headers.has(probe))) return;
    seenById.set(connection.id, { connection, headers, atMs: clock.now() });
    if (onNews === undefined) return;
    news.add(connection.id);
    if (isAnnounced) return;
    isAnnounced = true;
    onNews();
  }

  function takeNews(): readonly HarvestNews[] {
    const seen = [...news].flatMap((id) => seenById.get(id) ?? []);
    news.clear();
    isAnnounced = false;
    return seen.flatMap(({ connection }) => {
      const known = reading(connection);
      return known === undefined ? [] : [{ connection, reading: known }];
    });
  }

  function learn(
    connection: Connection,
    { checkedAtMs: atMs, windows }: GoodReading,
  ): void {
    const seen = seenById.get(connection.id);
    if (seen !== undefined && seen.atMs >= atMs) return;
    const headers = NO_HEADERS;
    seenById.set(connection.id, { connection, headers, atMs, windows });
    news.delete(connection.id);
  }

  function reading(connection: Connection): GoodReading | undefined {
    const quota = headerQuotaOf(connection);
    const seen = seenById.get(connection.id);
    if (!quota || !seen || !isSameSource(seen, connection)) return undefined;
    seen.windows ??= quota.parse(seen.headers, seen.atMs);
    if (seen.windows.length === 0) return undefined;
    const nowMs = clock.now();
    return {
      checkedAtMs: seen.atMs,
      windows: seen.windows.map((one) => asOf(one, seen.atMs, nowMs)),
    };
  }

  function retain(connections: readonly Connection[]): void {
    const byId = new Map(connections.map((one) => [one.id, one]));
    for (const [id, seen] of seenById) {
      const connection = byId.get(id);
      if (!connection || !isSameSource(seen, connection)) seenById.delete(id);
    }
  }

  return {
    observe,
    reading,
    learn,
    takeNews,
    retain,
    get size() {
      return seenById.size;
    },
  };
}

function headerQuotaOf({ quota }: Connection): HeaderQuota | undefined {
  return quota && readerOf(quota).headers;
}

/**
 * Returns true when the kept response is still about a connection's quota. A reload creates new objects of connections.
 */
function isSameSource(seen: Seen, connection: Connection): boolean {
  if (seen.connection === connection) return true;
  if (sourceKey(seen.connection) !== sourceKey(connection)) return false;
  seen.connection = connection;
  return true;
}

function asOf(one: QuotaWindow, seenAtMs: number, nowMs: number): QuotaWindow {
  const resetMs = Date.parse(one.resets_at ?? "");
  const hasReset = resetMs > seenAtMs && resetMs <= nowMs;
  if (!hasReset) return one;
  return {
    ...one,
    used: null,
    remaining: null,
    used_percent: null,
    resets_at: null,
  };
}
