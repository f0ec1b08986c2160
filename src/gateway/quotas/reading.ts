import { oncePer } from "@gateway/base/memo";
import type { Connection } from "../config/config.ts";
import type { FailureKind } from "@gateway/codecs";
import { QuotaFailure } from "./failure.ts";
import type { QuotaWindow } from "@gateway/page/answers";

/** The result of reading a connection's quota, with its time. */
export type Reading = GoodReading | FailedReading;

/** A reading with the provider's windows. */
export interface GoodReading {
  /** Milliseconds since 1970. */
  readonly checkedAtMs: number;
  readonly windows: readonly QuotaWindow[];
}

/** A reading that failed. */
export interface FailedReading {
  /** Milliseconds since 1970. */
  readonly checkedAtMs: number;
  readonly failure: QuotaFailure;
}

/** Returns true when the reading has windows. */
export function isGood(reading: Reading): reading is GoodReading {
  return "windows" in reading;
}

/** A {@linkcode Reading} as plain data, for other threads or JSON. */
export interface PlainReading {
  /** Milliseconds since 1970. */
  readonly checkedAtMs: number;
  /** Absent when the quota could not be read. */
  readonly windows?: readonly QuotaWindow[] | undefined;
  /** Set when the quota could not be read. */
  readonly failure?: PlainFailure | undefined;
}

/** A {@linkcode QuotaFailure} as plain data. */
interface PlainFailure {
  readonly kind: FailureKind;
  readonly message: string;
  readonly retryAfterMs?: number | undefined;
}

/** Returns the plain data of a reading. */
export function toPlain(reading: Reading): PlainReading {
  const { checkedAtMs } = reading;
  if (isGood(reading)) return { checkedAtMs, windows: reading.windows };
  const { kind, message, retryAfterMs } = reading.failure;
  return { checkedAtMs, failure: { kind, message, retryAfterMs } };
}

/** Returns the reading of plain data. */
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

/** A reading and its remaining lifetime. */
export interface LastingReading {
  readonly reading: Reading;
  /** In milliseconds. */
  readonly ttlMs: number;
}

/** Shares readings between replicas. The replicas agree on one replica that reads a quota. */
export interface SharedReadings {
  /**
   * Finds the reading of another replica. Called before a read. Never rejects.
   *
   * @param signal Ends the wait for a replica that is reading already.
   * @returns The reading of another replica, or `undefined` when this replica must read.
   */
  find(
    connection: Connection,
    signal: AbortSignal,
  ): Promise<LastingReading | undefined>;
  /** Publishes a reading for the other replicas. */
  publish(connection: Connection, lasting: LastingReading): void;
}

/**
 * Returns a key for the quota of a connection. Two connections that read the same quota in the same way have the same
 * key, so a reload keeps readings. The key contains the credential: keep the key in memory.
 */
export const sourceKey = oncePer(
  ({ id, endpoints, auth, headers, quota }: Connection): string =>
    JSON.stringify([id, endpoints, auth, headers, quota]),
);
