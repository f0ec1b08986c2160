import type { Environment } from "../../config/environment.ts";
import { watchFiles } from "./watch_files.ts";
import { type FileResult, loadConfigFile } from "../commands/config_file.ts";

/** A configuration file, with all that it names, as it is now and as it changes. */
export interface WatchedConfig {
  /** Reads and validates it; what it names from then on is watched. */
  load(): Promise<FileResult>;
  /** Calls `onChange` when the file, a key file, the certificate or its key may have changed. */
  watch(onChange: () => void): void;
  /** Ends the watch. */
  stop(): Promise<void>;
}

/**
 * @param path Of the configuration file.
 * @param env Where the file's variables are looked up.
 */
export function createWatchedConfig(
  path: string,
  env: Environment,
): WatchedConfig {
  /** What the last good configuration is made of, and what was read last: a bad one may be about to change back. */
  let inUse: ReadonlySet<string> = new Set();
  let lastRead: ReadonlySet<string> = new Set();
  let files: ReturnType<typeof watchFiles> | undefined;
  const watched = () => new Set([path, ...inUse, ...lastRead]);

  return {
    async load() {
      const read = new Set<string>();
      const onRead = (named: string) => void read.add(named);
      const result = await loadConfigFile(path, { env, onRead });
      lastRead = read;
      if ("config" in result) inUse = read;
      files?.follow(watched());
      return result;
    },
    watch(onChange) {
      files = watchFiles(watched(), { onChange });
    },
    async stop() {
      const last = files;
      // A load that is still under way follows nothing more.
      files = undefined;
      await last?.stop();
    },
  };
}
