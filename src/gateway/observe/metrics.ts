import type { Timers } from "@gateway/base/time/timers";
import type { Ending, RequestFacts } from "./facts.ts";

/** A request that has ended, as its log line, its metrics and its span show it. */
export interface EndedRequest {
  /** The final facts; `answer.usage` is the usage that was counted. */
  readonly facts: Readonly<RequestFacts>;
  readonly ending: Ending;
  /** The time from the arrival of the request to its end, in milliseconds. */
  readonly totalMs: number;
}

/** Counts events, by the configured names of connections and tokens. */
export interface Metrics {
  requestEnded(ended: EndedRequest): void;
  /**
   * Counts a cool-down of a connection.
   *
   * @param failure The reason of the cool-down, in a word of the log.
   */
  cooledDown(connection: string, failure: string): void;
  /** Counts a token that came near a limit or was rejected by it. */
  limited(event: LimitedEvent): void;
}

/** An event of a token at a limit. */
interface LimitedEvent {
  /** The token's name. */
  readonly token: string;
  /** Unit and window, such as `tokens day`. */
  readonly limit: string;
  readonly outcome: "near" | "refused";
}

/** The current state of a gateway. */
export interface GatewayState {
  /** The number of requests in progress. */
  readonly inFlight: number;
  /** The number of requests in progress that wait for their turn; default 0. */
  readonly waiting?: number;
  /** The memory of bodies, in bytes. */
  readonly bodyMemoryBytes: number;
  /** The number of TLS handshakes with providers that were given up but still keep descriptors open; default 0. */
  readonly abandonedHandshakes?: number;
  /** Every known quota window. */
  readonly quotas: readonly QuotaState[];
}

/** The current use of limits and quotas by the administrator's tokens and groups. */
export interface UsageState {
  /** At most one entry for each scope, name and limit. */
  readonly limits: readonly LimitUseState[];
  readonly groupQuotas: readonly GroupQuotaState[];
}

/** The current use of a limit, including running requests. */
export interface LimitUseState {
  readonly scope: "token" | "group";
  /** The name of the token or of the group. */
  readonly name: string;
  /** Unit and window, such as `tokens day`. */
  readonly limit: string;
  /** Above 1 when the limit is exceeded. */
  readonly usedRatio: number;
  /** In requests, tokens or US dollars; for a share, as a part of the whole quota window. */
  readonly remaining: number;
  /** Milliseconds since 1970. */
  readonly resetsAtMs: number;
}

/** An estimate of a group's part of a quota window of a connection. */
export interface GroupQuotaState
  extends Pick<QuotaState, "connection" | "type" | "window" | "unit"> {
  readonly group: string;
  /** The part of the whole window, from 0 to 1; above 1 when the quota is exceeded. */
  readonly used: number;
}

/** One quota window of one connection; null where the provider does not report the value. */
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
  /** Above 100 when the quota is exceeded. */
  readonly usedPercent: number | null;
  /** Milliseconds since 1970. */
  readonly resetsAtMs: number | null;
}

/**
 * The current values of metrics, one entry per metric, as plain values that threads can send to each other. See
 * `exposition.ts`.
 */
export type Snapshot = readonly object[];

/** The interval between two measurements of the lag, in milliseconds. */
const LAG_INTERVAL_MS = 500;

/**
 * Measures the delay of timers. A request waits for the thread as long as a timer.
 *
 * @param report Receives each delay in milliseconds.
 * @returns A function that ends the measurement.
 */
export function measureLag(
  timers: Timers,
  report: (ms: number) => void,
): () => void {
  let stop = next();

  function next(): () => void {
    const dueMs = timers.elapsedMs() + LAG_INTERVAL_MS;
    return timers.schedule(LAG_INTERVAL_MS, () => {
      report(Math.max(0, timers.elapsedMs() - dueMs));
      stop = next();
    });
  }

  return () => stop();
}
