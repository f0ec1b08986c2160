import assert from "node:assert/strict";
import { createCounting } from "../../../src/gateway/usage/counting.ts";
import {
  type DayUsage,
  readHistory,
} from "../../../src/gateway/usage/history.ts";
import { createMemorySums } from "../../../src/gateway/usage/memory_sums.ts";

const DAY_MS = 86_400_000;

/** The start of the test, a Thursday. */
const NOW_MS = Date.parse("2026-11-26T10:00:00Z");

const ALICE = { kind: "token", name: "alice" } as const;

/** Opens counting with a clock that the test sets. */
function setUp() {
  const clock = { nowMs: NOW_MS };
  const sums = createMemorySums({
    now: () => clock.nowMs,
    elapsedMs: () => clock.nowMs,
  });
  const counting = createCounting(sums);
  const count = (
    input: number,
    { name = "alice", groups = [], atMs = clock.nowMs, cost }: {
      readonly name?: string;
      readonly groups?: readonly string[];
      readonly atMs?: number;
      readonly cost?: number;
    } = {},
  ) =>
    counting.count({
      caller: {
        name,
        groups: groups.map((one) => ({ name: one, limits: [] })),
      },
      connection: "one",
      model: "model-a",
      atMs,
      counts: {
        requests: 1,
        input,
        output: 1,
        ...(cost === undefined ? {} : { cost }),
      },
    });
  const history = (holder: Parameters<typeof readHistory>[0] = ALICE) =>
    readHistory(holder, { sums, nowMs: clock.nowMs });
  return { clock, sums, count, history };
}

function inputs(history: readonly DayUsage[]): readonly (readonly unknown[])[] {
  return history.filter(({ requests }) => requests > 0)
    .map(({ date, input_tokens }) => [date, input_tokens]);
}

Deno.test("a history has the last 35 days, the oldest first, empty ones included", async () => {
  const { history } = setUp();
  const days = await history();
  assert.equal(days.length, 35);
  assert.equal(days[0]?.date, "2026-10-23");
  assert.deepEqual(days.at(-1), {
    date: "2026-11-26",
    requests: 0,
    unpriced_requests: 0,
    input_tokens: 0,
    cached_input_tokens: 0,
    cache_write_tokens: 0,
    output_tokens: 0,
    cost_usd: null,
  });
});

Deno.test("a history sums the requests of a day, and distinguishes a cost of 0 from an unknown one", async () => {
  const { count, history } = setUp();
  count(5);
  count(7);
  count(1, { atMs: NOW_MS - DAY_MS, cost: 0 });
  const [yesterday, today] = (await history()).slice(-2);
  assert.deepEqual([today?.requests, today?.input_tokens], [2, 12]);
  assert.deepEqual([today?.cost_usd, yesterday?.cost_usd], [null, 0]);
});

Deno.test("each day keeps its own date over months, and is dropped after 35 days", async () => {
  const { clock, count, history } = setUp();
  for (let day = 0; day < 100; day++) {
    count(day + 1);
    const days = await history();
    const first = Math.max(0, day - 34);
    assert.deepEqual(
      inputs(days),
      Array.from({ length: day - first + 1 }, (_, index) => {
        const atMs = NOW_MS + (first + index) * DAY_MS;
        return [new Date(atMs).toISOString().slice(0, 10), first + index + 1];
      }),
    );
    clock.nowMs += DAY_MS;
  }
});

Deno.test("a group's history sums its members' requests, and a token's history has only the token's requests", async () => {
  const { count, history } = setUp();
  count(5, { groups: ["interns"] });
  count(7, { name: "bob", groups: ["interns"] });
  assert.deepEqual(inputs(await history()), [["2026-11-26", 5]]);
  assert.deepEqual(inputs(await history({ kind: "group", name: "interns" })), [
    ["2026-11-26", 12],
  ]);
});

Deno.test("five weeks of a token take at most six tables of 42 values", () => {
  const { clock, sums, count } = setUp();
  for (let day = 0; day < 60; day++) {
    count(1000, { cost: 5 });
    clock.nowMs += DAY_MS;
  }
  // The other tables, of current windows and of a connection's tokens, have ended or are few.
  assert.ok(sums.size <= 6 * 42 + 4 * 11 + 64, `${sums.size} values`);
});
