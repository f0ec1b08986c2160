import type { Connection } from "../config/config.ts";
import { isGood, type Reading } from "./reading.ts";
import type {
  ConnectionEntry,
  ConnectionStatus,
  QuotaList,
  QuotaWindow,
} from "@gateway/page/answers";

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

/** Returns the entry of a connection from a good or failed reading of its quota. */
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
