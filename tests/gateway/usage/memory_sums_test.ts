import assert from "node:assert/strict";
import { createCounting } from "../../../src/gateway/usage/counting.ts";
import {
  countsTable,
  placedAt,
  sessionHolder,
  sessionTable,
} from "../../../src/gateway/usage/tables.ts";
import {
  minimalConfig,
  NOW_MS,
  tokenFile,
} from "../../support/gateway/config.ts";
import { createMemorySums } from "../../../src/gateway/usage/memory_sums.ts";
import { HOLD_MS, type Sum } from "../../../src/gateway/usage/sums.ts";
import { to } from "../../support/fakes/addition.ts";
import { createFakeClock } from "../../support/fakes/fake_clock.ts";

const MINUTE_MS = 60_000;

function sumOf(field: string, endsAtMs = MINUTE_MS, table = "alice"): Sum {
  return { table, field, endsAtMs };
}

/** Opens sums with a clock that the test sets. */
function setUp() {
  const clock = { nowMs: 0 };
  return {
    clock,
    sums: createMemorySums({
      now: () => clock.nowMs,
      elapsedMs: () => clock.nowMs,
    }),
  };
}

Deno.test("memory sums begin at 0, add amounts and release them", () => {
  const { sums } = setUp();
  const [input, output] = [sumOf("input"), sumOf("output")];
  assert.deepEqual(sums.read([input, output]), [0, 0]);
  sums.apply({ additions: [to(input, 7), to(output, 2)] });
  sums.apply({ additions: [to(input, -3)] });
  assert.deepEqual(sums.read([output, input]), [2, 4]);
  assert.deepEqual(sums.table("alice"), new Map([["input", 4], ["output", 2]]));
});

Deno.test("memory sums return a table that later additions do not change", () => {
  const { sums } = setUp();
  sums.apply({ additions: [to(sumOf("input"), 1)] });
  const before = sums.table("alice");
  sums.apply({ additions: [to(sumOf("input"), 1)] });
  assert.deepEqual(before, new Map([["input", 1]]));
  assert.deepEqual(sums.table("bob"), new Map());
});

Deno.test("memory sums grant a claim that exactly fits, and reject the next", () => {
  const { sums } = setUp();
  const claim = { sums: [sumOf("tokens")], key: "alice", amount: 5, most: 10 };
  assert.equal(sums.reserve("first", [claim]).isGranted, true);
  assert.equal(sums.reserve("second", [claim]).isGranted, true);
  assert.deepEqual(sums.reserve("third", [claim]), {
    isGranted: false,
    uses: [{ counted: [0], held: 10 }],
  });
});

Deno.test("memory sums grant all claims of a request or none", () => {
  const { sums } = setUp();
  const claims = [["requests", 5], ["tokens", 0], ["cost", 9]] as const;
  const decision = sums.reserve(
    "request",
    claims.map(([field, most]) => ({
      sums: [sumOf(field)],
      ...{ key: field, amount: 1, most },
    })),
  );
  assert.equal(decision.isGranted, false);
  assert.equal(sums.size, 0);
});

Deno.test("memory sums check a claim against all of its sums, and all running requests of its limit", () => {
  const { sums } = setUp();
  const [input, output] = [sumOf("input"), sumOf("output")];
  sums.apply({ additions: [to(input, 7), to(output, 2)] });
  const limit = { sums: [input, output], key: "alice tokens" };
  sums.reserve("running", [{ ...limit, amount: 3, most: 100 }]);
  const other = { sums: [sumOf("input", 9, "day")], key: "alice tokens" };
  assert.deepEqual(sums.uses([limit, other]), [
    { counted: [7, 2], held: 3 },
    { counted: [0], held: 3 },
  ]);
});

Deno.test("memory sums release the holds of a request once", () => {
  const { sums } = setUp();
  const limit = { sums: [sumOf("requests")], key: "alice" };
  sums.reserve("request", [{ ...limit, amount: 1, most: 1 }]);
  const hold = { key: "alice", id: "request", amount: 1 };
  for (let count = 0; count < 2; count++) {
    sums.apply({ additions: [], releases: [hold] });
  }
  assert.deepEqual(sums.uses([limit]), [{ counted: [0], held: 0 }]);
  assert.equal(sums.size, 0);
});

Deno.test("holds of another thread end two minutes after its last message, own holds never", () => {
  const { clock, sums } = setUp();
  const limit = { sums: [sumOf("requests", 60 * MINUTE_MS)], key: "alice" };
  const claim = { ...limit, amount: 1, most: 9 };
  sums.reserve("own", [claim]);
  sums.reserve("of a dead thread", [claim], HOLD_MS);
  sums.reserve("of a living one", [claim], HOLD_MS);
  const renewed = { key: "alice", id: "of a living one", amount: 1 };
  clock.nowMs = HOLD_MS - 1;
  sums.apply({ additions: [], holds: [renewed] });
  assert.equal(sums.uses([limit])[0]?.held, 3);
  clock.nowMs = HOLD_MS;
  assert.equal(sums.uses([limit])[0]?.held, 2);
  clock.nowMs = 2 * HOLD_MS + 10_000;
  assert.equal(sums.uses([limit])[0]?.held, 1);
});

Deno.test("memory sums do not count a request's own holds against its claims", () => {
  const { sums } = setUp();
  const claim = { sums: [sumOf("requests")], key: "k", amount: 1, most: 1 };
  for (
    const [id, isGranted] of [["a", true], ["a", true], ["b", false]] as const
  ) {
    assert.equal(sums.reserve(id, [claim]).isGranted, isGranted, id);
  }
});

Deno.test("once() returns true the first time, and again after its name has expired", () => {
  const { clock, sums } = setUp();
  assert.equal(sums.once("name", MINUTE_MS), true);
  assert.equal(sums.once("name", MINUTE_MS), false);
  assert.equal(sums.once("other", MINUTE_MS), true);
  clock.nowMs = MINUTE_MS;
  assert.equal(sums.once("name", MINUTE_MS), false);
  assert.equal(sums.once("name", 2 * MINUTE_MS), true);
});

Deno.test("memory sums are dropped at the end of their window", () => {
  const { clock, sums } = setUp();
  const minute = sumOf("tokens", MINUTE_MS, "alice minute");
  const hour = sumOf("tokens", 60 * MINUTE_MS, "alice hour");
  sums.apply({ additions: [to(minute, 1), to(hour, 1)] });
  assert.equal(sums.size, 2);
  clock.nowMs = MINUTE_MS - 1;
  assert.deepEqual(sums.read([minute, hour]), [1, 1]);
  clock.nowMs = MINUTE_MS;
  assert.deepEqual(sums.read([minute, hour]), [0, 1]);
  assert.equal(sums.size, 1);
  assert.deepEqual(sums.table("alice minute"), new Map());
});

Deno.test("memory sums add nothing to a window that has ended", () => {
  const { clock, sums } = setUp();
  clock.nowMs = 2 * MINUTE_MS;
  const sum = sumOf("tokens");
  sums.apply({ additions: [to(sum, -4)] });
  assert.deepEqual(sums.read([sum]), [0]);
  assert.equal(sums.size, 0);
});

Deno.test("100,000 sessions of one caller are all counted, and change no count of another caller", async () => {
  const config = await minimalConfig({
    tokens: [tokenFile({ limits: [{ per: "session", requests: 5 }] })],
  });
  const { limits } = [...config.callers.values()][0] ?? { limits: [] };
  for (const isUnlisted of [false, true]) {
    const sums = createMemorySums(createFakeClock(NOW_MS));
    const counting = createCounting(sums);
    const count = (name: string, session: string) =>
      counting.count({
        caller: { name, limits, groups: [], isUnlisted },
        ...{ connection: "main", model: "model-a", counts: { requests: 1 } },
        ...{ session, atMs: NOW_MS, startedMs: NOW_MS },
      });
    const usedBy = (name: string, session: string) => {
      const place = sessionTable(
        placedAt("session", NOW_MS),
        sessionHolder(name, session),
      );
      const [use] = sums.uses([
        { sums: [{ ...place, field: "requests" }], key: "" },
      ]);
      return use?.counted[0] ?? 0;
    };
    const hour = placedAt("hour", NOW_MS);
    const hourTable = countsTable(hour, { kind: "token", name: "alice" });
    count("alice", "work");
    const before = new Map(sums.table(hourTable));
    for (let at = 0; at < 100_000; at++) count("mallory", `session-${at}`);
    assert.equal(usedBy("alice", "work"), 1);
    assert.deepEqual(sums.table(hourTable), before);
    for (let at = 0; at < 20; at++) {
      const name = `fresh-${at}`;
      assert.ok(usedBy("mallory", name) > 0, "no session begins at nothing");
      assert.equal(usedBy("alice", name), 0);
    }
    assert.ok(sums.size < 60_000, `${sums.size} sums`);
  }
});
