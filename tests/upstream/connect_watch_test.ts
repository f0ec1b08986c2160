import assert from "node:assert/strict";
import { createDeadlines } from "../../src/core/time/deadlines.ts";
import { createConnectWatch } from "../../src/upstream/connect_watch.ts";
import { createFakeTimers } from "../support/fakes/fake_timers.ts";
import { settle } from "../support/settle.ts";

/** What a proof comes to: a connection, a refusal, or nothing. */
type Outcome = "reached" | "refused" | "hangs";

function begin(outcome: Outcome | undefined) {
  const timers = createFakeTimers();
  const proofs: string[] = [];
  const watch = createConnectWatch({
    deadlines: createDeadlines(timers),
    reach: outcome === undefined ? undefined : (url, signal) => {
      proofs.push(url);
      if (outcome === "reached") return Promise.resolve();
      if (outcome === "refused") return Promise.reject(new Error("refused"));
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    },
  });
  let unreachable = 0;
  const start = (url = "http://one/") =>
    watch.start({ url, withinMs: 10_000, onUnreachable: () => unreachable++ });
  const pass = async (ms: number) => {
    timers.advance(ms);
    await settle();
  };
  return { timers, proofs, watch, start, pass, unreachable: () => unreachable };
}

Deno.test("a hanging connect is given up when the deadline has passed", async () => {
  const scene = begin("hangs");
  scene.start();
  await scene.pass(9999);
  assert.equal(scene.unreachable(), 0);
  await scene.pass(1);
  assert.equal(scene.unreachable(), 1);
  assert.deepEqual(scene.proofs, ["http://one/"]);
  assert.equal(scene.timers.running, 0);
});

Deno.test("a host that can be connected to may take its time to answer", async () => {
  const scene = begin("reached");
  const stop = scene.start();
  await scene.pass(5000);
  await scene.pass(55_000);
  assert.equal(scene.unreachable(), 0);
  assert.equal(scene.proofs.length, 1);
  stop();
  assert.equal(scene.timers.running, 0);
});

Deno.test("a host that refuses is left to fetch, which says why", async () => {
  const scene = begin("refused");
  scene.start();
  await scene.pass(5000);
  await scene.pass(55_000);
  assert.equal(scene.unreachable(), 0);
});

Deno.test("a request that is answered in time puts nothing to the proof", async () => {
  const scene = begin("hangs");
  const stop = scene.start();
  await scene.pass(4999);
  scene.watch.noteReached("http://one/");
  stop();
  await scene.pass(60_000);
  assert.equal(scene.proofs.length, 0);
  assert.equal(scene.unreachable(), 0);
  assert.equal(scene.timers.running, 0);
});

Deno.test("a host that was heard of meanwhile is not put to the proof", async () => {
  const scene = begin("hangs");
  scene.start();
  await scene.pass(100);
  scene.watch.noteReached("http://one/");
  await scene.pass(60_000);
  assert.equal(scene.proofs.length, 0);
  scene.start();
  await scene.pass(10_000);
  assert.equal(scene.unreachable(), 1);
});

Deno.test("one proof serves all requests to a host", async () => {
  const scene = begin("hangs");
  for (let count = 0; count < 100; count++) scene.start();
  scene.start("http://two/");
  await scene.pass(10_000);
  assert.deepEqual(scene.proofs, ["http://one/", "http://two/"]);
  assert.equal(scene.unreachable(), 101);
});

Deno.test("a request that ends during the proof is not told of it", async () => {
  const scene = begin("hangs");
  const stop = scene.start();
  await scene.pass(5000);
  stop();
  await scene.pass(5000);
  assert.equal(scene.unreachable(), 0);
});

Deno.test("there is no deadline where there is nothing to prove it with, or none is wished", async () => {
  const scene = begin(undefined);
  scene.start();
  await scene.pass(60_000);
  assert.equal(scene.unreachable(), 0);
  const other = begin("hangs");
  other.watch.start({
    url: "http://one/",
    withinMs: 0,
    onUnreachable: () => assert.fail("There is no deadline"),
  });
  await other.pass(60_000);
  assert.equal(other.proofs.length, 0);
});
