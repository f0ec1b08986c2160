import assert from "node:assert/strict";
import { watchFiles } from "../../../../src/gateway/process/watch/watch_files.ts";
import { until, within } from "../../../support/within.ts";
import {
  createReloadLog,
  createWatchedConfig,
} from "../../../../src/gateway/process/watch/watched_config.ts";
import {
  connectionFile,
  minimalFile,
  tokenFile,
} from "../../../support/gateway/config.ts";
import { createFakeTimers } from "../../../support/fakes/fake_timers.ts";
import { hurriedTimers } from "../../../support/fakes/hurried_timers.ts";
import { createLiveConfig } from "../../../../src/gateway/config/live_config.ts";
import {
  createReload,
  type ReloadOutcome,
} from "../../../../src/gateway/config/reload.ts";
import { createMemoryLog } from "../../../support/fakes/memory_log.ts";
import { openTempFolder } from "../../../support/temp_folder.ts";
import { steps } from "../../../support/steps.ts";

/** A short pause, so that a test only waits for the file system. */
const QUICK = { quietMs: 5, longestMs: 20, pollMs: 10 };

/** A long interval, so that only events can notice a change after the first poll. */
const EVENTS_ALONE = { ...QUICK, pollMs: 3_600_000 };

/** Opens a new directory and a watch whose changes the test awaits. */
async function withWatch(
  prepare: (directory: string) => Promise<string> | string,
  test: (scene: {
    readonly directory: string;
    readonly path: string;
    /** Runs `act` and waits for the next change. */
    readonly changeBy: (act: () => Promise<void>) => Promise<void>;
  }) => Promise<void>,
  options = QUICK,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  const path = await prepare(directory);
  let notice = () => {};
  const watch = watchFiles(new Set([path]), {
    ...options,
    onChange: () => notice(),
  });
  const changeBy = async (act: () => Promise<void>) => {
    const noticed = new Promise<void>((resolve) => notice = resolve);
    await act();
    await within(noticed, "the watch to notice a change");
  };
  try {
    await test({ directory, path, changeBy });
  } finally {
    await watch.stop();
    await Deno.remove(directory, { recursive: true });
  }
}

async function writeFile(directory: string): Promise<string> {
  const path = `${directory}/gateway.yaml`;
  await Deno.writeTextFile(path, "first");
  return path;
}

Deno.test("watchFiles() notices every write to a file", async () => {
  await withWatch(writeFile, async ({ path, changeBy }) => {
    for (const text of ["second", "third", "fourth"]) {
      await changeBy(() => Deno.writeTextFile(path, text));
    }
  }, EVENTS_ALONE);
});

Deno.test("watchFiles() notices a file replaced by renaming", async () => {
  await withWatch(writeFile, async ({ directory, path, changeBy }) => {
    for (const text of ["second", "third"]) {
      await Deno.writeTextFile(`${directory}/.new`, text);
      await changeBy(() => Deno.rename(`${directory}/.new`, path));
    }
  }, EVENTS_ALONE);
});

Deno.test("watchFiles() notices when a file is deleted and written again", async () => {
  await withWatch(writeFile, async ({ path, changeBy }) => {
    await changeBy(() => Deno.remove(path));
    await changeBy(() => Deno.writeTextFile(path, "second"));
    await changeBy(() => Deno.writeTextFile(path, "third"));
  });
});

Deno.test("watchFiles() notices a new file", async () => {
  await withWatch((directory) => `${directory}/gateway.yaml`, async (scene) => {
    await scene.changeBy(() => Deno.writeTextFile(scene.path, "first"));
  });
});

Deno.test("watchFiles() notices a directory switched as in a Kubernetes volume", async () => {
  const prepare = async (directory: string) => {
    for (const version of ["..1", "..2"]) {
      await Deno.mkdir(`${directory}/${version}`);
      await Deno.writeTextFile(`${directory}/${version}/gateway.yaml`, version);
    }
    await Deno.symlink("..1", `${directory}/..data`);
    await Deno.symlink("..data/gateway.yaml", `${directory}/gateway.yaml`);
    return `${directory}/gateway.yaml`;
  };
  await withWatch(prepare, async ({ directory, path, changeBy }) => {
    await changeBy(async () => {
      await Deno.symlink("..2", `${directory}/..data_tmp`);
      await Deno.rename(`${directory}/..data_tmp`, `${directory}/..data`);
    });
    assert.equal(await Deno.readTextFile(path), "..2");
  }, EVENTS_ALONE);
});

Deno.test("watchFiles() notices a change of a link's target in another directory", async () => {
  const prepare = async (directory: string) => {
    await Deno.mkdir(`${directory}/etc`);
    await Deno.mkdir(`${directory}/store`);
    await Deno.writeTextFile(`${directory}/store/real.yaml`, "first");
    await Deno.symlink("../store/real.yaml", `${directory}/etc/gateway.yaml`);
    return `${directory}/etc/gateway.yaml`;
  };
  await withWatch(prepare, async ({ directory, changeBy }) => {
    await changeBy(() =>
      Deno.writeTextFile(`${directory}/store/real.yaml`, "a longer second")
    );
  });
});

Deno.test("watchFiles() polls a file whose directory cannot be watched", async () => {
  const prepare = (directory: string) => `${directory}/later/gateway.yaml`;
  await withWatch(prepare, async ({ directory, path, changeBy }) => {
    await changeBy(async () => {
      await Deno.mkdir(`${directory}/later`);
      await Deno.writeTextFile(path, "first");
    });
  });
});

/** Writes in one turn. On a busy machine, pauses between the writes could be long enough for the watch to call. */
function writeAtOnce(path: string, times: number): void {
  for (let count = 0; count < times; count++) {
    Deno.writeTextFileSync(path, `version ${count}`);
  }
}

Deno.test("watchFiles() notices a change between the reading of a directory and the first poll", async () => {
  let files = "a";
  let notice = () => {};
  let noticed = new Promise<void>((resolve) => notice = resolve);
  const list = { seen: "", read: () => Promise.resolve(files) };
  const watch = watchFiles(new Set(), {
    ...QUICK,
    onChange: () => notice(),
    lists: new Map([["a list", list]]),
  });
  try {
    await within(noticed, "the list that was read before the watch");
    for (const next of ["a b", "b"]) {
      noticed = new Promise<void>((resolve) => notice = resolve);
      files = next;
      await within(noticed, "a change of the list");
    }
  } finally {
    await watch.stop();
  }
});

Deno.test("watchFiles() calls once for many simultaneous writes", async () => {
  await using folder = await openTempFolder();
  const { path: directory } = folder;
  const path = await writeFile(directory);
  let calls = 0;
  let notice = () => {};
  const noticed = new Promise<void>((resolve) => notice = resolve);
  const watch = watchFiles(new Set([path]), {
    quietMs: 50,
    longestMs: 60_000,
    pollMs: 60_000,
    onChange: () => {
      calls += 1;
      notice();
    },
  });
  writeAtOnce(path, 200);
  await within(noticed, "the watch to notice a change");
  assert.equal(calls, 1);
  await watch.stop();
});

Deno.test("watchFiles() calls even if a file never stops changing", async () => {
  await using folder = await openTempFolder();
  const { path: directory } = folder;
  const path = await writeFile(directory);
  let notice = () => {};
  const noticed = new Promise<void>((resolve) => notice = resolve);
  const watch = watchFiles(new Set([path]), {
    ...QUICK,
    quietMs: 60_000,
    onChange: () => notice(),
  });
  await Deno.writeTextFile(path, "second");
  await within(noticed, "the watch to notice a change");
  await watch.stop();
});

Deno.test("stop() ends a watch at once, even during a change", async () => {
  await using folder = await openTempFolder();
  const { path: directory } = folder;
  const path = await writeFile(directory);
  let calls = 0;
  const watch = watchFiles(new Set([path]), {
    onChange: () => calls += 1,
    quietMs: 60_000,
  });
  await Deno.writeTextFile(path, "second");
  await within(watch.stop(), "the watch to end");
  assert.equal(calls, 0);
});

Deno.test("follow() changes the watched files, in several directories", async () => {
  const directory = await Deno.makeTempDir();
  await Deno.mkdir(`${directory}/keys`);
  const [one, other] = [`${directory}/one`, `${directory}/keys/other`];
  await Deno.writeTextFile(one, "first");
  await Deno.writeTextFile(other, "first");
  // The first write is old enough to have another time stamp than the second.
  for (const path of [one, other]) {
    await Deno.utime(path, new Date(0), new Date(0));
  }
  let changes = 0;
  let notice = () => {};
  const watch = watchFiles(new Set([one]), {
    ...QUICK,
    onChange() {
      changes++;
      notice();
    },
  });
  const noticed = () =>
    within(
      new Promise<void>((resolve) => notice = resolve),
      "the watch to notice a change",
    );
  try {
    watch.follow(new Set([other]));
    const second = noticed();
    await Deno.writeTextFile(other, "second");
    await second;
    watch.follow(new Set([one, other]));
    const both = noticed();
    await Deno.writeTextFile(one, "second");
    await both;
    watch.follow(new Set());
    const before = changes;
    await Deno.remove(one);
    await Deno.remove(other);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.ok(changes <= before + 1, "a file that is not followed was watched");
  } finally {
    await watch.stop();
    await Deno.remove(directory, { recursive: true });
  }
});

/** Loads a file with a problem, and asserts that its solution is noticed. */
async function expectNotice(
  { file, problem, mend }: {
    readonly file: unknown;
    readonly problem: RegExp;
    readonly mend: (directory: string) => Promise<void>;
  },
): Promise<void> {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/gateway.yaml`;
  await Deno.writeTextFile(path, JSON.stringify(file));
  const watched = createWatchedConfig(path, () => undefined, hurriedTimers);
  const noticed = Promise.withResolvers<void>();
  try {
    const first = await watched.load();
    assert.ok("problems" in first);
    assert.match(JSON.stringify(first.problems), problem);
    watched.watch(noticed.resolve);
    await mend(directory);
    await within(noticed.promise, "the watch to notice the change");
    const second = await watched.load();
    assert.ok("config" in second);
  } finally {
    await watched.stop();
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("an include folder that appears later is noticed", async () => {
  await expectNotice({
    file: minimalFile({ include: ["tokens.d/*.yaml"] }),
    problem: /names a folder that does not exist/,
    mend: (directory) => Deno.mkdir(`${directory}/tokens.d`),
  });
});

Deno.test("an included file that appears later is noticed", async () => {
  await expectNotice({
    file: minimalFile({ include: ["staff.yaml"] }),
    problem: /does not exist/,
    mend: (directory) =>
      Deno.writeTextFile(`${directory}/staff.yaml`, "tokens: []\n"),
  });
});

Deno.test("a key file that appears later is noticed", async () => {
  await expectNotice({
    file: minimalFile({
      connections: [
        connectionFile({ auth: { scheme: "bearer", key_file: "keys/a" } }),
      ],
    }),
    problem: /names a file that does not exist/,
    async mend(directory) {
      await Deno.mkdir(`${directory}/keys`);
      await Deno.writeTextFile(`${directory}/keys/a`, "key-1\n");
    },
  });
});

const QUIET_MS = 1000;

/** Opens a watched configuration with a clock that the test sets. */
async function openScene(tokens: readonly string[]) {
  const directory = await Deno.makeTempDir();
  const timers = createFakeTimers();
  const path = `${directory}/gateway.yaml`;
  const watched = createWatchedConfig(path, () => undefined, timers);
  const scene = {
    timers,
    watched,
    directory,
    write: (file: string, text: string) =>
      Deno.writeTextFile(`${directory}/${file}`, text),
    /** Waits until the load waits, then lets its time pass. */
    async passQuietTime(ms = QUIET_MS): Promise<void> {
      await until(() => timers.running === 1, "the load to wait");
      timers.advance(ms);
    },
    async namesOf(loading: ReturnType<typeof watched.load>) {
      const result = await within(loading, "the load");
      assert.ok("config" in result, JSON.stringify(result));
      return [...result.config.callers.values()].map(({ name }) => name);
    },
    async [Symbol.asyncDispose]() {
      await watched.stop();
      await Deno.remove(directory, { recursive: true });
    },
  };
  await scene.write("gateway.yaml", fileOf(tokens));
  await scene.namesOf(watched.load());
  watched.watch(() => {});
  return scene;
}

function fileOf(tokens: readonly string[], more = {}): string {
  return JSON.stringify(minimalFile({ tokens: entriesOf(tokens), ...more }));
}

function entriesOf(names: readonly string[]): unknown[] {
  return names.map((name) =>
    tokenFile({ name, sha256: name.charCodeAt(0).toString(16).repeat(32) })
  );
}

Deno.test("a changed file is used when it stays the same for a second, even if its writer pauses", async () => {
  await using scene = await openScene(["a", "b"]);
  await scene.write("gateway.yaml", fileOf(["a"]));
  const loading = scene.watched.load();
  await scene.passQuietTime(QUIET_MS - 1);
  await scene.write("gateway.yaml", fileOf(["a", "b"]));
  await scene.passQuietTime(1);
  await until(() => scene.timers.started === 2, "the next wait");
  await scene.write("gateway.yaml", fileOf(["a", "b", "c"]));
  await scene.passQuietTime();
  await scene.passQuietTime();
  assert.deepEqual(await scene.namesOf(loading), ["a", "b", "c"]);
  assert.equal(scene.timers.running, 0);
});

Deno.test("unchanged files are used at once", async () => {
  await using scene = await openScene(["a"]);
  assert.deepEqual(await scene.namesOf(scene.watched.load()), ["a"]);
  assert.equal(scene.timers.started, 0);
});

Deno.test("a new included file is used when it stays the same for a second", async () => {
  await using scene = await openScene(["a"]);
  const staff = (...names: string[]) =>
    scene.write("staff.yaml", JSON.stringify({ tokens: entriesOf(names) }));
  const more = { include: ["staff.yaml"] };
  await staff("b");
  await scene.write("gateway.yaml", fileOf(["a"], more));
  const loading = scene.watched.load();
  await scene.passQuietTime();
  await until(() => scene.timers.started === 2, "the next wait");
  await staff("b", "c");
  await scene.passQuietTime();
  await scene.passQuietTime();
  assert.deepEqual(await scene.namesOf(loading), ["a", "b", "c"]);
});

Deno.test("a file that never stops changing is used after a while", async () => {
  await using scene = await openScene(["a"]);
  let isOver = false;
  const names = ["a"];
  names.push("b");
  await scene.write("gateway.yaml", fileOf(names));
  const endless = scene.watched.load().finally(() => isOver = true);
  let waits = scene.timers.started;
  while (!isOver) {
    await until(() => isOver || scene.timers.started > waits, "a look");
    if (isOver) break;
    waits = scene.timers.started;
    names.push(String.fromCharCode(97 + names.length));
    await scene.write("gateway.yaml", fileOf(names));
    scene.timers.advance(QUIET_MS);
  }
  assert.deepEqual(await scene.namesOf(endless), names);
  assert.equal(waits, 10);
});

const SECOND_LOOK_MS = 2000;

/** Opens a configuration that reloads, with a clock that the test sets. */
async function openReload(file: unknown) {
  const scene = await openScene(["a"]);
  const { timers, watched } = scene;
  const write = (next: unknown) =>
    scene.write("gateway.yaml", JSON.stringify(next));
  await write(file);
  const loading = watched.load();
  await scene.passQuietTime();
  const first = await loading;
  assert.ok("config" in first);
  const liveConfig = createLiveConfig(first.config);
  const outcomes: ReloadOutcome[] = [];
  const reload = createReload({
    liveConfig,
    load: watched.load,
    report: (outcome) => outcomes.push(outcome),
  });
  return {
    liveConfig,
    outcomes,
    /**
     * Writes and reloads the files, each during the pause after the one before. Returns all pauses, in milliseconds.
     * The configuration stays during each.
     */
    async reloadAll([first, ...others]: readonly unknown[]) {
      const before = liveConfig.current();
      const pauses = [];
      let isOver = false;
      await write(first);
      const reloading = reload().finally(() => isOver = true);
      for (;;) {
        await until(() => isOver || timers.running === 1, "the next pause");
        if (isOver) break;
        const pauseMs = timers.untilNextMs ?? 0;
        pauses.push(pauseMs);
        timers.advance(pauseMs - 1);
        assert.equal(liveConfig.current(), before);
        const next = pauseMs === SECOND_LOOK_MS ? others.shift() : undefined;
        if (next !== undefined) await write(next);
        timers.advance(1);
      }
      await reloading;
      return pauses;
    },
    [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose](),
  };
}

Deno.test("a file that removes a caller, a connection or a model is read twice before it takes effect", async (t) => {
  const [connection, model] = ["Another", "another-model"];
  const another = connectionFile({ name: connection, models: [model] });
  const more = { connections: [connectionFile(), another] };
  const full = minimalFile({ ...more, tokens: [tokenFile()] });
  const shorter: Readonly<Record<string, unknown>> = {
    "a caller": { ...more, tokens: [] },
    "a connection": { connections: [connectionFile()] },
    "a model": {
      connections: [
        connectionFile(),
        { ...another, models: ["something-else"] },
      ],
    },
  };
  await steps(t, Object.entries(shorter), async ([, overrides]) => {
    await using scene = await openReload(full);
    const { liveConfig, outcomes } = scene;
    const whole = liveConfig.current();
    const next = { ...full, ...Object(overrides) };
    assert.deepEqual(
      await scene.reloadAll([next, full]),
      [QUIET_MS, SECOND_LOOK_MS, QUIET_MS],
    );
    assert.equal(liveConfig.current(), whole);
    assert.equal(outcomes.at(-1)?.kind, "unchanged");
    assert.deepEqual(
      await scene.reloadAll([next]),
      [QUIET_MS, SECOND_LOOK_MS],
    );
    assert.equal(outcomes.at(-1)?.kind, "applied");
    assert.notEqual(liveConfig.current(), whole);
  });
});

Deno.test("a file that removes another caller at the second look is read again", async () => {
  const tokens = entriesOf(["a", "b", "c"]);
  await using scene = await openReload(minimalFile({ tokens }));
  const without = (index: number) =>
    minimalFile({ tokens: tokens.toSpliced(index, 1) });
  assert.deepEqual(
    await scene.reloadAll([without(1), without(2)]),
    [QUIET_MS, SECOND_LOOK_MS, QUIET_MS, SECOND_LOOK_MS],
  );
  const [outcome] = scene.outcomes;
  assert.ok(outcome?.kind === "applied");
  assert.deepEqual(outcome.changes.removed, ["tokens[c]"]);
});

Deno.test("a file that only adds a caller is read once", async () => {
  const tokens = entriesOf(["a", "b"]);
  await using scene = await openReload(
    minimalFile({ tokens: tokens.slice(0, 1) }),
  );
  assert.deepEqual(await scene.reloadAll([minimalFile({ tokens })]), [
    QUIET_MS,
  ]);
  assert.equal(scene.outcomes[0]?.kind, "applied");
});

Deno.test("a file that is invalid at the second look changes nothing", async () => {
  await using scene = await openReload(
    minimalFile({ tokens: entriesOf(["a"]) }),
  );
  const whole = scene.liveConfig.current();
  await scene.reloadAll([minimalFile({ tokens: [] }), "half"]);
  assert.equal(scene.liveConfig.current(), whole);
  assert.equal(scene.outcomes[0]?.kind, "rejected");
});

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

Deno.test("A ReloadLog reports the same problems again after they were solved, and on request", () => {
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

Deno.test("A ReloadLog reports once when the file matches the running configuration again", () => {
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
