import assert from "node:assert/strict";
import { waitForAbort, waitInRealTime } from "../../src/demo/wait.ts";

const DAY_MS = 86_400_000;

Deno.test("waitInRealTime() resolves when the time is over", async () => {
  await waitInRealTime(0, new AbortController().signal);
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
    await assert.rejects(waiting, /enough/);
  });

  Deno.test(`${name} rejects at once when the signal has aborted before`, async () => {
    await assert.rejects(wait(AbortSignal.abort(new Error("late"))), /late/);
  });
}
