import { isDeepStrictEqual } from "node:util";
import type { Config } from "../../config/config.ts";
import type { Environment } from "../../config/environment.ts";
import type { TokenFor } from "../../config/token_exchange.ts";
import { lastingTimers, type Timers } from "@gateway/base/time/timers";
import { formatProblem, type Problem } from "@gateway/base/problems";
import type { ReloadOutcome } from "../../config/reload.ts";
import type { Log } from "../../observe/log.ts";
import {
  type FilePattern,
  type FileResult,
  findFiles,
  loadConfigFile,
} from "../config_file.ts";
import {
  fileState,
  type WatchedList,
  type WatchedLists,
  watchFiles,
} from "./watch_files.ts";

/** The prefix of the name of a list. No path of a file contains NUL, so no list has the name of a file. */
const LIST_PREFIX = "\0";

/** The time for which files must stay unchanged before they are used, in milliseconds. */
const QUIET_MS = 1000;

/** The pause before the second look at a doubtful configuration, in milliseconds. */
const SECOND_LOOK_MS = 2000;

/** The maximum number of reads of files that keep changing. */
const MAX_LOOKS = 10;

/** A configuration file and the files that it names, all of them watched. */
interface WatchedConfig {
  /**
   * Reads and validates the file, and watches the files that it names from then on. A file that changes while it is
   * watched is read again until it stays the same for a second: its writer may not have finished. A doubtful
   * configuration is read again after two seconds.
   *
   * @param isDoubtful Called with each configuration that was read while the files stayed unchanged.
   */
  load(isDoubtful?: (config: Config) => boolean): Promise<FileResult>;
  /** Calls `onChange` when the file, or a file that it names or includes, may have changed. */
  watch(onChange: () => void): void;
  /** Returns the files that have changed since the last call, or since the watch began. */
  changedFiles(): readonly string[];
  /** Ends the watch. */
  stop(): Promise<void>;
}

/**
 * Creates a watched configuration.
 *
 * @param path The path of the configuration file.
 * @param env The values of the file's variables.
 * @param tokenFor Returns the tokens of token exchanges.
 */
export function createWatchedConfig(
  path: string,
  env: Environment,
  timers: Timers = lastingTimers,
  tokenFor?: TokenFor,
): WatchedConfig {
  /** The files and lists of the last load. Another load has the same outcome until a file or a list changes. */
  let read = new Set([path]);
  let lists: WatchedLists = new Map();
  let files: ReturnType<typeof watchFiles> | undefined;

  /** The states of the files of the last load. */
  let used: ReadonlyMap<string, string> = new Map();
  /** The states of the files when `changedFiles()` was last called. */
  let reported = used;

  async function look(): Promise<ReadonlyMap<string, string>> {
    return new Map(
      await Promise.all(
        [...read].map(async (name) => [name, await fileState(name)] as const),
      ),
    );
  }

  async function loadOnce(): Promise<FileResult> {
    read = new Set([path]);
    const onRead = (named: string) => void read.add(named);
    const listed = new Map<string, WatchedList>();
    const onList = (files: FilePattern, names?: readonly string[]) =>
      void listed.set(`${LIST_PREFIX}${files.pattern}`, {
        seen: listText(names),
        read: () => findFiles(files).then(listText, () => listText()),
      });
    const result = await loadConfigFile(path, {
      env,
      tokenFor,
      onRead,
      onList,
    });
    lists = listed;
    files?.follow(read, lists);
    return result;
  }

  return {
    async load(isDoubtful = () => false) {
      let before = await look();
      let pauseMs = files === undefined || agrees(before, used) ? 0 : QUIET_MS;
      for (let looks = 1;; looks++) {
        if (pauseMs > 0) {
          await new Promise<void>((resolve) => {
            timers.schedule(pauseMs, resolve);
          });
        }
        const result = await loadOnce();
        const after = await look();
        const isSettled = files === undefined || agrees(after, before);
        const isSure = isSettled &&
          !("config" in result && isDoubtful(result.config));
        if (isSure || looks === MAX_LOOKS) {
          used = after;
          return result;
        }
        pauseMs = isSettled ? SECOND_LOOK_MS : QUIET_MS;
        before = after;
      }
    },
    changedFiles() {
      const before = reported;
      reported = used;
      return [...new Set([...before.keys(), ...used.keys()])]
        .filter((name) => before.get(name) !== used.get(name));
    },
    watch(onChange) {
      reported = used;
      files = watchFiles(read, { onChange, lists });
    },
    async stop() {
      const last = files;
      // From now on, a running load() watches no more files.
      files = undefined;
      await last?.stop();
    },
  };
}

/** Returns true when the files have the same states in both maps. */
function agrees(
  one: ReadonlyMap<string, string>,
  other: ReadonlyMap<string, string>,
): boolean {
  return [...one].every(([name, state]) => other.get(name) === state);
}

/** Returns a list of files as a text; NUL for an unreadable folder. */
function listText(names?: readonly string[]): string {
  return names?.join("\n") ?? LIST_PREFIX;
}

/** Logs the outcomes of configuration changes. */
interface ReloadLog {
  report(outcome: ReloadOutcome): void;
  /** Logs the next outcome even if it equals the last outcome, because SIGHUP requested the reload. */
  expect(): void;
}

/**
 * Logs the same problems only once, because an invalid file is read again whenever any file changes.
 *
 * @param changedFiles Returns the files whose changes led to an applied configuration.
 */
export function createReloadLog(
  log: Log,
  changedFiles: () => readonly string[],
): ReloadLog {
  let logged: readonly Problem[] = [];
  /** True after an error or a SIGHUP. Even an unchanged configuration is then logged. */
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
          ...outcome.changes,
          changed_files: changedFiles(),
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
