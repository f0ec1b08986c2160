import type { Timers } from "../core/time/timers.ts";
import type { Ending, RequestFacts } from "./facts.ts";

/** A request that has ended. */
export interface EndedRequest {
  readonly facts: Readonly<RequestFacts>;
  readonly ending: Ending;
  /** From its first byte to its last, in milliseconds. */
  readonly totalMs: number;
}

/** Takes what is to be counted. Whoever tells it names connections and tokens as the configuration does. */
export interface Metrics {
  requestEnded(ended: EndedRequest): void;
  /** A connection is left alone for a while because it failed. */
  cooledDown(connection: string): void;
  /** A token came near a limit of what it may use, or was refused by it. */
  limited(event: LimitedEvent): void;
}

/** What became of a token at a limit. */
interface LimitedEvent {
  /** The token's name. */
  readonly token: string;
  /** Unit and window, such as `tokens day`. */
  readonly limit: string;
  readonly outcome: "near" | "refused";
}

/** What a gateway can tell of itself at any moment. */
export interface GatewayState {
  /** How many requests are being served. */
  readonly inFlight: number;
  /** What bodies take of memory, in bytes. */
  readonly bodyMemoryBytes: number;
  /** Every quota window that is known now. */
  readonly quotas: readonly QuotaState[];
}

/** One quota window of one connection; what the provider does not tell is null. */
export interface QuotaState {
  /** The connection's name. */
  readonly connection: string;
  readonly type: string;
  readonly window: string;
  readonly unit: string;
  /** In `unit`. */
  readonly limit: number | null;
  /** In `unit`. */
  readonly remaining: number | null;
  /** Above 100 on overuse. */
  readonly usedPercent: number | null;
  /** Milliseconds since 1970. */
  readonly resetsAtMs: number | null;
}

/**
 * Metrics as they stand, one entry a metric, in plain values that a thread can send to another. See
 * `exposition.ts`.
 */
export type Snapshot = readonly object[];

/** How often the lag is measured, in milliseconds. */
const EVERY_MS = 500;

/**
 * Measures how late timers ring, which is how long requests wait for the thread.
 *
 * @param report Takes one lag in milliseconds.
 * @returns Ends the measuring.
 */
export function measureLag(
  timers: Timers,
  report: (ms: number) => void,
): () => void {
  let stop = next();

  function next(): () => void {
    const dueMs = timers.elapsedMs() + EVERY_MS;
    return timers.schedule(EVERY_MS, () => {
      report(Math.max(0, timers.elapsedMs() - dueMs));
      stop = next();
    });
  }

  return () => stop();
}
