import assert from "node:assert/strict";
import { createReloadLog } from "../../../src/cli/watch/watched_config.ts";
import type { ReloadOutcome } from "../../../src/config/reload.ts";
import { createMemoryLog } from "../../support/fakes/memory_log.ts";

function rejected(message: string): ReloadOutcome {
  return { kind: "rejected", problems: [{ path: "a", message }] };
}

const APPLIED: ReloadOutcome = {
  kind: "applied",
  warnings: [],
  changes: { added: [], removed: [], changed: [] },
};

function eventsOf(outcomes: readonly (ReloadOutcome | "expect")[]) {
  const log = createMemoryLog();
  const reloadLog = createReloadLog(log, () => []);
  for (const one of outcomes) {
    if (one === "expect") reloadLog.expect();
    else reloadLog.report(one);
  }
  return log.entries.map(({ event }) => event);
}

Deno.test("A ReloadLog reports the same problems once", () => {
  assert.deepEqual(
    eventsOf([rejected("x"), rejected("x"), rejected("y"), rejected("y")]),
    ["config_rejected", "config_rejected"],
  );
});

Deno.test("A ReloadLog reports problems again when they return, and on request", () => {
  const again = ["config_rejected", "config_applied", "config_rejected"];
  assert.deepEqual(eventsOf([rejected("x"), APPLIED, rejected("x")]), again);
  assert.deepEqual(
    eventsOf([rejected("x"), { kind: "unchanged" }, rejected("x")]),
    ["config_rejected", "config_unchanged", "config_rejected"],
  );
  assert.deepEqual(
    eventsOf([rejected("x"), "expect", rejected("x")]),
    ["config_rejected", "config_rejected"],
  );
});

Deno.test("A ReloadLog reports once that the file matches the running configuration again", () => {
  const unchanged: ReloadOutcome = { kind: "unchanged" };
  const failed: ReloadOutcome = { kind: "failed", error: new Error() };
  assert.deepEqual(eventsOf([unchanged, unchanged]), []);
  assert.deepEqual(eventsOf([APPLIED, unchanged]), ["config_applied"]);
  for (
    const [fault, event] of [
      [rejected("x"), "config_rejected"],
      [failed, "config_failed"],
    ] as const
  ) {
    assert.deepEqual(eventsOf([fault, unchanged, unchanged]), [
      event,
      "config_unchanged",
    ]);
  }
});

Deno.test("A ReloadLog reports on request that nothing changed", () => {
  assert.deepEqual(
    eventsOf(["expect", { kind: "unchanged" }, { kind: "unchanged" }]),
    ["config_unchanged"],
  );
});

Deno.test("A ReloadLog logs only the class of an unforeseen error", () => {
  const log = createMemoryLog();
  const error = new TypeError("a canary");
  createReloadLog(log, () => []).report({ kind: "failed", error });
  assert.deepEqual(log.entries, [{
    level: "error",
    event: "config_failed",
    fields: { exception: "TypeError" },
  }]);
});
