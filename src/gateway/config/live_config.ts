import { isDeepStrictEqual } from "node:util";
import { oncePer } from "@gateway/base/memo";
import type { Config, Connection, Deployment, UpstreamAuth } from "./config.ts";

/** The configuration in use. A request calls `current` once, and uses the result until the request ends. */
export interface LiveConfig {
  current(): Config;
  /** Replaces the configuration for later requests. */
  swap(config: Config): void;
  /** Calls `listener` with every later configuration. */
  onSwap(listener: (config: Config) => void): void;
}

/** Creates a live configuration that begins with the given one. */
export function createLiveConfig(first: Config): LiveConfig {
  const listeners: ((config: Config) => void)[] = [];
  let config = deepFreeze(first);
  return {
    current: () => config,
    swap: (next) => {
      config = deepFreeze(withRenewedKeys(config, next));
      for (const listener of listeners) listener(config);
    },
    onSwap: (listener) => void listeners.push(listener),
  };
}

/**
 * Freezes a value and everything in it, including the entries of maps and sets. The mutating methods of a frozen map or
 * set throw a `TypeError`.
 */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) {
    return value;
  }
  if (value instanceof Map || value instanceof Set) {
    for (const method of ["set", "add", "delete", "clear"]) {
      if (method in value) Object.defineProperty(value, method, REJECTION);
    }
    Object.freeze(value);
    for (const entry of value.entries()) entry.forEach(deepFreeze);
    return value;
  }
  Object.freeze(value);
  Object.values(value).forEach(deepFreeze);
  return value;
}

/** Replaces a mutating method. Not enumerable, so that a frozen map compares and prints like any other map. */
const REJECTION: PropertyDescriptor = {
  value: () => {
    throw new TypeError("Cannot change a configuration that is in use.");
  },
};

/**
 * If `before` and `after` differ only in the keys of exchanges, returns `before` with the keys of `after`. Otherwise
 * returns `after`. Cool-downs and lessons belong to the objects of `before`, and thus outlive a renewed key.
 */
function withRenewedKeys(before: Config, after: Config): Config {
  const renewed = new Map<Connection, Connection>();
  for (const [index, one] of before.connections.entries()) {
    const auth = after.connections[index]?.auth;
    if (isRenewal(one.auth, auth)) renewed.set(one, { ...one, auth });
  }
  if (renewed.size === 0) return after;
  const now = (one: Connection) => renewed.get(one) ?? one;
  const mixed = { ...before, connections: before.connections.map(now) };
  const rest = { pools: new Map() };
  const isSame = isDeepStrictEqual({ ...mixed, ...rest }, {
    ...after,
    ...rest,
  });
  if (!isSame) return after;
  const deployment = oncePer((one: Deployment): Deployment =>
    renewed.has(one.connection)
      ? { ...one, connection: now(one.connection) }
      : one
  );
  // An alias shares the list of its model.
  const pool = oncePer((all: readonly Deployment[]) => all.map(deployment));
  const pools = [...before.pools].map(([name, all]) =>
    [name, pool(all)] as const
  );
  return { ...mixed, pools: new Map(pools) };
}

function isRenewal(
  one: UpstreamAuth,
  other: UpstreamAuth | undefined,
): other is UpstreamAuth {
  return one.scheme !== "none" && one.exchange !== undefined &&
    other !== undefined && other.scheme !== "none" &&
    isDeepStrictEqual(one.exchange, other.exchange) &&
    !isDeepStrictEqual(one, other);
}
