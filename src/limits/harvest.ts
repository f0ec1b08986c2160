import type { Connection } from "../config/config.ts";
import type { Clock } from "../core/clock.ts";
import { readerOf } from "./readers/mod.ts";
import type { HeaderQuota } from "./readers/reader.ts";
import type { GoodReading } from "./reading.ts";
import { sourceKey } from "./source_key.ts";
import type { QuotaWindow } from "./window.ts";

/** Learns quotas from the traffic that the gateway relays anyway. */
export interface Harvest {
  /**
   * Remembers what an upstream's answer tells of its connection's quota, whatever its status. Costs a
   * few header look-ups and nothing for a service that tells nothing there. The headers are kept, not
   * copied: do not change them afterwards.
   */
  observe(connection: Connection, headers: Headers): void;
  /**
   * The windows of the last answer that had any. A window that has reset since then keeps its size
   * alone.
   */
  reading(connection: Connection): GoodReading | undefined;
  /** Of how many connections an answer is remembered. */
  readonly size: number;
  /** Forgets every connection that is not among `connections`, or is read in another way now. */
  retain(connections: readonly Connection[]): void;
}

/** The last telling answer of a connection. */
interface Seen {
  connection: Connection;
  readonly headers: Headers;
  readonly atMs: number;
  /** Parsed when first asked for. */
  windows?: readonly QuotaWindow[];
}

/** Creates an empty {@linkcode Harvest}. */
export function createHarvest(
  { clock }: { readonly clock: Clock },
): Harvest {
  const seenById = new Map<string, Seen>();

  function observe(connection: Connection, headers: Headers): void {
    const quota = headerQuotaOf(connection);
    if (quota?.probes.some((probe) => headers.has(probe))) {
      seenById.set(connection.id, { connection, headers, atMs: clock.now() });
    }
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
