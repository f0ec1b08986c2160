import type { Connection } from "../config/config.ts";
import type { Clock } from "../core/time/timers.ts";
import type { HeaderFields } from "../core/header_fields.ts";
import { readerOf } from "./readers/mod.ts";
import type { HeaderQuota } from "./readers/reader.ts";
import { type GoodReading, sourceKey } from "./reading.ts";
import type { QuotaWindow } from "./window.ts";

/** Learns quotas from the traffic that the gateway relays anyway. */
export interface Harvest {
  /**
   * Remembers what an upstream's answer tells of its connection's quota, whatever its status. Costs a
   * few header look-ups and nothing for a service that tells nothing there. The headers are kept, not
   * copied: do not change them afterwards.
   */
  observe(connection: Connection, headers: HeaderFields): void;
  /**
   * The windows of the last answer that had any. A window that has reset since then keeps its size
   * alone.
   */
  reading(connection: Connection): GoodReading | undefined;
  /** Keeps what an answer at another gateway told, unless this one has relayed a newer one. */
  learn(connection: Connection, reading: GoodReading): void;
  /** What answers here told since this was last called, the last of each connection. */
  takeNews(): readonly HarvestNews[];
  /** Of how many connections an answer is remembered. */
  readonly size: number;
  /** Forgets every connection that is not among `connections`, or is read in another way now. */
  retain(connections: readonly Connection[]): void;
}

/** What an answer told of a connection's quota. */
export interface HarvestNews {
  readonly connection: Connection;
  readonly reading: GoodReading;
}

/** The last telling answer of a connection. */
interface Seen {
  connection: Connection;
  readonly headers: HeaderFields;
  readonly atMs: number;
  /** Parsed when first asked for. */
  windows?: readonly QuotaWindow[];
}

/** What a {@linkcode Harvest} works with. */
export interface HarvestOptions {
  readonly clock: Clock;
  /** Called when there is news, again only after it was taken; default: nobody wants news. */
  readonly onNews?: (() => void) | undefined;
}

const NO_HEADERS = new Headers();

/** Creates an empty {@linkcode Harvest}. */
export function createHarvest({ clock, onNews }: HarvestOptions): Harvest {
  const seenById = new Map<string, Seen>();
  /** The ids of the connections that there is news of. */
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

/** After a reload the same connection is another object. */
function isSameSource(seen: Seen, connection: Connection): boolean {
  if (seen.connection === connection) return true;
  if (sourceKey(seen.connection) !== sourceKey(connection)) return false;
  seen.connection = connection;
  return true;
}

function asOf(one: QuotaWindow, seenAtMs: number, nowMs: number): QuotaWindow {
  const resetMs = Date.parse(one.resets_at ?? "");
  const hasBegunAnew = resetMs > seenAtMs && resetMs <= nowMs;
  if (!hasBegunAnew) return one;
  return {
    ...one,
    used: null,
    remaining: null,
    used_percent: null,
    resets_at: null,
  };
}
