import assert from "node:assert/strict";
import { untilAbort } from "../../src/core/until_abort.ts";

Deno.test("untilAbort() gives what the work gives", async () => {
  const { signal } = new AbortController();
  assert.equal(await untilAbort(Promise.resolve(5), signal), 5);
  await assert.rejects(
    untilAbort(Promise.reject(new Error("no")), signal),
    /no/,
  );
});

Deno.test("untilAbort() stops waiting when the signal aborts, and the work goes on", async () => {
  const controller = new AbortController();
  const { promise, resolve } = Promise.withResolvers<number>();
  const waiting = untilAbort(promise, controller.signal);
  controller.abort(new Error("over"));
  await assert.rejects(waiting, /over/);
  resolve(5);
  assert.equal(await promise, 5);
});

Deno.test("untilAbort() does not wait at all for a signal that has aborted", async () => {
  const signal = AbortSignal.abort(new Error("over"));
  await assert.rejects(untilAbort(Promise.resolve(5), signal), /over/);
});
