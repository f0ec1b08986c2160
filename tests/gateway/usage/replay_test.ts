import assert from "node:assert/strict";
import { readLogLine } from "../../../src/gateway/observe/logged_request.ts";
import {
  type Counting,
  createCounting,
} from "../../../src/gateway/usage/counting.ts";
import { createMemorySums } from "../../../src/gateway/usage/memory_sums.ts";
import { createReplay } from "../../../src/gateway/usage/replay.ts";
import {
  placedAt,
  sessionHolder,
  sessionTable,
} from "../../../src/gateway/usage/tables.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";
import { createRandom } from "../../support/fakes/random.ts";
import { minimalConfig, tokenFile } from "../../support/gateway/config.ts";
import { type LoggedLine, loggedLine } from "../../support/wire/logged_line.ts";

type Use = Parameters<Counting["count"]>[0];

const START = "2026-11-21T12:07:30.000Z";

const config = await minimalConfig({
  tokens: [
    tokenFile({ name: "alice" }),
    tokenFile({ name: "bob", sha256: "b".repeat(64) }),
  ],
});

/** Opens a replay for a process that began at {@linkcode START}, and notes its counts. */
function openReplay(having = config) {
  const uses: Use[] = [];
  const replay = createReplay({
    counting: { count: (use) => void uses.push(use), countLife() {} },
    config: having,
    untilMs: Date.parse(START),
  });
  return { replay, uses };
}

/** Returns a request as read from a log. */
function requestOf(fields: LoggedLine) {
  const read = readLogLine(loggedLine(fields));
  assert.ok(typeof read === "object");
  return read;
}

/** Replays these requests. */
function replayed(requests: readonly LoggedLine[], having = config) {
  const { replay, uses } = openReplay(having);
  for (const fields of requests) replay.add(requestOf(fields));
  replay.end();
  return { replay, uses };
}

Deno.test("createReplay() buffers at most 2000 sums, and finally counts all of them", () => {
  const { replay, uses } = openReplay();
  const buffered: number[] = [];
  for (let count = 1; count <= 4500; count++) {
    const model = `model-${count}`;
    replay.add(requestOf({ time: "2026-11-21T11:00:00.000Z", model }));
    buffered.push(count - uses.length);
  }
  assert.equal(Math.max(...buffered), 2000);
  replay.end();
  assert.equal(uses.length, 4500);
});

Deno.test("createReplay() counts callers of identity providers by name and issuer, and for their groups", async () => {
  const issuer = "https://login.example.com";
  const withIdentity = await minimalConfig({
    groups: { platform: {} },
    identity: [{
      issuer,
      audience: "a",
      rules: [{ connections: ["*"], group: "platform" }],
    }],
  });
  const time = "2026-11-21T11:00:00.000Z";
  const { uses, replay } = replayed([
    { time, token: `alice (${issuer})`, token_group: "platform" },
    { time, token: `bob (${issuer})`, token_group: "gone" },
    { time, token: "alice" },
    { time, token: "carol (https://other.example)" },
  ], withIdentity);
  assert.deepEqual(
    uses.map(({ caller: { name, groups } }) => [name, groups[0]?.name]),
    [
      [`alice (${issuer})`, "platform"],
      [`bob (${issuer})`, undefined],
      ["alice", undefined],
    ],
  );
  assert.equal(replay.counts.unknownToken, 1);
});

/** Describes a count in a few words. */
function reported({ caller, connection, model, atMs, counts }: Use) {
  const at = new Date(atMs).toISOString();
  return [caller.name, connection, model, at, counts.requests];
}

Deno.test("createReplay() counts the usage of each model of a request, but the request only for the serving model", () => {
  const { uses } = replayed([{
    time: "2026-11-21T11:00:00.000Z",
    usage: { input_tokens: 110, output_tokens: 11 },
    cost_usd: 0.3,
    by_model: [
      { model: "glm-fast", input_tokens: 100, output_tokens: 10 },
      { model: "dear", input_tokens: 10, output_tokens: 1, cost_usd: 0.3 },
    ],
  }]);
  assert.deepEqual(
    uses.map((
      { model, counts },
    ) => [model, counts.requests, counts.input, counts.cost]),
    [["glm-fast", 1, 100, undefined], ["dear", undefined, 10, 300_000_000]],
  );
});

Deno.test("createReplay() counts the usage of each request", () => {
  const usage = {
    input_tokens: 100,
    cached_input_tokens: 60,
    cache_write_tokens: 30,
    output_tokens: 20,
    reasoning_tokens: 5,
    estimated: true,
  };
  const time = "2026-11-21T11:00:00.000Z";
  const { uses, replay } = replayed([{ time, usage, cost_usd: 0.000_000_123 }]);
  assert.equal(uses[0]?.caller, [...config.callers.values()][0]);
  assert.deepEqual(uses.map(({ counts }) => counts), [{
    requests: 1,
    input: 100,
    cached_input: 60,
    cache_write: 30,
    output: 20,
    reasoning: 5,
    estimated: 1,
    cost: 123,
  }]);
  assert.deepEqual(replay.counts, { counted: 1, unknownToken: 0, late: 0 });
  assert.equal(replay.firstMs, Date.parse(time));
});

Deno.test("createReplay() counts no cost for models without a price", () => {
  const [use] = replayed([{ time: "2026-11-21T11:00:00.000Z" }]).uses;
  assert.ok(use !== undefined);
  assert.ok(!("cost" in use.counts));
  assert.ok(!("estimated" in use.counts));
});

Deno.test("createReplay() combines only requests of the same windows", () => {
  const time = (text: string) => `2026-11-21T${text}Z`;
  const { uses } = replayed([
    { time: time("11:00:00.000") },
    { time: time("11:14:59.999") },
    { time: time("11:15:00.000") },
    { time: time("11:15:00.000"), model: "other" },
    { time: time("11:15:00.000"), connection: "other" },
    { time: time("11:15:00.000"), token: "bob" },
    // The current minute at the start of the process has its own window.
    { time: time("12:06:59.999") },
    { time: time("12:07:00.000") },
    { time: time("12:07:29.999") },
  ]);
  assert.deepEqual(uses.map(reported), [
    ["alice", "GLM team", "glm-fast", time("11:00:00.000"), 2],
    ["alice", "GLM team", "glm-fast", time("11:15:00.000"), 1],
    ["alice", "GLM team", "other", time("11:15:00.000"), 1],
    ["alice", "other", "glm-fast", time("11:15:00.000"), 1],
    ["bob", "GLM team", "glm-fast", time("11:15:00.000"), 1],
    ["alice", "GLM team", "glm-fast", time("12:00:00.000"), 1],
    ["alice", "GLM team", "glm-fast", time("12:07:00.000"), 2],
  ]);
});

Deno.test("createReplay() combines old requests more coarsely", () => {
  const times = [
    "2026-11-01T00:00:00.000Z",
    "2026-11-01T23:59:59.999Z",
    "2026-11-02T00:00:00.000Z",
    "2026-11-20T10:00:00.000Z",
    "2026-11-20T10:59:59.999Z",
    "2026-11-20T11:00:00.000Z",
  ];
  const { uses } = replayed(times.map((time) => ({ time })));
  assert.deepEqual(uses.map(reported).map((one) => one.slice(3)), [
    ["2026-11-01T00:00:00.000Z", 2],
    ["2026-11-02T00:00:00.000Z", 1],
    ["2026-11-20T10:00:00.000Z", 2],
    ["2026-11-20T11:00:00.000Z", 1],
  ]);
});

/** Opens counting at {@linkcode START}, with its sums. */
function openCounting() {
  const clock = createFakeClock(Date.parse(START));
  const sums = createMemorySums(clock);
  const tables = new Set<string>();
  const counting = createCounting({
    apply(change) {
      for (const { table } of change.additions) tables.add(table);
      sums.apply(change);
    },
  });
  return { sums, tables, counting };
}

/** Returns requests of the last 33 days, half of them of the last hours. */
function someRequests(count: number): readonly LoggedLine[] {
  const random = createRandom(7);
  return Array.from({ length: count }, () => {
    const oldestMs = random.pick([9 * 3_600_000, 33 * 86_400_000]);
    const endedMs = Date.parse(START) - 1 - random.below(oldestMs);
    return {
      time: new Date(endedMs).toISOString(),
      token: random.pick(["alice", "bob"]),
      cost_usd: random.below(100) / 10_000,
    };
  });
}

Deno.test("createReplay() produces the same sums as counting each request at its own time", () => {
  const single = openCounting();
  const gathered = openCounting();
  const untilMs = Date.parse(START);
  const replay = createReplay({ ...gathered, config, untilMs });
  for (const fields of someRequests(3000)) {
    const request = requestOf(fields);
    replay.add(request);
    const count = (use: Use) =>
      single.counting.count({ ...use, atMs: Date.parse(request.time) });
    const one = createReplay({
      counting: { count, countLife() {} },
      ...{ config, untilMs },
    });
    one.add(request);
    one.end();
  }
  replay.end();
  let compared = 0;
  for (const table of single.tables) {
    const expected = single.sums.table(table);
    assert.deepEqual(gathered.sums.table(table), expected, table);
    if (expected.size > 0) compared++;
  }
  assert.ok(compared > 100, `${compared}`);
});

Deno.test("createReplay() skips the process's own requests, and tokens that were renamed", () => {
  const { uses, replay } = replayed([
    { time: START },
    { time: "2026-11-22T00:00:00.000Z" },
    { time: "2026-11-21T11:00:00.000Z", token: "alice-before" },
    { time: "2026-11-21T11:00:00.000Z", token: undefined },
    { time: "2026-13-41T11:00:00.000Z" },
  ]);
  assert.deepEqual(uses, []);
  assert.deepEqual(replay.counts, { counted: 0, unknownToken: 2, late: 3 });
  assert.equal(replay.firstMs, Date.parse("2026-11-21T11:00:00.000Z"));
  assert.equal(replayed([{ time: START }]).replay.firstMs, undefined);
});

Deno.test("createReplay() buffers a limited number of sums, and loses none", () => {
  const time = "2026-11-21T11:00:00.000Z";
  const { uses } = replayed(Array.from(
    { length: 3000 },
    (_, index) => ({ time, model: `model-${index % 1500}` }),
  ));
  const counted = uses.map(({ counts }) => counts.requests ?? 0);
  assert.equal(counted.reduce((sum, one) => sum + one), 3000);
});

Deno.test("createReplay() counts a session from its first request, in logs of any order", async () => {
  const having = await minimalConfig({
    tokens: [
      tokenFile({ name: "alice", limits: [{ per: "session", tokens: 5000 }] }),
    ],
  });
  const [caller] = having.callers.values();
  assert.ok(caller !== undefined);
  const untilMs = Date.parse(START);
  const hour = 3_600_000;
  /** Returns requests of the hours before the start, each with ten more tokens than the one before. */
  const lines = (session: string, ...hours: readonly number[]) =>
    hours.map((ago, index) => ({
      ...{ session, token: "alice", model: "model-1", total_ms: 60_000 },
      time: new Date(untilMs - ago * hour).toISOString(),
      usage: { input_tokens: 10 * (index + 1), output_tokens: 0 },
    }));
  const cases = {
    // One session lasts from 50 to 26 hours ago. The next began 25.9 hours ago and is over.
    "ended": { hours: [50, 40, 27, 25.9, 20, 2], used: 0, endsIn: undefined },
    "runs": { hours: [33, 8, 7], used: 20 + 30, endsIn: 16 },
    "chained": { hours: [47, 24, 22.9, 3], used: 30 + 40, endsIn: 1.1 },
  };
  for (const isReversed of [false, true]) {
    const clock = createFakeClock(untilMs);
    const sums = createMemorySums(clock);
    const counting = createCounting(sums);
    const replay = createReplay({ counting, config: having, untilMs });
    const all = Object.entries(cases)
      .flatMap(([session, { hours }]) => lines(session, ...hours));
    for (const line of isReversed ? all.reverse() : all) {
      replay.add(requestOf(line));
    }
    replay.end();
    for (const [session, { used, endsIn }] of Object.entries(cases)) {
      const place = sessionTable(
        placedAt("session", untilMs),
        sessionHolder("alice", session),
      );
      const [use] = sums.uses([
        { sums: [{ ...place, field: "tokens" }], key: "" },
      ]);
      assert.equal(use?.counted[0], used, session);
      const expected = endsIn && untilMs + endsIn * hour - 60_000;
      assert.equal(use?.endsAtMs, expected, session);
    }
  }
});
