import type { Connection } from "../config/config.ts";
import { isGood, type Reading } from "./reading.ts";
import type { QuotaWindow } from "./window.ts";

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
  /** True when the reading is older than this request. */
  readonly cached: boolean;
  /** Empty unless the status is `ok`. */
  readonly limits: readonly QuotaWindow[];
  /** The requests that wait for the connection; absent when none does. */
  readonly waiting?: WaitingRequests | undefined;
  /** Set only while every model that the caller may use there is kept from requests after failures. */
  readonly failing?: FailingRequests | undefined;
  /** Set only for `unavailable`. */
  readonly error?: { readonly type: string; readonly message: string };
}

/** Requests that wait for their turn (docs/failover.md#waiting-for-a-turn). */
export interface WaitingRequests {
  readonly requests: number;
  /** The time until all of them have had their turn, in seconds; 0 when it is not known. */
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
type ConnectionStatus =
  | "ok"
  | "unavailable"
  | "disabled"
  | "unsupported";

const REFRESH_AFTER_SECONDS = 60;

/** Returns the list with these entries. */
export function quotaList(data: readonly ConnectionEntry[]): QuotaList {
  return {
    object: "list",
    scope: "provider",
    refresh_after_seconds: REFRESH_AFTER_SECONDS,
    data,
  };
}

/** Returns the entry of a connection whose quota is not read. */
export function unreadEntry(
  connection: Connection,
  status: "disabled" | "unsupported",
  { nowMs }: { readonly nowMs: number },
): ConnectionEntry {
  return entry(connection, {
    status,
    checkedAtMs: nowMs,
    cached: false,
    limits: [],
  });
}

/** Returns the entry of a connection whose quota was read, or could not be read. */
export function readEntry(
  connection: Connection,
  reading: Reading,
  { cached }: { readonly cached: boolean },
): ConnectionEntry {
  const { checkedAtMs } = reading;
  if (isGood(reading)) {
    const limits = reading.windows;
    return entry(connection, { status: "ok", checkedAtMs, cached, limits });
  }
  const { reason, message } = reading.failure;
  return {
    ...entry(connection, {
      status: "unavailable",
      checkedAtMs,
      cached,
      limits: [],
    }),
    error: { type: `provider_limits_${reason}`, message },
  };
}

interface EntryParts {
  readonly status: ConnectionStatus;
  readonly checkedAtMs: number;
  readonly cached: boolean;
  readonly limits: readonly QuotaWindow[];
}

function entry(connection: Connection, parts: EntryParts): ConnectionEntry {
  return {
    provider_id: connection.id,
    name: connection.name,
    service: connection.service,
    status: parts.status,
    checked_at: new Date(parts.checkedAtMs).toISOString(),
    cached: parts.cached,
    limits: parts.limits,
  };
}
