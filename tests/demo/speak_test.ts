import assert from "node:assert/strict";
import {
  speak,
  type Step,
  waitInRealTime,
  write,
} from "../../src/demo/speak.ts";

const NEVER = new AbortController().signal;

const DAY_MS = 86_400_000;

/** Waits that take no time and write down how long they would have been. */
function createWaits() {
  const waits: number[] = [];
  const wait = (ms: number) => {
    waits.push(ms);
    return Promise.resolve();
  };
  return { waits, wait };
}

Deno.test("speak() writes the texts of its steps at the pace of their words", async () => {
  const { waits, wait } = createWaits();
  const steps: Step[] = [
    write("a"),
    write("b", 1),
    { kind: "wait", ms: 7 },
    write("c", 3),
  ];
  const body = speak(steps, { wait, wordMs: 20, signal: NEVER });
  assert.equal(await new Response(body).text(), "abc");
  assert.deepEqual(waits, [20, 7, 60]);
});

Deno.test("speak() does not wait when words take no time", async () => {
  const { waits, wait } = createWaits();
  const body = speak([write("a", 5)], { wait, wordMs: 0, signal: NEVER });
  assert.equal(await new Response(body).text(), "a");
  assert.deepEqual(waits, []);
});

Deno.test("speak() runs no step before it is read", async () => {
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
  const steps: Step[] = [write("a"), { kind: "break" }];
  const reader = speak(steps, { wait, wordMs: 0, signal: NEVER }).getReader();
  assert.equal((await reader.read()).done, false);
  await assert.rejects(reader.read(), TypeError);
});

const SILENCES: readonly (readonly [string, Step])[] = [
  ["a word", write("b", 1)],
  ["a pause", { kind: "wait", ms: DAY_MS }],
  ["silence", { kind: "hang" }],
];

for (const [name, silence] of SILENCES) {
  const start = (signal: AbortSignal) =>
    speak([write("a"), silence], {
      wait: waitInRealTime,
      wordMs: DAY_MS,
      signal,
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
