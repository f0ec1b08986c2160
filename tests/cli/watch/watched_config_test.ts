import assert from "node:assert/strict";
import { createWatchedConfig } from "../../../src/cli/watch/watched_config.ts";
import {
  connectionFile,
  minimalFile,
  tokenFile,
} from "../../support/gateway/config.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { hurriedTimers } from "../../support/fakes/hurried_timers.ts";
import { until, within } from "../../support/within.ts";

/** Loads a file that has a problem, and expects the problem's end to be noticed. */
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

Deno.test("a folder of include that appears later is noticed", async () => {
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

/** A watched configuration whose clock stands still. */
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
    /** Waits until the load waits, and lets that time pass. */
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

Deno.test("a changed file is used when it has been the same for a second, even if its writer pauses", async () => {
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

Deno.test("an included file that appears is used when it has been the same for a second", async () => {
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

Deno.test("a file that keeps changing is used in the end", async () => {
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
