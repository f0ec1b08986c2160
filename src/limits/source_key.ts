import type { Connection } from "../config/config.ts";

/**
 * Tells whether what is known of a connection's quota still applies after a reload: equal for two
 * connections that read the same quota in the same way. It holds the credential: keep it in memory.
 */
export function sourceKey(connection: Connection): string {
  const { id, endpoints, auth, headers, quota } = connection;
  return JSON.stringify([id, endpoints, auth, headers, quota]);
}
