import assert from "node:assert/strict";
import type { LogFiles } from "../../../src/cli/usage/log_files.ts";
import { startReplay } from "../../../src/cli/usage/replay_logs.ts";
import { createLiveConfig } from "../../../src/config/live_config.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { createMemoryLog } from "../../support/fakes/memory_log.ts";
import { minimalConfig } from "../../support/gateway/config.ts";
import { loggedLine } from "../../support/wire/logged_line.ts";
import { settle } from "../../support/settle.ts";
import { until } from "../../support/within.ts";

const NOW_MS = Date.UTC(2026, 10, 21, 12);

const EARLIER = "2026-11-21T11:59:00.000Z";

const DAY = `counts\tday\t${Date.UTC(2026, 10, 21) / 1000}\ttoken\talice`;

/** One log, which is read when the test says so. */
function openScene() {
  const gate = Promise.withResolvers<void>();
  const files: LogFiles = {
    find: (path) =>
      Promise.resolve([{ id: path, path, size: 1, writtenMs: NOW_MS }]),
    async *read() {
      await gate.promise;
      yield new TextEncoder().encode(loggedLine({ time: EARLIER }));
    },
  };
  return { files, open: gate.resolve };
}

async function start(files: LogFiles) {
  const timers = createFakeTimers();
  const starting = startReplay({
    liveConfig: createLiveConfig(await minimalConfig()),
    patterns: ["a.jsonl"],
    log: createMemoryLog(),
    files,
    clock: createFakeClock(NOW_MS),
    timers,
  });
  return { starting, timers };
}

Deno.test("startReplay() has counted the logs when serving begins", async () => {
  const { files, open } = openScene();
  open();
  const { starting, timers } = await start(files);
  const sums = await starting;
  assert.equal((await sums.table(DAY)).get("input\tGLM team\tglm-fast"), 100);
  assert.equal(sums.sinceMs, Date.parse(EARLIER));
  assert.equal(timers.running, 0);
});

Deno.test("startReplay() delays serving for ten seconds at most, and counts the rest meanwhile", async () => {
  const { files, open } = openScene();
  const { starting, timers } = await start(files);
  let isStarted = false;
  starting.then(() => isStarted = true);
  timers.advance(9_999);
  await settle();
  assert.equal(isStarted, false);
  timers.advance(1);
  const sums = await starting;
  assert.equal((await sums.table(DAY)).size, 0);
  open();
  await until(
    () => sums.sinceMs === Date.parse(EARLIER),
    "the rest to be counted",
  );
  assert.equal((await sums.table(DAY)).get("requests\tGLM team\tglm-fast"), 1);
});
