import assert from "node:assert/strict";
import { crowd, loggedOf, statuses, usageOf } from "./counted.ts";
import type { Scene, Stage } from "./stage.ts";

const HOUR_MS = 3600_000;

/** The time in which gathered changes reach the store and are confirmed, in milliseconds. */
const SETTLED_MS = 500;

/** The time in which gateways notice that the store is back, in milliseconds. */
const BACK_MS = 8000;

type Limit = Readonly<Record<string, unknown>>;

/** Returns the setting of two gateways with a store, in which `alice` has limits. */
function sharing(...limits: readonly Limit[]) {
  return () => ({
    replicas: 2,
    ...limits.length === 0 ? {} : { tokens: { alice: { limits } } },
  });
}

/** Plans answers that take `afterMs`. */
function slow(stage: Stage, afterMs: number, count = 1): void {
  const one = { fate: "answer", afterMs } as const;
  stage.plan("a", ...Array.from({ length: count }, () => one));
}

/** Checks that `/usage` of every gateway equals the log. */
async function checkUsage(stage: Stage, agent = "alice"): Promise<void> {
  await stage.sleep(SETTLED_MS);
  for (const at of stage.replicas.keys()) {
    const used = await usageOf(stage, agent, at);
    const logged = loggedOf(stage, agent);
    assert.deepEqual(used, { ...used, ...logged }, `at gateway ${at}`);
  }
}

/** Makes the store unreachable for a while. */
async function loseStore(stage: Stage, ms: number): Promise<void> {
  stage.store.restart(ms, stage.store.data.snapshot());
  await stage.sleep(10);
}

/** Checks that a new limit and a restored one include earlier requests. */
export async function limitAgain(
  stage: Stage,
  configure: (limits: readonly Limit[]) => Promise<void>,
): Promise<void> {
  const limits = [{ window: "month", requests: 12 }];
  const askAll = async (count: number) => {
    const asked = [];
    for (let at = 0; at < count; at++) asked.push(await stage.ask());
    await stage.sleep(SETTLED_MS);
    return statuses(asked);
  };
  assert(!(await askAll(11)).includes(429));
  await configure(limits);
  assert.deepEqual(await askAll(4), [200, 429, 429, 429]);
  await configure([]);
  assert.deepEqual(await askAll(2), [200, 200]);
  await configure(limits);
  assert.deepEqual(await askAll(4), [429, 429, 429, 429]);
  const near = stage.log.entries.filter(({ event }) => event === "limit_near");
  assert.equal(near.length, 1, "`limit_near` is logged once");
  // Without the limit, more requests are served than it allows.
  await configure([]);
}

/** Scenes of gateways that share a store. */
export const STORE_SCENES: Readonly<Record<string, Scene>> = {
  "gateways share a limit on requests": {
    setting: sharing({ window: "hour", requests: 6 }),
    async run(stage) {
      slow(stage, 3000, 6);
      const all = await crowd(stage, 9, {});
      assert.deepEqual(
        statuses(all),
        [200, 200, 200, 200, 200, 200, 429, 429, 429],
      );
      await checkUsage(stage);
      await stage.sleep(HOUR_MS - stage.time.now() % HOUR_MS + 5000);
      const next = [];
      for (let count = 0; count < 7; count++) {
        next.push(await stage.ask({ at: count % 2 }));
      }
      assert.deepEqual(statuses(next), [200, 200, 200, 200, 200, 200, 429]);
      await checkUsage(stage);
    },
  },
  "gateways share a limit on tokens": {
    setting: sharing({ window: "day", tokens: 10_000 }),
    async run(stage) {
      slow(stage, 3000, 2);
      const both = await Promise.all([0, 1].map((at) => stage.ask({ at })));
      assert.deepEqual(statuses(both), [200, 200]);
      await stage.sleep(SETTLED_MS);
      for (let turn = 0;; turn++) {
        assert(turn < 100);
        // The unused part of a reservation is free at once.
        const { status } = await stage.ask({ at: turn % 4 < 2 ? 0 : 1 });
        if (turn % 2 === 1) await stage.sleep(SETTLED_MS);
        const { input_tokens, output_tokens } = loggedOf(stage, "alice");
        const used = input_tokens + output_tokens;
        if (status === 200) continue;
        // The next request may need more than the rest.
        assert(used > 9000, `${used} of 10,000 are used`);
        break;
      }
      await checkUsage(stage);
    },
  },
  "every request counts once although the store's connections break at random":
    {
      setting: sharing({ window: "month", requests: 1000 }),
      async run(stage) {
        const { random } = stage;
        for (let round = 0; round < 8; round++) {
          stage.store.slow(random.pick([1, 8, 15]), 5000);
          const some = crowd(stage, 1 + random.below(4), {});
          for (let count = 0; count < 3; count++) {
            await stage.sleep(random.below(900));
            stage.store.cut(random.below(2) === 0);
          }
          await some;
          await stage.sleep(random.below(300));
          stage.store.cut(true);
          await stage.sleep(BACK_MS);
        }
        await checkUsage(stage);
      },
    },
  "a batch whose reply is lost counts once, even after a long absence": {
    setting: sharing({ window: "month", requests: 1000 }),
    async run(stage) {
      for (let round = 0; round < 3; round++) {
        stage.store.slow(18, 5000);
        await stage.ask({ at: 0 });
        // The batch leaves after 100 ms, arrives at 118, and its reply is back at 136.
        await stage.sleep(119 + stage.random.below(16));
        await loseStore(stage, stage.random.pick([100, 20_000, 100_000]));
        await stage.sleep(110_000);
      }
      await checkUsage(stage);
    },
  },
  "a gateway counts alone while the store is away": {
    setting: sharing({ window: "hour", requests: 8 }),
    async run(stage) {
      await stage.served({ at: 0 });
      await stage.served({ at: 0 });
      await stage.served({ at: 1 });
      await checkUsage(stage);
      stage.store.goAway();
      const isConnected = stage.replica.running?.isConnected;
      assert.equal(isConnected, false, "it is noticed without a command");
      const { random } = stage;
      const all = [];
      for (let count = 0; count < 7; count++) {
        all.push(await stage.ask({ at: 0 }));
        await stage.sleep(random.below(300));
      }
      // It knows its own two requests and the other gateway's one.
      assert.deepEqual(
        statuses(all),
        [200, 200, 200, 200, 200, 429, 429],
        "it keeps the limit",
      );
      stage.store.recover();
      await stage.sleep(BACK_MS);
      await checkUsage(stage);
      assert.equal((await stage.ask({ at: 1 })).status, 429);
    },
  },
  "running requests keep their reservations while the store is away": {
    setting: sharing({ window: "hour", requests: 2 }),
    async run(stage) {
      await loseStore(stage, 3000);
      slow(stage, 40_000, 2);
      const running = [stage.ask({ at: 0 }), stage.ask({ at: 0 })];
      await stage.sleep(200);
      assert.equal((await stage.ask({ at: 0 })).status, 429);
      await stage.sleep(BACK_MS);
      assert.equal((await stage.ask({ at: 1 })).status, 429, "elsewhere, too");
      assert.deepEqual(statuses(await Promise.all(running)), [200, 200]);
      await checkUsage(stage);
    },
  },
  "a store that comes back empty gets the reservations of running requests": {
    setting: sharing({ window: "hour", requests: 2 }),
    async run(stage) {
      slow(stage, 60_000, 2);
      const running = [stage.ask({ at: 0 }), stage.ask({ at: 0 })];
      await stage.sleep(1000);
      stage.store.restart(500);
      await stage.sleep(BACK_MS);
      assert.equal((await stage.ask({ at: 1 })).status, 429);
      await Promise.all(running);
    },
  },
  "a long answer keeps its reservation": {
    setting: () => ({
      ...sharing({ window: "day", requests: 1 })(),
      file: { timeouts: { first_byte: 900_000, idle: 900_000 } },
    }),
    async run(stage) {
      slow(stage, 500_000);
      const running = stage.ask({ at: 0, isStream: false });
      for (let count = 0; count < 4; count++) {
        await stage.sleep(110_000);
        assert.equal((await stage.ask({ at: 1 })).status, 429);
      }
      assert.equal((await running).status, 200);
    },
  },
  "the reservations of a crashed gateway end": {
    setting: sharing({ window: "day", requests: 2 }),
    async run(stage) {
      slow(stage, 15_000, 2);
      const lost = [stage.ask({ at: 0 }), stage.ask({ at: 0 })];
      await stage.sleep(1000);
      stage.replica.crash();
      await Promise.all(lost);
      assert.equal((await stage.ask({ at: 1 })).status, 429);
      stage.provider("a").planned.length = 0;
      await stage.sleep(125_000);
      assert.equal((await stage.ask({ at: 1 })).status, 200);
    },
  },
  "the reservation of an abandoned request ends": {
    setting: sharing({ window: "day", tokens: 9000 }),
    async run(stage) {
      for (let count = 0; count < 3; count++) {
        stage.plan("a", "silence");
        await stage.ask({ at: 0, protocol: "chat", leavesAfterMs: 2500 });
        await stage.sleep(SETTLED_MS);
      }
      stage.provider("a").planned.length = 0;
      assert.equal((await stage.ask({ at: 1 })).status, 200);
      await checkUsage(stage);
    },
  },
  "a reservation whose reply comes too late does not count": {
    setting: sharing({ window: "hour", requests: 2 }),
    async run(stage) {
      await stage.served({ at: 0 });
      await stage.served({ at: 0 });
      await stage.sleep(SETTLED_MS);
      // The store loses its data, and the gateway does not know yet.
      stage.store.restart(100);
      await stage.sleep(BACK_MS);
      stage.store.pause(300);
      const startedMs = stage.time.elapsedMs();
      const one = await stage.ask({ at: 0 });
      assert.equal(one.status, 429, "it decides alone");
      assert(stage.time.elapsedMs() - startedMs < 1000 + 60);
      await stage.sleep(1000);
      slow(stage, 2000, 2);
      const both = [stage.ask({ at: 1 }), stage.ask({ at: 1 })];
      assert.deepEqual(statuses(await Promise.all(both)), [200, 200]);
    },
  },
  "a request waits for a slow store only until its deadline": {
    setting: sharing({ window: "hour", requests: 1000 }),
    async run(stage) {
      await stage.served({ at: 0 });
      stage.store.slow(stage.random.pick([60, 400]), 20_000);
      for (let count = 0; count < 6; count++) {
        const startedMs = stage.time.elapsedMs();
        const one = await stage.ask({ at: 0, protocol: "chat" });
        const [entry] = stage.entries(one);
        assert(entry);
        // A dial takes 80 ms, a write 40.
        assert(entry.receivedMs - startedMs < 60 + 2 * 40 + 120);
        if (count === 5) {
          assert(
            entry.receivedMs - startedMs < 120 + 40,
            "no wait at all",
          );
        }
        await stage.sleep(200);
      }
      assert(
        stage.log.entries.some(({ event, fields }) =>
          event === "shared_store_away" && fields.failure === "silent"
        ),
        "the log says so",
      );
      await stage.sleep(30_000);
      const ended = stage.log.entries.filter(({ event }) =>
        event === "shared_store_connected"
      );
      assert(ended.length >= 3, "it is back");
      await checkUsage(stage);
    },
  },
  "a store that refuses commands counts as away until it accepts them": {
    setting: sharing({ window: "hour", requests: 1000 }),
    async run(stage) {
      for (
        const error of [
          "OOM command not allowed when used memory > 'maxmemory'.",
          "READONLY You can't write against a read only replica.",
        ]
      ) {
        await stage.served({ at: 0 });
        stage.store.refuse(error, 10_000);
        await stage.served({ at: 0 });
        await stage.sleep(1000);
        const state = () => stage.replicas[0]?.running?.isConnected;
        assert.equal(state(), false);
        await stage.served({ at: 0 });
        await stage.sleep(12_000);
        assert.equal(state(), true, "it is probed");
      }
      await checkUsage(stage);
    },
  },
  "a request that runs into the next hour counts once": {
    setting: sharing(
      { window: "hour", requests: 5 },
      { window: "day", requests: 100 },
    ),
    async run(stage) {
      await stage.served({ at: 0 });
      await stage.sleep(HOUR_MS - stage.time.now() % HOUR_MS - 3000);
      slow(stage, 8000);
      const running = stage.served({ at: 0 });
      if (stage.random.below(2) === 0) await loseStore(stage, 20_000);
      await running;
      await stage.sleep(40_000);
      await checkUsage(stage);
    },
  },
  "requests of two hours without the store count in their own hours": {
    setting: sharing({ window: "hour", requests: 50 }),
    async run(stage) {
      await stage.served({ at: 0 });
      await stage.sleep(SETTLED_MS);
      stage.store.goAway();
      await crowd(stage, 4, { at: 0 });
      await stage.sleep(2 * HOUR_MS);
      await crowd(stage, 3, { at: 0 });
      stage.store.recover();
      await stage.sleep(BACK_MS);
      await checkUsage(stage);
    },
  },
  "a draining gateway sends its counts to the store": {
    setting: sharing({ window: "hour", requests: 4 }),
    async run(stage) {
      slow(stage, 1500);
      const last = stage.ask({ at: 0 });
      await stage.sleep(100);
      const startedMs = stage.time.elapsedMs();
      const stopping = stage.replica.stop();
      await last;
      await stopping;
      assert(
        stage.time.elapsedMs() - startedMs < 4500,
        "it waits for nothing else",
      );
      const used = await usageOf(stage, "alice", 1);
      assert.equal(used.requests, 1);
    },
  },
  "a new or restored limit includes earlier requests, in every gateway": {
    setting: sharing(),
    run: (stage) => limitAgain(stage, (limits) => stage.limit(limits)),
  },
  "a new or restored limit includes earlier requests, after a restart": {
    setting: () => ({ replicas: 1 }),
    run: (stage) =>
      limitAgain(stage, async (limits) => {
        await stage.replica.stop();
        await stage.limit(limits);
        await stage.replica.start();
        await stage.sleep(1000);
      }),
  },
  "gateways share their cool-downs": {
    setting: sharing(),
    async run(stage) {
      for (let count = 0; count < 3; count++) {
        stage.provider("a").dials.push("refuse");
        assert.deepEqual(await stage.served({ at: 0 }), ["b"]);
      }
      await stage.sleep(300);
      assert.deepEqual(await stage.served({ at: 1, agent: "bob" }), ["b"]);
      await stage.sleep(2000);
      assert.deepEqual(await stage.served({ at: 1, agent: "bob" }), ["a"]);
    },
  },
  "every gateway serves a moved conversation at its new connection": {
    setting: sharing(),
    async run(stage) {
      const wish = { session: "session-moves-1", isStream: true };
      assert.deepEqual(await stage.served({ at: 0, ...wish }), ["a"]);
      stage.plan("a", "server error");
      assert.deepEqual(await stage.served({ at: 0, ...wish }), ["a", "b"]);
      await stage.sleep(300);
      assert.deepEqual(await stage.served({ at: 1, ...wish }), ["b"]);
      assert.deepEqual(
        await stage.served({ at: 1 }),
        ["a"],
        "other conversations stay",
      );
    },
  },
};
