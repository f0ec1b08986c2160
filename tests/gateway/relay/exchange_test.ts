import { CallerLeft } from "../../../src/gateway/upstream/call.ts";
import assert from "node:assert/strict";
import { createDeadlines } from "../../../src/base/time/deadlines.ts";
import { followCaller } from "../../../src/gateway/relay/exchange.ts";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { openTestRecord } from "../../support/gateway/open_record.ts";

function scene(signal: AbortSignal, afterMs = 0) {
  const opened = openTestRecord();
  const request = new Request("http://gateway/", { signal });
  const timers = createFakeTimers();
  const deadlines = createDeadlines(timers);
  const control = followCaller(request, opened, { deadlines, afterMs });
  const { end } = opened;
  return { end, control, controller: control.controller, timers };
}

Deno.test("followCaller() aborts at once when the caller has already disconnected", () => {
  const { controller } = scene(AbortSignal.abort());
  assert.ok(controller.signal.reason instanceof CallerLeft);
});

Deno.test("followCaller() ignores the caller after the request has ended", () => {
  const caller = new AbortController();
  const { end, controller } = scene(caller.signal);
  end("complete");
  caller.abort();
  assert.equal(controller.signal.aborted, false);
});

Deno.test("followCaller() aborts after its delay when the caller left earlier, and at once when the caller leaves later", () => {
  const early = new AbortController();
  const before = scene(early.signal, 50);
  early.abort();
  before.timers.advance(49);
  assert.equal(before.controller.signal.aborted, false);
  before.timers.advance(1);
  assert.ok(before.controller.signal.reason instanceof CallerLeft);

  const late = new AbortController();
  const after = scene(late.signal, 50);
  after.timers.advance(50);
  assert.equal(after.controller.signal.aborted, false);
  late.abort();
  assert.ok(after.controller.signal.reason instanceof CallerLeft);
});

Deno.test("followCaller() never listens to the caller when the request ends within the delay", () => {
  const opened = openTestRecord();
  const timers = createFakeTimers();
  const deadlines = createDeadlines(timers);
  let asked = 0;
  const request = new Proxy(new Request("http://gateway/"), {
    get(target, name) {
      if (name === "signal") asked++;
      return Reflect.get(target, name, target);
    },
  });
  followCaller(request, opened, { deadlines, afterMs: 50 });
  timers.advance(49);
  opened.end("complete");
  timers.advance(1000);
  assert.equal(asked, 0);
  assert.equal(timers.running, 0);
});

Deno.test("followCaller() never aborts for a request that ended before the call", () => {
  const opened = openTestRecord();
  opened.end("error");
  for (const afterMs of [0, 50]) {
    const timers = createFakeTimers();
    const { controller } = followCaller(
      new Request("http://gateway/", { signal: AbortSignal.abort() }),
      opened,
      { deadlines: createDeadlines(timers), afterMs },
    );
    timers.advance(50);
    assert.equal(controller.signal.aborted, false);
  }
});

Deno.test("AttemptControl.nextAttempt() aborts the last attempt but not the next", () => {
  const { control } = scene(new AbortController().signal);
  const first = control.controller;
  const second = control.nextAttempt();
  assert.equal(first.signal.aborted, true);
  assert.equal(second.signal.aborted, false);
  assert.equal(control.controller, second);
});

Deno.test("AttemptControl.cancel() aborts the running attempt and prevents the next one", () => {
  const { control } = scene(new AbortController().signal);
  const reason = new Error("left");
  control.cancel(reason);
  assert.equal(control.controller.signal.reason, reason);
  assert.throws(() => control.nextAttempt(), reason);
});

Deno.test("AttemptControl.cancel() keeps its first reason", () => {
  const { control } = scene(new AbortController().signal);
  const reason = new Error("left");
  control.cancel(reason);
  control.cancel(new Error("stopped"));
  assert.throws(() => control.nextAttempt(), reason);
});

Deno.test("AttemptControl.cancel() prevents the next attempt even if the last one is already aborted", () => {
  const { control } = scene(new AbortController().signal);
  control.controller.abort();
  const reason = new Error("left");
  control.cancel(reason);
  assert.throws(() => control.nextAttempt(), reason);
});
