import assert from "node:assert/strict";
import { untilAbort } from "../../../src/core/time/until_abort.ts";

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

Deno.test("untilAbort() takes the failure of work that nobody waits for any more", async () => {
  const unhandled: unknown[] = [];
  const note = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    unhandled.push(event.reason);
  };
  addEventListener("unhandledrejection", note);
  try {
    const [early, late] = [0, 1].map(() => Promise.withResolvers<number>());
    assert.ok(early && late);
    const controller = new AbortController();
    const waiting = untilAbort(late.promise, controller.signal);
    controller.abort(new Error("left"));
    await assert.rejects(waiting, /left/);
    await assert.rejects(untilAbort(early.promise, controller.signal), /left/);
    early.reject(new Error("too late"));
    late.reject(new Error("too late"));
    await new Promise((resolve) => setTimeout(resolve, 0));
    assert.deepEqual(unhandled, []);
  } finally {
    removeEventListener("unhandledrejection", note);
  }
});

Deno.test("untilAbort() leaves no listener on a signal that lives on", async () => {
  const { signal } = new AbortController();
  let listeners = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  Object.assign(signal, {
    addEventListener: (type: string, listener: EventListener) => {
      listeners += 1;
      add(type, listener);
    },
    removeEventListener: (type: string, listener: EventListener) => {
      listeners -= 1;
      remove(type, listener);
    },
  });
  await untilAbort(Promise.resolve(1), signal);
  await assert.rejects(untilAbort(Promise.reject(new Error("no")), signal));
  await Promise.resolve();
  assert.equal(listeners, 0);
});
