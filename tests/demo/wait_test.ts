import assert from "node:assert/strict";
import { waitForAbort, waitInRealTime } from "../../src/demo/speak.ts";
import { within } from "../support/within.ts";

const DAY_MS = 86_400_000;

Deno.test("waitInRealTime() resolves when the time has passed, and no sooner", async () => {
  const { signal } = new AbortController();
  let isOver = false;
  const waiting = waitInRealTime(1, signal).then(() => isOver = true);
  await Promise.resolve();
  assert.equal(isOver, false);
  await within(waiting, "the time to be over");
});

for (
  const [name, wait] of [
    ["waitInRealTime()", (s: AbortSignal) => waitInRealTime(DAY_MS, s)],
    ["waitForAbort()", waitForAbort],
  ] as const
) {
  Deno.test(`${name} rejects with the signal's reason and leaves no timer`, async () => {
    const controller = new AbortController();
    const waiting = wait(controller.signal);
    controller.abort(new Error("enough"));
    await assert.rejects(within(waiting, "the wait to end"), /enough/);
  });

  Deno.test(`${name} rejects at once when the signal has aborted before`, async () => {
    const waiting = wait(AbortSignal.abort(new Error("late")));
    await assert.rejects(within(waiting, "the wait to end"), /late/);
  });
}
