import type { Connection } from "../config/config.ts";
import type { HeaderFields } from "../core/header_fields.ts";
import { oncePer } from "../core/collections/once_per.ts";
import { nameMatcher, WITHHELD_FROM_UPSTREAM } from "./header_names.ts";
import { namedByConnection } from "./hop_by_hop.ts";

const isWithheld = nameMatcher(WITHHELD_FROM_UPSTREAM);

/**
 * The headers of an upstream request: the caller's as an open list less the withheld ones, then the
 * connection's credential, then its fixed headers, which win.
 *
 * @returns Pairs; each name once.
 */
export function upstreamHeaders(
  caller: HeaderFields,
  connection: Connection,
): [string, string][] {
  const dropped = namedByConnection(caller);
  const own = ownHeadersOf(connection);
  const pairs: [string, string][] = [];
  caller.forEach((value, name) => {
    const staysHere = isWithheld(name) || dropped.includes(name) ||
      own.names.has(name);
    if (!staysHere) pairs.push([name, value]);
  });
  pairs.push(...own.pairs);
  return pairs;
}

/** What a connection adds of its own to every request. */
const ownHeadersOf = oncePer(({ auth, headers }: Connection) => {
  const own = new Map([["accept-encoding", "identity"]]);
  if (auth.scheme === "bearer") own.set("authorization", `Bearer ${auth.key}`);
  if (auth.scheme === "x-api-key") own.set("x-api-key", auth.key);
  for (const [name, value] of Object.entries(headers)) {
    own.set(name.toLowerCase(), value);
  }
  return { names: new Set(own.keys()), pairs: [...own] };
});
