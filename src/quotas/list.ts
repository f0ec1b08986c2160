import type { Connection } from "../config/config.ts";
import { isGood, type Reading } from "./reading.ts";
import type { QuotaWindow } from "./window.ts";

/** What `GET /limits` answers (docs/quotas.md). */
export interface QuotaList {
  readonly object: "list";
  /** The quota is the whole connection's, whoever uses it. */
  readonly scope: "provider";
  /** Callers should not ask more often. */
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
  /** When the gateway learned it, ISO 8601 in UTC. */
  readonly checked_at: string;
  /** Whether it was known before this request. */
  readonly cached: boolean;
  /** Empty unless the status is `ok`. */
  readonly limits: readonly QuotaWindow[];
  /** Of `unavailable` only. */
  readonly error?: { readonly type: string; readonly message: string };
}

/** The states of docs/quotas.md#states. */
export type ConnectionStatus =
  | "ok"
  | "unavailable"
  | "disabled"
  | "unsupported";

const REFRESH_AFTER_SECONDS = 60;

/** The list of these entries. */
export function quotaList(data: readonly ConnectionEntry[]): QuotaList {
  return {
    object: "list",
    scope: "provider",
    refresh_after_seconds: REFRESH_AFTER_SECONDS,
    data,
  };
}

/** The entry of a connection whose quota is not read at all. */
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

/** The entry of a connection whose quota was read, well or not. */
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
