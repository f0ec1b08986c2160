import { acceptAll } from "../../../src/http1/deno/accept_all.ts";
import assert from "node:assert/strict";
import { createFakeTimers } from "../../support/fakes/fake_timers.ts";
import { createMemoryLog } from "../../support/fakes/memory_log.ts";
import { nextTurn } from "../../support/settle.ts";

const OUT_OF_DESCRIPTORS = new Error("Too many open files");

/** A listener whose connections and failures the test controls. */
function begin() {
  const timers = createFakeTimers();
  const log = createMemoryLog();
  const sockets: unknown[] = [];
  let tries = 0;
  let shortages = 0;
  let next = Promise.withResolvers<Deno.TcpConn>();
  const addr = { transport: "tcp", hostname: "127.0.0.1", port: 1 } as const;
  const accepting = acceptAll({
    addr,
    close: () => next.reject(new Deno.errors.BadResource()),
    accept() {
      tries += 1;
      return next.promise;
    },
  }, {
    onSocket: (socket) => void sockets.push(socket),
    onShortage: () => shortages += 1,
    timers,
    log,
  });
  const settle = async (end: (promise: typeof next) => void) => {
    const last = next;
    next = Promise.withResolvers<Deno.TcpConn>();
    end(last);
    await nextTurn();
  };
  return {
    timers,
    log,
    sockets,
    tries: () => tries,
    shortages: () => shortages,
    connect: () =>
      settle(({ resolve }) =>
        resolve(Object.assign(Object.create(null), { setNoDelay() {} }))
      ),
    fail: (error: Error) => settle(({ reject }) => reject(error)),
    async close() {
      // No code waits for it during a pause.
      next.promise.catch(() => {});
      await accepting.close();
    },
  };
}

Deno.test("acceptAll() hands on each connection until the listener is closed", async () => {
  const { connect, sockets, log, close } = begin();
  await connect();
  await connect();
  assert.equal(sockets.length, 2);
  await close();
  assert.deepEqual(log.entries, []);
});

Deno.test("acceptAll() tries again with growing pauses while the platform refuses, and logs the first failure and the recovery", async () => {
  const { connect, fail, tries, shortages, timers, log, sockets, close } =
    begin();
  for (const ms of [100, 200, 400, 800, 1_600, 2_000, 2_000]) {
    await fail(OUT_OF_DESCRIPTORS);
    const before = tries();
    timers.advance(ms - 1);
    await nextTurn();
    assert.equal(tries(), before);
    timers.advance(1);
    await nextTurn();
    assert.equal(tries(), before + 1);
  }
  assert.equal(shortages(), 7);
  assert.deepEqual(log.entries, [{
    level: "error",
    event: "listener_lost",
    fields: { reason: "Too many open files" },
  }]);
  await connect();
  assert.equal(sockets.length, 1);
  assert.equal(log.entries[1]?.event, "listening_again");
  await fail(OUT_OF_DESCRIPTORS);
  assert.equal(timers.untilNextMs, 100);
  await close();
  assert.equal(timers.running, 0);
});

Deno.test("acceptAll() goes on at once after a caller who left before its connection was accepted", async () => {
  const { connect, fail, timers, log, sockets, close } = begin();
  await fail(new Deno.errors.ConnectionAborted());
  await fail(new Deno.errors.ConnectionReset());
  assert.equal(timers.running, 0);
  await connect();
  assert.equal(sockets.length, 1);
  assert.deepEqual(log.entries, []);
  await close();
});
