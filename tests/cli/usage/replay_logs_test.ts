import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import type { LogFile } from "../../../src/cli/usage/log_files.ts";
import { replayLogs } from "../../../src/cli/usage/replay_logs.ts";
import type { Counting } from "../../../src/usage/counting.ts";
import { createMemoryLog } from "../../support/fakes/memory_log.ts";
import { minimalConfig } from "../../support/gateway/config.ts";
import { loggedLine } from "../../support/wire/logged_line.ts";
import { inPieces } from "../../support/wire/pieces.ts";

type Use = Parameters<Counting["count"]>[0];

const NOW_MS = Date.UTC(2026, 10, 21, 12);

const DAY_MS = 86_400_000;

const config = await minimalConfig();

/** A file of the test: what is in it, and how many days ago it was written. */
interface TestFile {
  readonly content: string | Uint8Array | Error;
  readonly daysOld?: number;
  /** By which the file is known; default: its path. */
  readonly id?: string;
}

/** What there is to replay. */
interface Scene {
  readonly files: Readonly<Record<string, TestFile>>;
  /** The paths that each pattern finds; default: all of them by one pattern. */
  readonly patterns?: Readonly<Record<string, readonly string[] | Error>>;
  /** Where each file is once one has been read, by its id: "" is nowhere; default: where it was. */
  readonly moved?: Readonly<Record<string, string>>;
}

/** Replays the files that the patterns find. */
async function replay(
  { files, patterns = { "*": Object.keys(files) }, moved = {} }: Scene,
) {
  const idOf = (path: string) => files[path]?.id ?? path;
  /** Where a file is now. */
  const placeOf = (path: string) =>
    read.length === 0 ? path : moved[idOf(path)] ?? path;
  const log = createMemoryLog();
  const uses: Use[] = [];
  const since: number[] = [];
  const read: string[] = [];
  await replayLogs({
    patterns: Object.keys(patterns),
    config,
    counting: { count: (use) => void uses.push(use) },
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

/** So many days before now. */
function daysAgo(days: number): string {
  return new Date(NOW_MS - days * DAY_MS).toISOString();
}

const OTHER_LINE =
  '{"time":"2026-11-18T00:00:00.000Z","level":"info","event":"stopped"}\n';

Deno.test("replayLogs() counts the files of all patterns, each once, and logs what it read", async () => {
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
    patterns: {
      "*": ["old.jsonl.gz", "new.jsonl"],
      "new*": ["new.jsonl"],
    },
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

Deno.test("replayLogs() counts a file that is renamed meanwhile once", async () => {
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

Deno.test("replayLogs() skips requests that no window reaches", async () => {
  const { requests, read, lines } = await replay({
    files: {
      "last_year.jsonl": { content: new Error("not asked for"), daysOld: 300 },
      "all.jsonl": {
        content: loggedLine({ time: daysAgo(300) }) +
          loggedLine({ time: daysAgo(37) }) +
          loggedLine({ time: daysAgo(35) }) +
          // With what a collector has put before it.
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
        "finds no file",
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
  for (const [name, [scene, path, reason]] of Object.entries(cases)) {
    await t.step(name, async () => {
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
  }
});
