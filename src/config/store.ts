import type { Config } from "./config.ts";
import { deepFreeze } from "./freeze.ts";

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
