import type { Connection } from "../config/config.ts";
import type { FailureKind } from "../protocols/canonical/failure/failure.ts";
import { QuotaFailure } from "./failure.ts";
import type { QuotaWindow } from "./window.ts";

/** What was learned of a connection's quota, and when. */
export type Reading = GoodReading | FailedReading;

/** The windows that the provider told. */
export interface GoodReading {
  /** Milliseconds since 1970. */
  readonly checkedAtMs: number;
  readonly windows: readonly QuotaWindow[];
}

/** Why there are none. */
export interface FailedReading {
  /** Milliseconds since 1970. */
  readonly checkedAtMs: number;
  readonly failure: QuotaFailure;
}

/** Whether the provider told its windows. */
export function isGood(reading: Reading): reading is GoodReading {
  return "windows" in reading;
}

/** A {@linkcode Reading} as data alone, to be sent to another thread or written as JSON. */
export interface PlainReading {
  /** Milliseconds since 1970. */
  readonly checkedAtMs: number;
  /** Absent where they could not be read. */
  readonly windows?: readonly QuotaWindow[] | undefined;
  /** Why they could not. */
  readonly failure?: PlainFailure | undefined;
}

/** A {@linkcode QuotaFailure} as data alone. */
interface PlainFailure {
  readonly kind: FailureKind;
  readonly message: string;
  readonly retryAfterMs?: number | undefined;
}

/** The data of a reading. */
export function toPlain(reading: Reading): PlainReading {
  const { checkedAtMs } = reading;
  if (isGood(reading)) return { checkedAtMs, windows: reading.windows };
  const { kind, message, retryAfterMs } = reading.failure;
  return { checkedAtMs, failure: { kind, message, retryAfterMs } };
}

/** The reading that some data was made of. */
export function fromPlain(
  { checkedAtMs, windows = [], failure }: PlainReading,
): Reading {
  if (failure === undefined) return { checkedAtMs, windows };
  const { kind, message, retryAfterMs } = failure;
  return {
    checkedAtMs,
    failure: new QuotaFailure(kind, message, { retryAfterMs }),
  };
}

/** A reading, and how long it stands yet. */
export interface LastingReading {
  readonly reading: Reading;
  /** In milliseconds. */
  readonly ttlMs: number;
}

/** Where replicas of the gateway agree on who reads a quota, and leave what was read for each other. */
export interface SharedReadings {
  /**
   * Asks before a quota is read. Never rejects.
   *
   * @param signal Ends the waiting for a replica that reads it already.
   * @returns What another replica has read; `undefined` when this one is to read.
   */
  find(
    connection: Connection,
    signal: AbortSignal,
  ): Promise<LastingReading | undefined>;
  /** Leaves what was read for the others. */
  publish(connection: Connection, lasting: LastingReading): void;
}

/**
 * Tells whether what is known of a connection's quota still applies after a reload: equal for two
 * connections that read the same quota in the same way. It holds the credential: keep it in memory.
 */
export function sourceKey(connection: Connection): string {
  const known = keys.get(connection);
  if (known !== undefined) return known;
  const { id, endpoints, auth, headers, quota } = connection;
  const key = JSON.stringify([id, endpoints, auth, headers, quota]);
  keys.set(connection, key);
  return key;
}

/** A connection never changes: a reload makes others. */
const keys = new WeakMap<Connection, string>();
