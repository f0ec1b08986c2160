import { isDeepStrictEqual } from "node:util";
import type { Environment } from "../../config/environment.ts";
import { formatProblem, type Problem } from "../../config/problems.ts";
import type { ReloadOutcome } from "../../config/reload.ts";
import type { Log } from "../../observe/log.ts";
import { type FileResult, loadConfigFile } from "../commands/config_file.ts";
import { watchFiles } from "./watch_files.ts";

/** A configuration file, with all that it names, as it is now and as it changes. */
interface WatchedConfig {
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

/** Says what became of changes of the configuration. */
interface ReloadLog {
  report(outcome: ReloadOutcome): void;
  /** The next outcome is logged even when it is the one before, since somebody asks for it. */
  expect(): void;
}

/** A file that stays wrong is seen again when another one changes; the same problems are logged once. */
export function createReloadLog(log: Log): ReloadLog {
  let logged: readonly Problem[] = [];
  /** Whether it is to be logged even that nothing changed: after an error, and to whoever asks. */
  let isDue = false;

  function reject(problems: readonly Problem[]): void {
    if (isDeepStrictEqual(problems, logged)) return;
    logged = problems;
    isDue = true;
    log.write("config_rejected", {
      problems: problems.map(formatProblem),
    });
  }

  return {
    expect() {
      logged = [];
      isDue = true;
    },
    report(outcome) {
      if (outcome.kind === "rejected") return reject(outcome.problems);
      logged = [];
      if (outcome.kind === "unchanged" && isDue) {
        log.write("config_unchanged", {});
      }
      isDue = outcome.kind === "failed";
      if (outcome.kind === "applied") {
        log.write("config_applied", {
          warnings: outcome.warnings.map(formatProblem),
        });
      } else if (outcome.kind === "failed") {
        const { error } = outcome;
        log.write("config_failed", {
          exception: error instanceof Error ? error.name : typeof error,
        });
      }
    },
  };
}
