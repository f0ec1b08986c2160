import type { Config } from "./config.ts";

/** Holds the configuration in use. A request takes it once and keeps it to its end. */
export interface ConfigStore {
  current(): Config;
  /** Puts another one in its place, for the requests to come. */
  swap(config: Config): void;
  /** Calls `listener` with every configuration that is put in place from now on. */
  onSwap(listener: (config: Config) => void): void;
}

/** Starts with a first configuration. */
export function createConfigStore(first: Config): ConfigStore {
  const listeners: ((config: Config) => void)[] = [];
  let config = deepFreeze(first);
  return {
    current: () => config,
    swap: (next) => {
      config = deepFreeze(next);
      for (const listener of listeners) listener(config);
    },
    onSwap: (listener) => void listeners.push(listener),
  };
}

/**
 * Freezes a value and everything it holds, the entries of maps and sets included, whose own methods of
 * changing then throw a `TypeError`.
 */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) {
    return value;
  }
  if (value instanceof Map || value instanceof Set) {
    for (const method of ["set", "add", "delete", "clear"]) {
      if (method in value) Object.defineProperty(value, method, REFUSAL);
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
const REFUSAL: PropertyDescriptor = {
  value: () => {
    throw new TypeError("Cannot change a configuration that is in use");
  },
};
