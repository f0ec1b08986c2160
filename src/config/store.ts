import type { Config } from "./config.ts";
import { deepFreeze } from "./freeze.ts";

/** Holds the configuration in use. A request takes it once and keeps it to its end. */
export interface ConfigStore {
  current(): Config;
  /** Puts another one in its place, for the requests to come. */
  swap(config: Config): void;
}

/** Starts with a first configuration. */
export function createConfigStore(first: Config): ConfigStore {
  let config = deepFreeze(first);
  return {
    current: () => config,
    swap: (next) => {
      config = deepFreeze(next);
    },
  };
}
