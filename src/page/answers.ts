/*
 * What the gateway answers about quotas. The gateway writes these answers; the page and the commands show them.
 */

/**
 * A quota window as callers see it (docs/quotas.md#fields-of-a-window), with the same fields for every service:
 *
 * - `type`: the kind of limit, such as `TOKENS_LIMIT`. After a colon, the limited part of the usage, in the provider's
 *   word: `USAGE_LIMIT:opus`, `TOKENS_LIMIT:input`. A type that the provider names itself is unchanged.
 * - `window`: the length in words.
 * - `unit`: `credits`, `tokens`, `requests`, `percent`, `fraction`, an ISO 4217 code such as `USD`, `currency` (money
 *   in an unreported currency), `quota` (a gateway's own unit) or `unknown`.
 *
 * A value that the provider does not report, and that cannot be computed, is null.
 */
export interface QuotaWindow {
  readonly type: string;
  readonly window: string;
  readonly unit: string;
  readonly period_unit: number | null;
  readonly period_count: number | null;
  /** The size of the window in `unit`: 100 for `percent` and 1 for `fraction`. */
  readonly limit: number | null;
  readonly used: number | null;
  readonly remaining: number | null;
  /** Above 100 on overuse. */
  readonly used_percent: number | null;
  /** ISO 8601 in UTC. */
  readonly resets_at: string | null;
}

/** The response of `GET /limits` (docs/quotas.md). */
export interface QuotaList {
  readonly object: "list";
  /** The quota is shared by every user of the connection. */
  readonly scope: "provider";
  /** The shortest time between two requests of a caller. */
  readonly refresh_after_seconds: number;
  readonly data: readonly ConnectionEntry[];
}

/** One connection of the caller. */
export interface ConnectionEntry {
  /** UUID. */
  readonly provider_id: string;
  readonly name: string;
  readonly service: string;
  readonly status: ConnectionStatus;
  /** The time of the reading, ISO 8601 in UTC. */
  readonly checked_at: string;
  /** True when the reading is older than the request for the list. */
  readonly cached: boolean;
  /** Empty unless the status is `ok`. */
  readonly limits: readonly QuotaWindow[];
  /** The requests that wait for the connection; absent when no request waits. */
  readonly waiting?: WaitingRequests | undefined;
  /** Set only while all of the caller's models on the connection fail or are in a cool-down. */
  readonly failing?: FailingRequests | undefined;
  /** Set only for `unavailable`. */
  readonly error?: { readonly type: string; readonly message: string };
}

/** Requests that wait for their turn (docs/failover.md#waiting-for-a-turn). */
export interface WaitingRequests {
  readonly requests: number;
  /** The time until the last waiting request gets its turn, in seconds; 0 when the time is not known. */
  readonly seconds: number;
}

/** The gateway's own knowledge of a connection that fails (docs/failover.md). */
export interface FailingRequests {
  /** The time of the next attempt, ISO 8601 in UTC. */
  readonly until: string;
  /** The kind of a failure that only an administrator can fix, such as `authentication`. */
  readonly cause?: string | undefined;
}

/** The states of docs/quotas.md#states. */
export type ConnectionStatus =
  | "ok"
  | "unavailable"
  | "disabled"
  | "unsupported";
