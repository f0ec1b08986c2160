import assert from "node:assert/strict";
import type { LoadResult } from "../../src/config/load.ts";
import { createReload, type ReloadOutcome } from "../../src/config/reload.ts";
import { createConfigStore } from "../../src/config/store.ts";
import {
  loadFile,
  minimalConfig,
  minimalFile,
} from "../support/gateway/config.ts";

/** A reload whose file is whatever `file` holds at the time. */
async function createScene() {
  const first = await minimalConfig();
  const scene = { file: minimalFile() as unknown };
  const store = createConfigStore(first);
  const outcomes: ReloadOutcome[] = [];
  const reload = createReload({
    store,
    load: () => loadFile(scene.file),
    report: (outcome) => outcomes.push(outcome),
  });
  return { scene, first, store, outcomes, reload };
}

Deno.test("a valid file takes over, with its warnings", async () => {
  const { scene, store, outcomes, reload } = await createScene();
  scene.file = minimalFile({ messages_vendor: "other", tokens: [] });
  await reload();
  assert.equal(store.current().messagesVendor, "other");
  assert.deepEqual(outcomes, [{
    kind: "applied",
    warnings: [{
      path: "tokens",
      message: "is empty: nobody can call the gateway.",
    }],
  }]);
});

Deno.test("an invalid file changes nothing and is reported with every problem", async () => {
  const { scene, first, store, outcomes, reload } = await createScene();
  scene.file = minimalFile({ server: { port: -1, workers: 0 } });
  await reload();
  assert.equal(store.current(), first);
  assert.deepEqual(outcomes, [{
    kind: "rejected",
    problems: [
      { path: "server.port", message: "must be at least 0." },
      { path: "server.workers", message: "must be at least 1." },
    ],
  }]);
  scene.file = minimalFile({ messages_vendor: "other" });
  await reload();
  assert.equal(store.current().messagesVendor, "other");
});

Deno.test("a file that says the same keeps the very configuration in use", async () => {
  const { first, store, outcomes, reload } = await createScene();
  await reload();
  assert.equal(store.current(), first);
  assert.deepEqual(outcomes, [{ kind: "unchanged" }]);
});

Deno.test("what only a start can set is a warning", async () => {
  const { scene, outcomes, reload } = await createScene();
  scene.file = minimalFile({
    server: {
      host: "127.0.0.2",
      port: 1,
      workers: 2,
      admin: {},
      drain_seconds: 1,
    },
    shared: { url: "redis://127.0.0.1" },
  });
  await reload();
  const [outcome] = outcomes;
  assert.ok(outcome?.kind === "applied");
  assert.deepEqual(
    outcome.warnings,
    [
      ...["host", "port", "workers", "admin"].map((key) => `server.${key}`),
      "shared",
    ].map((path) => ({
      path,
      message: "has changed. It takes effect at the next start.",
    })),
  );
});

Deno.test("what only a start can set is a warning as long as it differs from what was started", async () => {
  const { scene, outcomes, reload } = await createScene();
  const warned = [];
  for (
    const server of [{ port: 1 }, { port: 1, drain_seconds: 1 }, { port: 8787 }]
  ) {
    scene.file = minimalFile({ server });
    await reload();
    const outcome = outcomes.at(-1);
    assert.ok(outcome?.kind === "applied");
    warned.push(outcome.warnings.map(({ path }) => path));
  }
  assert.deepEqual(warned, [["server.port"], ["server.port"], []]);
});

Deno.test("a failure of the gateway itself changes nothing and is reported", async () => {
  const first = await minimalConfig();
  const store = createConfigStore(first);
  const outcomes: ReloadOutcome[] = [];
  const error = new Error("internal");
  const reload = createReload({
    store,
    load: () => Promise.reject(error),
    report: (outcome) => outcomes.push(outcome),
  });
  await reload();
  assert.equal(store.current(), first);
  assert.deepEqual(outcomes, [{ kind: "failed", error }]);
});

Deno.test("a thousand calls at once run one attempt at a time, and two in all", async () => {
  const config = await minimalConfig();
  let running = 0;
  let most = 0;
  const gates: (() => void)[] = [];
  const outcomes: ReloadOutcome[] = [];
  const reload = createReload({
    store: createConfigStore(config),
    load: async (): Promise<LoadResult> => {
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => gates.push(resolve));
      running -= 1;
      return { config, warnings: [] };
    },
    report: (outcome) => outcomes.push(outcome),
  });
  const calls = Array.from({ length: 1000 }, () => reload());
  while (outcomes.length < 2) {
    gates.shift()?.();
    await Promise.resolve();
  }
  await Promise.all(calls);
  assert.equal(most, 1);
  assert.deepEqual(outcomes, [{ kind: "unchanged" }, { kind: "unchanged" }]);
});

Deno.test("a call during an attempt resolves after the file was read once more", async () => {
  const { scene, store, reload } = await createScene();
  const attempt = reload();
  scene.file = minimalFile({ messages_vendor: "late" });
  await reload();
  assert.equal(store.current().messagesVendor, "late");
  await attempt;
});

Deno.test("a call from within a report is not lost", async () => {
  const config = await minimalConfig();
  let loads = 0;
  let again: Promise<void> | undefined;
  const reload = createReload({
    store: createConfigStore(config),
    load: () => {
      loads += 1;
      return Promise.resolve({ config, warnings: [] });
    },
    report: () => {
      again ??= reload();
    },
  });
  await reload();
  await again;
  assert.equal(loads, 2);
});
