import type { Connection } from "../config/config.ts";
import type { Reading } from "./reading.ts";

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
