import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import {
  LOG_FILES,
  type LogFile,
  type LogFiles,
  openLog,
} from "../../../src/gateway/process/log/log_files.ts";
import {
  replayLogs,
  startReplay,
} from "../../../src/gateway/process/replay_logs.ts";
import type { Counting } from "../../../src/gateway/usage/counting.ts";
import { createMemoryLog } from "../../support/fakes/memory_log.ts";
import { minimalConfig } from "../../support/gateway/config.ts";
import { loggedLine } from "../../support/wire/logged_line.ts";
import { inPieces } from "../../support/wire/pieces.ts";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { settle } from "../../support/settle.ts";
import { until, within } from "../../support/within.ts";
import { testNeeding } from "../../support/ignored.ts";
import { steps } from "../../support/steps.ts";
import { openTempFolder } from "../../support/temp_folder.ts";

type Use = Parameters<Counting["count"]>[0];

const NOW_MS = Date.UTC(2026, 10, 21, 12);

const DAY_MS = 86_400_000;

const config = await minimalConfig();

/** A file of the test: its content, and its age in days. */
interface TestFile {
  readonly content: string | Uint8Array | Error;
  readonly daysOld?: number;
  /** The identity of the file; by default, its path. */
  readonly id?: string;
}

/** The files and patterns of a replay. */
interface Scene {
  readonly files: Readonly<Record<string, TestFile>>;
  /** The paths that each pattern finds; by default, one pattern finds all. */
  readonly patterns?: Readonly<Record<string, readonly string[] | Error>>;
  /** The path of each file, by id, after the first file has been read: "" if it is gone; by default, unchanged. */
  readonly moved?: Readonly<Record<string, string>>;
}

/** Replays the files that the patterns find. */
async function replay(
  { files, patterns = { "*": Object.keys(files) }, moved = {} }: Scene,
) {
  const idOf = (path: string) => files[path]?.id ?? path;
  /** Returns the present path of a file. */
  const placeOf = (path: string) =>
    read.length === 0 ? path : moved[idOf(path)] ?? path;
  const log = createMemoryLog();
  const uses: Use[] = [];
  const since: number[] = [];
  const read: string[] = [];
  await replayLogs({
    patterns: Object.keys(patterns),
    config,
    counting: {
      count: (use) => void uses.push(use),
      countLife: () => assert.fail("no caller has a limit on sessions"),
    },
    completeSince: (atMs) => void since.push(atMs),
    files: {
      find(pattern) {
        const paths = patterns[pattern] ?? [];
        if (paths instanceof Error) return Promise.reject(paths);
        const there = paths.filter((path) => placeOf(path) !== "");
        return Promise.resolve(there.map((path): LogFile => ({
          id: idOf(path),
          path: placeOf(path),
          size: 0,
          writtenMs: NOW_MS - (files[path]?.daysOld ?? 0) * DAY_MS,
        })));
      },
      async *read({ id, path }) {
        const name = Object.keys(files)
          .find((one) => idOf(one) === id && placeOf(one) === path);
        if (name === undefined) throw new Deno.errors.NotFound();
        read.push(path);
        const { content } = files[name] ?? assert.fail(path);
        if (content instanceof Error) throw content;
        yield* inPieces(content, 1000);
      },
    },
    log,
    untilMs: NOW_MS,
  });
  const requests = uses.reduce(
    (sum, { counts }) => sum + (counts.requests ?? 0),
    0,
  );
  const lines = log.entries.map(({ level, event, fields }) => {
    const { total_ms: _, ...reported } = fields;
    return { level, event, reported };
  });
  return { requests, since, read, lines };
}

/** Returns the moment that many days ago. */
function daysAgo(days: number): string {
  return new Date(NOW_MS - days * DAY_MS).toISOString();
}

const OTHER_LINE =
  '{"time":"2026-11-18T00:00:00.000Z","level":"info","event":"stopped"}\n';

Deno.test("replayLogs() counts the files of all patterns, each once, and logs what it counted", async () => {
  const { requests, since, read, lines } = await replay({
    files: {
      "old.jsonl.gz": {
        content: gzipSync(loggedLine({ time: daysAgo(3) }) + OTHER_LINE),
        daysOld: 2,
      },
      "new.jsonl": {
        content: loggedLine({ time: daysAgo(1) }) + "torn\n" +
          loggedLine({ time: daysAgo(1), token: "gone" }) +
          loggedLine({ time: daysAgo(0) }),
      },
    },
    patterns: { "*": ["old.jsonl.gz", "new.jsonl"], "new*": ["new.jsonl"] },
  });
  assert.deepEqual(read, ["new.jsonl", "old.jsonl.gz"]);
  assert.equal(requests, 2);
  assert.deepEqual(since, [Date.parse(daysAgo(3))]);
  assert.deepEqual(lines, [{
    level: "info",
    event: "usage_replayed",
    reported: {
      files: 2,
      requests: 2,
      unknown_token: 1,
      late: 1,
      other_lines: 1,
      unreadable_lines: 1,
      complete_since: daysAgo(3),
    },
  }]);
});

Deno.test("replayLogs() counts a file with several names once", async () => {
  const content = loggedLine({ time: daysAgo(1) });
  const { requests, since, lines } = await replay({
    files: {
      "a.jsonl": { content, id: "1" },
      "current.jsonl": { content, id: "1" },
      "b.jsonl": { content, id: "2" },
    },
    patterns: {
      "*": ["a.jsonl", "current.jsonl", "b.jsonl"],
      "cur*": ["current.jsonl"],
    },
  });
  assert.equal(requests, 2);
  assert.equal(lines[0]?.reported.files, 2);
  assert.deepEqual(since, [Date.parse(daysAgo(1))]);
});

Deno.test("replayLogs() counts a file once if it is renamed during the replay", async () => {
  const content = (days: number) => loggedLine({ time: daysAgo(days) });
  const { requests, read, since, lines } = await replay({
    files: {
      "a": { content: content(1), id: "newest" },
      "a.1": { content: content(2), id: "older", daysOld: 1 },
      "a.2": { content: content(3), id: "oldest", daysOld: 2 },
    },
    moved: { newest: "a.1", older: "a.2", oldest: "a.3" },
  });
  assert.deepEqual(read, ["a", "a.2", "a.3"]);
  assert.equal(requests, 3);
  assert.deepEqual(since, [Date.parse(daysAgo(3))]);
  assert.deepEqual(lines.map(({ event }) => event), ["usage_replayed"]);
});

Deno.test("replayLogs() skips requests older than all windows", async () => {
  const { requests, read, lines } = await replay({
    files: {
      "last_year.jsonl": { content: new Error("not asked for"), daysOld: 300 },
      "all.jsonl": {
        content: loggedLine({ time: daysAgo(300) }) +
          loggedLine({ time: daysAgo(37) }) +
          loggedLine({ time: daysAgo(35) }) +
          // A line with a collector's prefix.
          `host: ${loggedLine({ time: daysAgo(2) })}`,
      },
    },
  });
  assert.deepEqual(read, ["all.jsonl"]);
  assert.equal(requests, 2);
  assert.equal(lines[0]?.reported.requests, 2);
});

Deno.test("replayLogs() logs unreadable files, continues, and leaves the counts incomplete", async (t) => {
  const good = { content: loggedLine({ time: daysAgo(1) }) };
  const denied = new Error("Permission denied (os error 13)");
  denied.name = "PermissionDenied";
  const cut = gzipSync(loggedLine({ time: daysAgo(2) }).repeat(1000));
  const cases: Readonly<Record<string, [Scene, path: string, reason: string]>> =
    {
      "a pattern that finds nothing": [
        { files: { good }, patterns: { "none*": [], "*": ["good"] } },
        "none*",
        "matches no file",
      ],
      "a folder that may not be read": [
        { files: { good }, patterns: { "a/*": denied, "*": ["good"] } },
        "a/*",
        "may not be read by this user",
      ],
      "a file that may not be read": [
        { files: { bad: { content: denied }, good } },
        "bad",
        "may not be read by this user",
      ],
      "a file that is gone, also under another name": [
        {
          files: { good, bad: { ...good, id: "gone", daysOld: 1 } },
          moved: { gone: "" },
          patterns: { "*": ["good", "bad"] },
        },
        "bad",
        "does not exist",
      ],
      "a packed file that was cut": [
        { files: { bad: { content: cut.subarray(0, -9) }, good } },
        "bad",
        "cannot be read",
      ],
    };
  await steps(t, Object.entries(cases), async ([, [scene, path, reason]]) => {
    const { requests, since, lines } = await replay(scene);
    assert.ok(requests >= 1);
    assert.deepEqual(since, []);
    const [warning, reported, ...more] = lines;
    assert.deepEqual(warning, {
      level: "warn",
      event: "usage_not_replayed",
      reported: { path, reason },
    });
    assert.equal(reported?.event, "usage_replayed");
    assert.equal(reported?.reported.complete_since, undefined);
    assert.deepEqual(more, []);
  });
});

const EARLIER = "2026-11-21T11:59:00.000Z";

const DAY = `counts\tday\t${Date.UTC(2026, 10, 21) / 1000}\ttoken\talice`;

/** Opens one log whose content waits for `open()`. */
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

Deno.test("startReplay() delays serving for ten seconds at most, and counts the rest afterwards", async () => {
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

/** Runs `work` in a folder with logs and a subfolder. */
async function inFolder(work: (folder: string) => Promise<void>) {
  await using folder = await openTempFolder();
  await Deno.mkdir(`${folder.path}/old`);
  for (const name of ["a.jsonl", "a.jsonl.1.gz", "b.log", "old/c.jsonl"]) {
    await Deno.writeTextFile(`${folder.path}/${name}`, name);
  }
  await work(folder.path);
}

/** Returns the whole text of a read file. */
async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of pieces) {
    text += decoder.decode(piece, { stream: true });
  }
  return text;
}

Deno.test("LOG_FILES finds files, but no folders, by wildcards", async (t) => {
  const cases: Readonly<Record<string, readonly string[]>> = {
    "*.jsonl*": ["a.jsonl", "a.jsonl.1.gz"],
    "*": ["a.jsonl", "a.jsonl.1.gz", "b.log"],
    "**/*.jsonl": ["a.jsonl", "old/c.jsonl"],
    "{a,b}.*": ["a.jsonl", "a.jsonl.1.gz", "b.log"],
    "a.jsonl": ["a.jsonl"],
    "none*": [],
    "none/*": [],
  };
  await inFolder(async (folder) => {
    await steps(t, Object.entries(cases), async ([pattern, names]) => {
      const found = await LOG_FILES.find(`${folder}/${pattern}`);
      assert.deepEqual(
        found.map(({ path }) => path.slice(folder.length + 1)).sort(),
        names,
      );
    });
  });
});

Deno.test("LOG_FILES reads a file only up to the length that it had when found", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/b.log`;
    const text = "0123456789".repeat(20_000);
    await Deno.writeTextFile(path, text);
    const [file] = await LOG_FILES.find(path);
    assert.ok(file !== undefined);
    assert.equal(file.size, text.length);
    assert.ok(Math.abs(file.writtenMs - Date.now()) < 3_600_000);
    await Deno.writeTextFile(path, text, { append: true });
    assert.ok(await textOf(LOG_FILES.read(file)) === text);
    await Deno.writeTextFile(path, "cut meanwhile");
    assert.equal(await textOf(LOG_FILES.read(file)), "cut meanwhile");
    await Deno.remove(path);
    await assert.rejects(textOf(LOG_FILES.read(file)), Deno.errors.NotFound);
  });
});

testNeeding(
  "LOG_FILES recognizes a file behind a link or after a rename, and reads no new file under the old name",
  Deno.build.os === "windows" && "Windows makes links for few",
  async () => {
    await inFolder(async (folder) => {
      await Deno.link(`${folder}/b.log`, `${folder}/hard.log`);
      await Deno.symlink(`${folder}/b.log`, `${folder}/soft.log`);
      const found = await LOG_FILES.find(`${folder}/*`);
      assert.equal(found.length, 5);
      assert.equal(new Set(found.map(({ id }) => id)).size, 3);
      const [file] = await LOG_FILES.find(`${folder}/b.log`);
      assert.ok(file !== undefined);
      await Deno.rename(`${folder}/b.log`, `${folder}/b.log.1`);
      await Deno.writeTextFile(`${folder}/b.log`, "another");
      await assert.rejects(textOf(LOG_FILES.read(file)), Deno.errors.NotFound);
      const [moved] = await LOG_FILES.find(`${folder}/b.log.1`);
      assert.equal(moved?.id, file.id);
    });
  },
);

Deno.test("LOG_FILES closes a file that is not read to its end", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/b.log`;
    await Deno.writeTextFile(path, "0123456789".repeat(100_000));
    const [file] = await LOG_FILES.find(path);
    assert.ok(file !== undefined);
    // The test's sanitizer fails when it stays open.
    for await (const piece of LOG_FILES.read(file)) {
      assert.ok(piece.length > 0);
      break;
    }
  });
});

Deno.test("LOG_FILES finds an unreadable file, and reports the reason on reading it", async () => {
  await inFolder(async (folder) => {
    await Deno.symlink(`${folder}/moved`, `${folder}/d.jsonl`);
    const found = await LOG_FILES.find(`${folder}/*.jsonl`);
    const byName = new Map(
      found.map((file) => [file.path.slice(folder.length + 1), file]),
    );
    assert.deepEqual([...byName.keys()].sort(), ["a.jsonl", "d.jsonl"]);
    const lost = byName.get("d.jsonl");
    assert.ok(lost !== undefined);
    await assert.rejects(textOf(LOG_FILES.read(lost)), Deno.errors.NotFound);
  });
});

testNeeding(
  "LOG_FILES skips pipes and devices",
  Deno.build.os === "windows" && "Windows has no such pipes",
  async () => {
    await inFolder(async (folder) => {
      const made = await new Deno.Command("mkfifo", {
        args: [`${folder}/pipe.jsonl`],
      }).output();
      assert.ok(made.success);
      await Deno.symlink("/dev/zero", `${folder}/zero.jsonl`);
      const found = await LOG_FILES.find(`${folder}/*.jsonl`);
      assert.deepEqual(found.map(({ path }) => path), [`${folder}/a.jsonl`]);
    });
  },
);

testNeeding(
  "a pipe is refused at once, whether it has replaced a found log or is named as a log",
  Deno.build.os === "windows" && "Windows has no such pipes",
  async () => {
    await inFolder(async (folder) => {
      const path = `${folder}/a.jsonl`;
      const [file] = await LOG_FILES.find(path);
      assert.ok(file !== undefined);
      await Deno.remove(path);
      const made = await new Deno.Command("mkfifo", { args: [path] }).output();
      assert.ok(made.success);
      // Opening both ends does not wait, and releases a waiting reader.
      using _writer = {
        [Symbol.dispose]: () =>
          Deno.openSync(path, { read: true, write: true }).close(),
      };
      await assert.rejects(
        within(textOf(LOG_FILES.read(file)), "the log"),
        { name: "NotRegularFileError" },
      );
      await assert.rejects(
        within(openLog(path, () => true), "the log"),
        /: it is a FIFO, a socket or a device/,
      );
    });
  },
);

Deno.test("a named log that cannot be opened is reported in plain words", async () => {
  await inFolder(async (folder) => {
    const cases = { none: /: it does not exist$/, old: /: it is a directory$/ };
    for (const [name, expected] of Object.entries(cases)) {
      await assert.rejects(openLog(`${folder}/${name}`, () => true), expected);
    }
  });
});
