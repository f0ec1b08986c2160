import type { Connection } from "../config/config.ts";

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
