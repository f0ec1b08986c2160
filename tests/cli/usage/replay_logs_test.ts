import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import type { LogFile } from "../../../src/cli/usage/log_files.ts";
import { replayLogs } from "../../../src/cli/usage/replay_logs.ts";
import type { LogFields } from "../../../src/observe/log.ts";
import type { Use } from "../../../src/usage/counting.ts";
import { createMemoryLog } from "../../support/fakes/memory_log.ts";
import { minimalConfig } from "../../support/gateway/config.ts";
import { loggedLine } from "../../support/wire/logged_line.ts";
import { inPieces } from "../../support/wire/pieces.ts";

const NOW_MS = Date.UTC(2026, 10, 21, 12);

const DAY_MS = 86_400_000;

const config = await minimalConfig();

/** A file of the test: what is in it, and how many days ago it was written. */
interface TestFile {
  readonly content: string | Uint8Array | Error;
  readonly daysOld?: number;
}

/** What there is to replay. */
interface Scene {
  readonly files: Readonly<Record<string, TestFile>>;
  /** The paths that each pattern finds; default: all of them by one pattern. */
  readonly patterns?: Readonly<Record<string, readonly string[] | Error>>;
}

/** Replays the files that the patterns find. */
async function replay(
  { files, patterns = { "*": Object.keys(files) } }: Scene,
) {
  const log = createMemoryLog();
  const uses: Use[] = [];
  const since: number[] = [];
  const read: string[] = [];
  await replayLogs({
    patterns: Object.keys(patterns),
    config,
    counting: {
      count: (use) => void uses.push(use),
      completeSince: (atMs) => void since.push(atMs),
    },
    files: {
      find(pattern) {
        const paths = patterns[pattern] ?? [];
        if (paths instanceof Error) return Promise.reject(paths);
        return Promise.resolve(paths.map((path): LogFile => ({
          path,
          size: 0,
          writtenMs: NOW_MS - (files[path]?.daysOld ?? 0) * DAY_MS,
        })));
      },
      async *read({ path }) {
        read.push(path);
        const { content } = files[path] ?? assert.fail(path);
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
  const lines = log.entries.map(({ level, event, fields }): LogFields => {
    const { ms: _, ...told } = fields;
    return { level, event, ...told };
  });
  return { requests, since, read, lines };
}

/** So many days before now. */
function daysAgo(days: number): string {
  return new Date(NOW_MS - days * DAY_MS).toISOString();
}

const OTHER_LINE =
  '{"time":"2026-11-18T00:00:00.000Z","level":"info","event":"stopped"}\n';

Deno.test("replayLogs() counts what the files of all patterns say, each file once, and says what it read", async () => {
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
    files: 2,
    requests: 2,
    unknown_token: 1,
    late: 1,
    other_lines: 1,
    unreadable_lines: 1,
    complete_since: daysAgo(3),
  }]);
});

Deno.test("replayLogs() leaves what no window reaches any more", async () => {
  const { requests, read, lines } = await replay({
    files: {
      "last_year.jsonl": { content: new Error("not asked for"), daysOld: 300 },
      "all.jsonl": {
        content: loggedLine({ time: daysAgo(300) }) +
          loggedLine({ time: daysAgo(34) }) +
          loggedLine({ time: daysAgo(32) }) +
          // With what a collector has put before it.
          `host: ${loggedLine({ time: daysAgo(2) })}`,
      },
    },
  });
  assert.deepEqual(read, ["all.jsonl"]);
  assert.equal(requests, 2);
  assert.equal(lines[0]?.requests, 2);
});

Deno.test("replayLogs() says what it could not read, goes on, and claims no completeness", async (t) => {
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
      const [warning, told, ...more] = lines;
      assert.deepEqual(warning, {
        level: "warn",
        event: "usage_not_replayed",
        path,
        reason,
      });
      assert.equal(told?.event, "usage_replayed");
      assert.equal(told?.complete_since, undefined);
      assert.deepEqual(more, []);
    });
  }
});
