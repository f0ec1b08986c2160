import assert from "node:assert/strict";
import { createAttemptControl } from "../../src/relay/attempt_control.ts";

Deno.test("AttemptControl.nextAttempt() gives up the attempt before and leaves the next alone", () => {
  const control = createAttemptControl();
  const first = control.controller;
  const second = control.nextAttempt();
  assert.equal(first.signal.aborted, true);
  assert.equal(second.signal.aborted, false);
  assert.equal(control.controller, second);
});

Deno.test("AttemptControl.cancel() ends the attempt and lets no other follow", () => {
  const control = createAttemptControl();
  const reason = new Error("left");
  control.cancel(reason);
  assert.equal(control.controller.signal.reason, reason);
  assert.throws(() => control.nextAttempt(), reason);
});

Deno.test("AttemptControl.cancel() keeps its first reason", () => {
  const control = createAttemptControl();
  const reason = new Error("left");
  control.cancel(reason);
  control.cancel(new Error("stopped"));
  assert.throws(() => control.nextAttempt(), reason);
});

Deno.test("AttemptControl.cancel() lets no attempt follow one that was given up already", () => {
  const control = createAttemptControl();
  control.controller.abort();
  const reason = new Error("left");
  control.cancel(reason);
  assert.throws(() => control.nextAttempt(), reason);
});
