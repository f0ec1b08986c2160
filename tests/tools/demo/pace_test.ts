import assert from "node:assert/strict";
import {
  fragmentsOf,
  wordsOf,
} from "../../support/upstream/strict_provider/ask.ts";
import { seal, unseal } from "../../support/upstream/strict_provider/seal.ts";
import {
  speak,
  waitForAbort,
  waitInRealTime,
  write,
} from "../../../src/tools/demo/speak.ts";
import { within } from "../../support/within.ts";

Deno.test("wordsOf() splits after every blank and keeps all characters", () => {
  assert.deepEqual(wordsOf("one  two\nthree "), ["one  ", "two\n", "three "]);
  assert.deepEqual(wordsOf(" x"), [" ", "x"]);
  assert.deepEqual(wordsOf(""), []);
});

Deno.test("fragmentsOf() returns short pieces and splits no character", () => {
  const input = `{"text":"${"🙂".repeat(20)}"}`;
  const fragments = fragmentsOf(input);
  assert.equal(fragments.join(""), input);
  assert(fragments.length > 1);
  assert(fragments.every((fragment) => fragment.isWellFormed()));
  assert.deepEqual(fragmentsOf(""), []);
});

Deno.test("unseal() returns the text that seal() sealed", () => {
  for (const text of ["", "a.b.c", "line\nline", "ünïcode 🙂"]) {
    assert.equal(unseal(seal(text)), text);
  }
});

Deno.test("unseal() rejects text that seal() did not make", () => {
  const altered = btoa(atob(seal("hello")).replace("hello", "hallo"));
  for (const token of ["", "x", "gAAAA", btoa("a.b"), btoa("ÿ"), altered]) {
    assert.equal(unseal(token), undefined);
  }
});

const NEVER = new AbortController().signal;

const DAY_MS = 86_400_000;

/** Records waits instead of waiting. */
function createWaits() {
  const waits: number[] = [];
  const wait = (ms: number) => {
    waits.push(ms);
    return Promise.resolve();
  };
  return { waits, wait };
}

Deno.test("speak() waits before each text for the time of the text's words", async () => {
  const { waits, wait } = createWaits();
  const steps = [write("a"), write("b", 1), write("c", 3)];
  const body = speak(steps, { wait, wordMs: 20, signal: NEVER });
  assert.equal(await new Response(body).text(), "abc");
  assert.deepEqual(waits, [20, 60]);
});

Deno.test("speak() does not wait when words take no time", async () => {
  const { waits, wait } = createWaits();
  const body = speak([write("a", 5)], { wait, wordMs: 0, signal: NEVER });
  assert.equal(await new Response(body).text(), "a");
  assert.deepEqual(waits, []);
});

Deno.test("speak() runs a step only when its body is read", async () => {
  let taken = 0;
  function* steps() {
    for (;;) {
      taken++;
      yield write("x");
    }
  }
  const { wait } = createWaits();
  const body = speak(steps(), { wait, wordMs: 0, signal: NEVER });
  const reader = body.getReader();
  assert.equal(taken, 0);
  await reader.read();
  await reader.read();
  assert.equal(taken, 2);
  await reader.cancel();
});

Deno.test("speak() errors the body when the connection breaks", async () => {
  const { wait } = createWaits();
  const options = { wait, wordMs: 0, signal: NEVER, fault: "broken" } as const;
  const reader = speak([write("a"), write("b")], options).getReader();
  assert.equal((await reader.read()).done, false);
  await assert.rejects(reader.read(), TypeError);
});

const SILENCES = [
  ["a word", undefined, DAY_MS],
  ["a pause", "slow", 0],
  ["silence", "stall", DAY_MS],
] as const;

for (const [name, fault, wordMs] of SILENCES) {
  const start = (signal: AbortSignal) =>
    speak([write("a"), write("b", 1)], {
      wait: waitInRealTime,
      ...{ wordMs, signal, fault },
    }).getReader();

  Deno.test(`speak() stops at once in ${name} when its reader cancels`, async () => {
    const reader = start(NEVER);
    await reader.read();
    const pending = reader.read();
    await reader.cancel("enough");
    assert.deepEqual(await pending, { value: undefined, done: true });
  });

  Deno.test(`speak() stops at once in ${name} when the request aborts`, async () => {
    const controller = new AbortController();
    const reader = start(controller.signal);
    await reader.read();
    const pending = reader.read();
    controller.abort(new Error("gone"));
    await assert.rejects(pending, /gone/);
  });
}

Deno.test("speak() errors an unread body when the request aborts", async () => {
  const controller = new AbortController();
  const { wait } = createWaits();
  const options = { wait, wordMs: 0, signal: controller.signal };
  const body = speak([write("a")], options);
  controller.abort(new Error("gone"));
  await assert.rejects(new Response(body).text(), /gone/);
});

Deno.test("speak() forwards the errors of its steps and waits", async () => {
  const wait = () => Promise.reject(new Error("no time"));
  const body = speak([write("a", 1)], { wait, wordMs: 1, signal: NEVER });
  await assert.rejects(new Response(body).text(), /no time/);
});

Deno.test("waitInRealTime() resolves only after the time has passed", async () => {
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

  Deno.test(`${name} rejects at once when the signal is already aborted`, async () => {
    const waiting = wait(AbortSignal.abort(new Error("late")));
    await assert.rejects(within(waiting, "the wait to end"), /late/);
  });
}
