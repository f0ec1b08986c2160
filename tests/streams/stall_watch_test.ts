import assert from "node:assert/strict";
import { createDeadlines } from "../../src/core/time/deadlines.ts";
import { createStallWatch, STALL_MS } from "../../src/streams/pass_through.ts";
import {
  createFakeTimers,
  type FakeTimers,
} from "../support/fakes/fake_timers.ts";

type StallWatch = ReturnType<typeof createStallWatch>;

interface Scene {
  readonly watch: StallWatch;
  readonly timers: FakeTimers;
  readonly stalls: () => number;
  /** Whether somebody waits and takes what is given. */
  isAllTaken: boolean;
}

function begin(): Scene {
  const timers = createFakeTimers();
  let stalls = 0;
  const scene: Scene = {
    watch: createStallWatch({
      deadlines: createDeadlines(timers),
      isAllTaken: () => scene.isAllTaken,
      onStall: () => void stalls++,
    }),
    timers,
    stalls: () => stalls,
    isAllTaken: false,
  };
  return scene;
}

Deno.test("a stall is measured from the first unread chunk", () => {
  const { watch, timers, stalls } = begin();
  watch.readBegan();
  watch.sent();
  watch.readEnded();
  timers.advance(STALL_MS - 1);
  watch.sent();
  watch.readEnded();
  assert.equal(stalls(), 0);
  timers.advance(1);
  assert.equal(stalls(), 1);
  watch.stop();
});

Deno.test("a stall is counted again when more is requested", () => {
  const { watch, timers, stalls } = begin();
  watch.readBegan();
  watch.sent();
  timers.advance(STALL_MS - 1);
  watch.readBegan();
  watch.sent();
  watch.readEnded();
  timers.advance(STALL_MS - 1);
  assert.equal(stalls(), 0);
  timers.advance(1);
  assert.equal(stalls(), 1);
  watch.stop();
});

Deno.test("a stall is counted from the answer for a reader that has taken all, however long that took", () => {
  const scene = begin();
  const { watch, timers, stalls } = scene;
  watch.readBegan();
  watch.sent();
  scene.isAllTaken = true;
  timers.advance(15_000);
  watch.readEnded();
  timers.advance(STALL_MS - 1);
  assert.equal(stalls(), 0);
  timers.advance(1);
  assert.equal(stalls(), 1);
  watch.stop();
});

Deno.test("a reader that has taken all and waits for more does not stall", () => {
  const scene = begin();
  const { watch, timers, stalls } = scene;
  watch.readBegan();
  watch.sent();
  scene.isAllTaken = true;
  timers.advance(3 * STALL_MS);
  assert.equal(stalls(), 0);
  watch.stop();
});

Deno.test("a watch for stalls is silent once it is stopped, and leaves no timer", () => {
  const { watch, timers, stalls } = begin();
  watch.readBegan();
  watch.sent();
  watch.stop();
  assert.equal(timers.running, 0);
  watch.sent();
  timers.advance(2 * STALL_MS);
  assert.equal(stalls(), 0);
});
