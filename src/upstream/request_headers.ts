import type { Connection } from "../config/config.ts";
import { HOP_BY_HOP, namedByConnection } from "./hop_by_hop.ts";

/**
 * Caller headers that never go upstream (docs/design.md#headers): credentials and cookies, what belongs to the
 * caller's own connection or body encoding, what tells where the caller sits, and what would choose an
 * account at the upstream.
 */
const WITHHELD: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  "authorization",
  "proxy-authorization",
  "x-api-key",
  "api-key",
  "x-goog-api-key",
  "cookie",
  "host",
  "content-length",
  "content-encoding",
  "accept-encoding",
  "expect",
  "forwarded",
  "x-real-ip",
  "openai-organization",
  "openai-project",
]);

/**
 * The headers of an upstream request: the caller's as an open list less the withheld ones, then the
 * connection's credential, then its fixed headers, which win.
 *
 * @returns Pairs; each name once.
 */
export function upstreamHeaders(
  caller: Headers,
  connection: Connection,
): [string, string][] {
  const dropped = namedByConnection(caller);
  const fixed = ownHeaders(connection);
  const pairs: [string, string][] = [];
  caller.forEach((value, name) => {
    const isWithheld = WITHHELD.has(name) || name.startsWith("x-forwarded-") ||
      dropped.has(name) || fixed.has(name);
    if (!isWithheld) pairs.push([name, value]);
  });
  pairs.push(...fixed);
  return pairs;
}

function ownHeaders(connection: Connection): ReadonlyMap<string, string> {
  const own = new Map([["accept-encoding", "identity"]]);
  const { auth } = connection;
  if (auth.scheme === "bearer") own.set("authorization", `Bearer ${auth.key}`);
  if (auth.scheme === "x-api-key") own.set("x-api-key", auth.key);
  for (const [name, value] of Object.entries(connection.headers)) {
    own.set(name.toLowerCase(), value);
  }
  return own;
}
