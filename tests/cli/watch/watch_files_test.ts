import assert from "node:assert/strict";
import { watchFiles } from "../../../src/cli/watch/watch_files.ts";
import { within } from "../../support/within.ts";

/** Short, so that a test waits for the file system and for nothing else. */
const QUICK = { quietMs: 5, longestMs: 20, pollMs: 10 };

/** No poll after the first one, so that only events can notice a change. */
const EVENTS_ALONE = { ...QUICK, pollMs: 3_600_000 };

/** A directory of its own, and a watch whose changes can be awaited. */
async function withWatch(
  prepare: (directory: string) => Promise<string> | string,
  test: (scene: {
    readonly directory: string;
    readonly path: string;
    /** Does something and resolves at the next change that is noticed. */
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

Deno.test("watchFiles() notices a file written in place, again and again", async () => {
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

Deno.test("watchFiles() notices a deleted file, and its return", async () => {
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

Deno.test("watchFiles() polls the file even where no directory can be watched", async () => {
  const prepare = (directory: string) => `${directory}/later/gateway.yaml`;
  await withWatch(prepare, async ({ directory, path, changeBy }) => {
    await changeBy(async () => {
      await Deno.mkdir(`${directory}/later`);
      await Deno.writeTextFile(path, "first");
    });
  });
});

/** In one turn: on a busy machine, waiting for each write might leave the file quiet for long enough. */
function writeAtOnce(path: string, times: number): void {
  for (let count = 0; count < times; count++) {
    Deno.writeTextFileSync(path, `version ${count}`);
  }
}

Deno.test("watchFiles() notices a list that differs from the one that was read, even before the first poll", async () => {
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

Deno.test("watchFiles() calls once for many writes at once", async () => {
  const directory = await Deno.makeTempDir();
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
  await Deno.remove(directory, { recursive: true });
});

Deno.test("watchFiles() calls even while a file keeps changing", async () => {
  const directory = await Deno.makeTempDir();
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
  await Deno.remove(directory, { recursive: true });
});

Deno.test("stop() ends a watch at once, with a change under way", async () => {
  const directory = await Deno.makeTempDir();
  const path = await writeFile(directory);
  let calls = 0;
  const watch = watchFiles(new Set([path]), {
    onChange: () => calls += 1,
    quietMs: 60_000,
  });
  await Deno.writeTextFile(path, "second");
  await within(watch.stop(), "the watch to end");
  assert.equal(calls, 0);
  await Deno.remove(directory, { recursive: true });
});

Deno.test("follow() changes which files are watched, in several directories", async () => {
  const directory = await Deno.makeTempDir();
  await Deno.mkdir(`${directory}/keys`);
  const [one, other] = [`${directory}/one`, `${directory}/keys/other`];
  await Deno.writeTextFile(one, "first");
  await Deno.writeTextFile(other, "first");
  // Old enough for a time stamp to separate two writes.
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
