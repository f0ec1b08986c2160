import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { EventLoop, LoopTurns } from "../../../src/base/time/turns.ts";
import { settle } from "../../support/settle.ts";

const KIB = 1024;

/** Long work with a clock and event loop of the test, and a record of other work's turns. */
function begin() {
  const had: string[] = [];
  let nowMs = 1000;
  const loop = new EventLoop({
    elapsedMs: () => nowMs,
    nextTurn: () => Promise.resolve(void had.push("due")),
    idle: () => settle().then(() => void had.push("all")),
  });
  return {
    had,
    pass: (ms: number) => void (nowMs += ms),
    work() {
      const turns = new LoopTurns(loop);
      return async (...chunks: readonly number[]) => {
        for (const bytes of chunks) {
          turns.count(bytes);
          await turns.next();
        }
      };
    },
  };
}

Deno.test("short work never yields", async () => {
  const { had, pass, work } = begin();
  const run = work();
  pass(10_000);
  await run(1000, 200, 60 * KIB);
  assert.deepEqual(had, []);
});

Deno.test("other due work runs after every 64 KiB of long work", async () => {
  const { had, work } = begin();
  await work()(...Array(16).fill(64 * KIB));
  assert.deepEqual(had, Array(16).fill("due"));
});

Deno.test("a chunk of one byte counts as 256 bytes", async () => {
  const { had, work } = begin();
  await work()(...Array(1024).fill(1));
  assert.equal(had.length, 4);
});

Deno.test("other work runs each time that long work has run for 20 ms", async () => {
  const { had, pass, work } = begin();
  const run = work();
  pass(19);
  await run(64 * KIB);
  pass(1);
  await run(64 * KIB, 64 * KIB);
  pass(20);
  await run(64 * KIB);
  assert.deepEqual(had, ["due", "all", "due", "all"]);
});

Deno.test("all long work pauses and resumes together", async () => {
  const { had, pass, work } = begin();
  const [first, second] = [work(), work()];
  pass(20);
  const third = work();
  await Promise.all([first(64 * KIB), second(64 * KIB), third(64 * KIB)]);
  await Promise.all([first(64 * KIB), second(64 * KIB), third(64 * KIB)]);
  assert.deepEqual(had, ["all", "due", "due", "due"]);
});

/** Returns the number of steps of long work until a waiting socket is read. */
async function stepsUntilRead(workers: number): Promise<number> {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { hostname, port } = listener.addr;
  using client = await Deno.connect({ hostname, port });
  using server = await listener.accept();
  let hasCome = false;
  const reading = client.read(new Uint8Array(1)).then(() => hasCome = true);
  await settle();
  let nowMs = 0;
  const loop = new EventLoop({
    elapsedMs: () => nowMs += 5,
    nextTurn: () => new Promise((resolve) => setImmediate(resolve)),
    idle: settle,
  });
  let steps = 0;
  await server.write(new Uint8Array(1));
  await Promise.all(Array.from({ length: workers }, async () => {
    const turns = new LoopTurns(loop);
    while (!hasCome) {
      turns.count(64 * KIB);
      await turns.next();
      steps++;
    }
  }));
  await reading;
  return steps;
}

Deno.test("sockets are read while one or several tasks run long work", async () => {
  for (const workers of [1, 10]) {
    const steps = await stepsUntilRead(workers);
    // With immediates alone, each read would take 61 turns.
    assert.ok(steps < 30 * workers, `it took ${steps} steps`);
  }
});
