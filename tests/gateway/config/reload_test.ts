import assert from "node:assert/strict";
import type { LoadResult } from "../../../src/gateway/config/load.ts";
import {
  createReload,
  type ReloadOutcome,
} from "../../../src/gateway/config/reload.ts";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import {
  configOf,
  connectionFile,
  loadFile,
  minimalConfig,
  minimalFile,
  tokenFile,
} from "../../support/gateway/config.ts";
import { configChanges } from "../../../src/gateway/config/changes.ts";

/** Opens a reload that reads the current value of `file`. */
async function createScene() {
  const first = await minimalConfig();
  const scene = { file: minimalFile() as unknown };
  const liveConfig = createLiveConfig(first);
  const outcomes: ReloadOutcome[] = [];
  const reload = createReload({
    liveConfig,
    load: () => loadFile(scene.file),
    report: (outcome) => outcomes.push(outcome),
  });
  return { scene, first, store: liveConfig, outcomes, reload };
}

Deno.test("a valid file replaces the configuration and reports its warnings", async () => {
  const { scene, store: liveConfig, outcomes, reload } = await createScene();
  scene.file = minimalFile({ messages_vendor: "other", tokens: [] });
  await reload();
  assert.equal(liveConfig.current().messagesVendor, "other");
  assert.deepEqual(outcomes, [{
    kind: "applied",
    warnings: [{
      path: "tokens",
      message: "is empty: nobody can call the gateway.",
    }],
    changes: {
      added: [],
      removed: ["tokens[alice]"],
      changed: ["messages_vendor"],
    },
  }]);
});

Deno.test("an invalid file changes nothing and is reported with every problem", async () => {
  const { scene, first, store: liveConfig, outcomes, reload } =
    await createScene();
  scene.file = minimalFile({ server: { port: -1, workers: 0 } });
  await reload();
  assert.equal(liveConfig.current(), first);
  assert.deepEqual(outcomes, [{
    kind: "rejected",
    problems: [
      { path: "server.port", message: "must be at least 0." },
      { path: "server.workers", message: "must be at least 1." },
    ],
  }]);
  scene.file = minimalFile({ messages_vendor: "other" });
  await reload();
  assert.equal(liveConfig.current().messagesVendor, "other");
});

Deno.test("an equal file keeps the configuration object", async () => {
  const { first, store: liveConfig, outcomes, reload } = await createScene();
  await reload();
  assert.equal(liveConfig.current(), first);
  assert.deepEqual(outcomes, [{ kind: "unchanged" }]);
});

Deno.test("a forced call replaces an equal configuration once, also during a running reload", async () => {
  const { first, store: liveConfig, outcomes, reload } = await createScene();
  const running = reload();
  reload({ isForced: true });
  await running;
  const forced = liveConfig.current();
  assert.notEqual(forced, first);
  assert.deepEqual({ ...forced, pools: 0 }, { ...first, pools: 0 });
  assert.notEqual(forced.connections[0], first.connections[0]);
  await reload();
  assert.equal(liveConfig.current(), forced);
  assert.deepEqual(
    outcomes,
    Array.from({ length: 3 }, () => ({ kind: "unchanged" })),
  );
});

Deno.test("a changed setting that needs a restart is a warning", async () => {
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

Deno.test("a setting that needs a restart is a warning while the file differs from the running gateway", async () => {
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

Deno.test("an unexpected failure changes nothing and is reported", async () => {
  const first = await minimalConfig();
  const liveConfig = createLiveConfig(first);
  const outcomes: ReloadOutcome[] = [];
  const error = new Error("internal");
  const reload = createReload({
    liveConfig,
    load: () => Promise.reject(error),
    report: (outcome) => outcomes.push(outcome),
  });
  await reload();
  assert.equal(liveConfig.current(), first);
  assert.deepEqual(outcomes, [{ kind: "failed", error }]);
});

Deno.test("a thousand concurrent calls cause two reloads, one after the other", async () => {
  const config = await minimalConfig();
  let running = 0;
  let most = 0;
  const gates: (() => void)[] = [];
  const outcomes: ReloadOutcome[] = [];
  const reload = createReload({
    liveConfig: createLiveConfig(config),
    load: async (): Promise<LoadResult> => {
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => gates.push(resolve));
      running -= 1;
      return { config, warnings: [], written: {} };
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

Deno.test("a call during a reload resolves after the file was read again", async () => {
  const { scene, store: liveConfig, reload } = await createScene();
  const attempt = reload();
  scene.file = minimalFile({ messages_vendor: "late" });
  await reload();
  assert.equal(liveConfig.current().messagesVendor, "late");
  await attempt;
});

Deno.test("a call from within a report causes another reload", async () => {
  const config = await minimalConfig();
  let loads = 0;
  let again: Promise<void> | undefined;
  const reload = createReload({
    liveConfig: createLiveConfig(config),
    load: () => {
      loads += 1;
      return Promise.resolve({ config, warnings: [], written: {} });
    },
    report: () => {
      again ??= reload();
    },
  });
  await reload();
  await again;
  assert.equal(loads, 2);
});

async function changesTo(
  file: Readonly<Record<string, unknown>>,
  before: Readonly<Record<string, unknown>> = {},
) {
  const load = async (one: Readonly<Record<string, unknown>>) =>
    configOf(await loadFile(minimalFile(one)));
  return configChanges(await load(before), await load(file));
}

const NONE = { added: [], removed: [], changed: [] };

Deno.test("configChanges() returns the paths of additions, removals and changes, without values", async () => {
  const connection = connectionFile({ name: "GLM", models: ["a", "b"] });
  const base = {
    connections: [connection],
    tokens: [tokenFile({ name: "alice" })],
  };
  const cases: readonly (readonly [
    Record<string, unknown>,
    Partial<typeof NONE | Record<string, readonly string[]>>,
  ])[] = [
    [{}, {}],
    [{ messages_vendor: "other" }, { changed: ["messages_vendor"] }],
    [{ connections: [connectionFile({ name: "GLM", models: ["a", "c"] })] }, {
      added: ["connections[GLM].models[c]"],
      removed: ["connections[GLM].models[b]"],
    }],
    [{
      connections: [{
        ...connection,
        auth: { scheme: "bearer", key: "sk-new" },
      }],
    }, { changed: ["connections[GLM].auth.key"] }],
    [{
      tokens: [
        tokenFile({ name: "alice" }),
        tokenFile({ name: "bob", sha256: "b".repeat(64) }),
      ],
    }, { added: ["tokens[bob]"] }],
    [{
      tokens: [tokenFile({ name: "alice", sha256: "c".repeat(64) })],
    }, { changed: ["tokens[alice].values"] }],
    [{
      tokens: [tokenFile({ name: "alice", max_concurrent: 3 })],
    }, { changed: ["tokens[alice].max_concurrent"] }],
  ];
  for (const [change, expected] of cases) {
    const found = await changesTo({ ...base, ...change }, base);
    assert.deepEqual(found, { ...NONE, ...expected });
    assert.doesNotMatch(JSON.stringify(found), /sk-new|ccc/);
  }
});

Deno.test("configChanges() returns at most a hundred paths of each kind of change, and counts the rest", async () => {
  const tokens = Array.from(
    { length: 120 },
    (_, index) =>
      tokenFile({
        name: `t-${index}`,
        sha256: String(index).padStart(64, "0"),
      }),
  );
  const { added } = await changesTo({ tokens }, { tokens: tokens.slice(0, 1) });
  assert.equal(added.length, 101);
  assert.equal(added.at(-1), "19 more");
});
