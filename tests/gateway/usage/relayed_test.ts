import assert from "node:assert/strict";
import { createMemorySums } from "../../../src/gateway/usage/memory_sums.ts";
import {
  createRelayed,
  relayedShare,
} from "../../../src/gateway/usage/relayed.ts";
import type { Addition } from "../../../src/gateway/usage/sums.ts";
import {
  type Holder,
  holderDigest,
} from "../../../src/gateway/usage/tables.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const START_MS = Date.UTC(2026, 0, 1);

const ALICE: Holder = { kind: "token", name: "alice" };
const BOB: Holder = { kind: "token", name: "bob" };

/** Opens the tokens of one connection, with a clock that the test sets. */
function setUp() {
  const clock = { nowMs: START_MS };
  const sums = createMemorySums({ now: () => clock.nowMs, elapsedMs: () => 0 });
  const addRelayed = createRelayed();
  return {
    clock,
    sums,
    use(holder: Holder, tokens: number): void {
      const additions: Addition[] = [];
      addRelayed({
        connection: "main",
        holders: [{ digest: holderDigest(holder) }],
        tokens,
        atMs: clock.nowMs,
      }, additions);
      sums.apply({ additions });
    },
    share(holder: Holder, lengthMs: number) {
      const span = { startMs: clock.nowMs - lengthMs, endMs: clock.nowMs };
      return relayedShare({ connection: "main", holder, span }, sums);
    },
  };
}

Deno.test("relayedShare() returns a holder's part of all tokens", () => {
  const { clock, use, share } = setUp();
  use(ALICE, 100);
  clock.nowMs += 20 * MINUTE_MS;
  use(BOB, 300);
  assert.equal(share(ALICE, 5 * HOUR_MS), 0.25);
  assert.equal(share(BOB, 5 * HOUR_MS), 0.75);
  assert.equal(share({ kind: "group", name: "alice" }, 5 * HOUR_MS), 0);
});

Deno.test("relayedShare() counts only the part of a bucket within the span", () => {
  const { clock, use, share } = setUp();
  use(ALICE, 300);
  clock.nowMs += 2 * HOUR_MS;
  use(BOB, 100);
  assert.equal(share(ALICE, HOUR_MS), 0);
  assert.equal(share(BOB, HOUR_MS), 1);
  // Five of the fifteen minutes of Alice's use are within the span.
  assert.equal(share(ALICE, 2 * HOUR_MS - 10 * MINUTE_MS), 0.5);
});

Deno.test("relayedShare() reaches back a month at most", () => {
  const { clock, use, share } = setUp();
  use(ALICE, 100);
  clock.nowMs += 7 * DAY_MS;
  use(BOB, 100);
  assert.equal(share(ALICE, 7 * DAY_MS), 0.5);
  clock.nowMs += 24 * DAY_MS;
  use(BOB, 200);
  assert.equal(share(ALICE, 31 * DAY_MS), 0.25);
  assert.equal(share(ALICE, 40 * DAY_MS), undefined);
});

Deno.test("createRelayed() keeps additions for the longest span", () => {
  const { clock, sums, use } = setUp();
  use(ALICE, 100);
  assert.equal(sums.size, 6);
  clock.nowMs += 7 * HOUR_MS;
  sums.read([]);
  assert.equal(sums.size, 4);
  clock.nowMs += 9 * DAY_MS;
  sums.read([]);
  assert.equal(sums.size, 2);
  clock.nowMs += 33 * DAY_MS;
  sums.read([]);
  assert.equal(sums.size, 0);
});
