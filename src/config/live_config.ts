import type { Config } from "./config.ts";
import { withRenewedKeys } from "./renewed_keys.ts";

/** The configuration in use. A request reads it once and keeps that one until it ends. */
export interface LiveConfig {
  current(): Config;
  /** Replaces the configuration for later requests. */
  swap(config: Config): void;
  /** Calls `listener` with every later configuration. */
  onSwap(listener: (config: Config) => void): void;
}

/** Creates a holder of a first configuration. */
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

/** Not enumerable, so that the value compares and prints like any other. */
const REJECTION: PropertyDescriptor = {
  value: () => {
    throw new TypeError("Cannot change a configuration that is in use.");
  },
};
