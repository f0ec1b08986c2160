import { isDeepStrictEqual } from "node:util";
import { formatProblem, type Problem } from "../../config/problems.ts";
import type { ReloadOutcome } from "../../config/reload.ts";
import type { Log } from "../../observe/log.ts";

/** Says what became of changes of the configuration. */
export interface ReloadLog {
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
