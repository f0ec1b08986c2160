import assert from "node:assert/strict";
import { createLine } from "../../src/relay/attempt_control.ts";

Deno.test("Line.renew() gives up the attempt before and leaves the next alone", () => {
  const line = createLine();
  const first = line.controller;
  const second = line.renew();
  assert.equal(first.signal.aborted, true);
  assert.equal(second.signal.aborted, false);
  assert.equal(line.controller, second);
});

Deno.test("Line.hangUp() ends the attempt and lets no other follow", () => {
  const line = createLine();
  const reason = new Error("left");
  line.hangUp(reason);
  assert.equal(line.controller.signal.reason, reason);
  assert.throws(() => line.renew(), reason);
});

Deno.test("Line.hangUp() keeps its first reason", () => {
  const line = createLine();
  const reason = new Error("left");
  line.hangUp(reason);
  line.hangUp(new Error("stopped"));
  assert.throws(() => line.renew(), reason);
});

Deno.test("Line.hangUp() lets no attempt follow one that was given up already", () => {
  const line = createLine();
  line.controller.abort();
  const reason = new Error("left");
  line.hangUp(reason);
  assert.throws(() => line.renew(), reason);
});
