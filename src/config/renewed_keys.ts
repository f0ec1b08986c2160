import { isDeepStrictEqual } from "node:util";
import { oncePer } from "../core/memo.ts";
import type { Config, Connection, Deployment } from "./config.ts";

/**
 * Returns a configuration with the keys of `after` and the other objects of `before`, when the keys of exchanges are all
 * that differs: the objects are the keys of cool-downs and lessons, which a renewed key does not end. Otherwise, it
 * returns `after`.
 */
export function withRenewedKeys(before: Config, after: Config): Config {
  const renewed = new Map<Connection, Connection>();
  for (const [index, one] of before.connections.entries()) {
    const other = after.connections[index];
    if (other === undefined) return after;
    if (isDeepStrictEqual(one, other)) continue;
    if (!isRenewal(one, other)) return after;
    renewed.set(one, { ...one, auth: other.auth });
  }
  const rest = { connections: [], pools: new Map() };
  const isSame = before.connections.length === after.connections.length &&
    isDeepStrictEqual({ ...before, ...rest }, { ...after, ...rest });
  if (renewed.size === 0 || !isSame) return after;
  const now = (one: Connection) => renewed.get(one) ?? one;
  const deployment = oncePer((one: Deployment): Deployment =>
    renewed.has(one.connection)
      ? { ...one, connection: now(one.connection) }
      : one
  );
  // An alias has the pool of its model.
  const pool = oncePer((all: readonly Deployment[]) => all.map(deployment));
  return {
    ...before,
    connections: before.connections.map(now),
    pools: new Map([...before.pools].map(([name, all]) => [name, pool(all)])),
  };
}

function isRenewal(one: Connection, other: Connection): boolean {
  return one.auth.scheme !== "none" && other.auth.scheme !== "none" &&
    one.auth.exchange !== undefined &&
    isDeepStrictEqual(one.auth.exchange, other.auth.exchange) &&
    isDeepStrictEqual({ ...one, auth: undefined }, {
      ...other,
      auth: undefined,
    });
}
