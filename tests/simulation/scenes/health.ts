import assert from "node:assert/strict";
import { coolDown } from "./failover.ts";
import { MODEL, type Scene, type Stage } from "./stage.ts";

const ALONE = () => ({ connections: { a: {} } });

/** Makes a connection refuse dials until it cools down. */
async function loseConnection(stage: Stage, name: string): Promise<void> {
  stage.provider(name).closeIdle();
  await stage.sleep(100);
  stage.provider(name).dials.push("refuse", "refuse", "refuse");
  for (let count = 0; count < 3; count++) await stage.ask();
}

/** Waits for a new reading of the quotas, several times: some readings fail. */
async function readLimits(stage: Stage, times: number): Promise<void> {
  for (let count = 0; count < times; count++) {
    await stage.sleep(61_000);
    await stage.gateway.handler(
      new Request("http://gateway.example/v1/limits", {
        headers: { authorization: "Bearer mg_secret_of_alice" },
      }),
    ).then((response) => response.text());
  }
}

/** Scenes of cool-downs, probes, long waits and conversations. */
export const HEALTH_SCENES: Readonly<Record<string, Scene>> = {
  "a connection cools down for one caller for a second after three failures": {
    async run(stage) {
      for (let count = 0; count < 2; count++) {
        stage.plan("a", "server error");
        assert.deepEqual(await stage.served(), ["a", "b"]);
      }
      assert.deepEqual(await stage.served(), ["a"], "two are not enough");
      for (let count = 0; count < 3; count++) {
        stage.plan("a", "server error");
        assert.deepEqual(await stage.served(), ["a", "b"]);
      }
      assert.deepEqual(await stage.served(), ["b"], "it cools down");
      const bob = await stage.served({ agent: "bob" });
      assert.deepEqual(bob, ["a"], "for one caller only");
      const logged = stage.log.entries.filter(({ event }) =>
        event === "cooling_down"
      );
      assert.equal(logged.length, 1);
      assert.equal(logged[0]?.fields.connection, "a");
      assert.equal(logged[0]?.fields.token, "alice");
      await stage.sleep(1500);
      assert.deepEqual(
        await stage.served(),
        ["a"],
        "the cool-down ends",
      );
      stage.plan("a", "server error");
      assert.deepEqual(await stage.served(), ["a", "b"]);
      assert.deepEqual(
        await stage.served(),
        ["a"],
        "a success resets the count",
      );
    },
  },
  "no failure, fallback or full connection leads a request out of its regions":
    {
      setting: () => ({
        family: "A",
        connections: {
          a: { region: "eu", max_concurrent: 1 },
          b: { region: "us" },
          c: {},
          d: {
            region: "eu",
            models: [
              { id: "model-two", upstream: "model-two-of-d" },
              {
                id: MODEL,
                upstream: `${MODEL}-of-d`,
                fallbacks: ["model-two"],
              },
            ],
          },
          e: { models: [{ id: "model-two", upstream: "model-two-of-e" }] },
          f: {
            region: "us",
            models: [{ id: "model-three", upstream: "model-three-of-f" }],
          },
        },
        file: { groups: { europe: { regions: ["eu"] } } },
        tokens: { alice: { group: "europe" }, bob: { regions: ["us", "eu"] } },
      }),
      async run(stage) {
        stage.plan("a", "server error");
        assert.deepEqual(await stage.served(), ["a", "d"]);
        stage.plan("a", "server error");
        const bob = await stage.served({ agent: "bob" });
        assert.deepEqual(bob, ["a", "b"]);
        stage.plan("a", "server error");
        stage.plan("d", "server error", "server error");
        const one = await stage.ask({ protocol: "chat" });
        assert.deepEqual(stage.route(one), ["a", "d", "d"], "not to e");
        stage.plan("a", { fate: "answer", afterMs: 3000 });
        const [, full] = await Promise.all([
          stage.served(),
          stage.sleep(500).then(() => stage.served()),
        ]);
        assert.deepEqual(full, ["d"]);
        assert.equal(stage.line(stage.asked.at(-1) ?? one).region, "eu");
        const outside = await stage.ask({ model: "model-three" });
        assert.equal(outside.status, 400);
        assert.match(outside.text, /stay in the regions eu/);
        assert.deepEqual(stage.route(outside), []);
        const next = await stage.ask({ agent: "carol", model: "model-three" });
        assert.notEqual(next.status, 400);
      },
    },
  "a connection cools down for all callers after failures of two": {
    async run(stage) {
      stage.plan("a", "server error");
      await stage.ask({ agent: "alice" });
      stage.plan("a", "server error");
      await stage.ask({ agent: "bob" });
      stage.plan("a", "server error");
      await stage.ask({ agent: "alice" });
      assert.deepEqual(await stage.served({ agent: "carol" }), ["b"]);
      await stage.sleep(1500);
      assert.deepEqual(await stage.served({ agent: "carol" }), ["a"]);
      stage.plan("a", "server error");
      assert.deepEqual(await stage.served(), ["a", "b"]);
      assert.deepEqual(await stage.served(), ["a"], "the count has been reset");
      // The failures of two callers no longer count: one caller's failures are now its own.
      await coolDown(stage, "a");
      assert.deepEqual(await stage.served({ agent: "alice" }), ["b"]);
      assert.deepEqual(await stage.served({ agent: "carol" }), ["a"]);
    },
  },
  "a connection cools down for all callers after three failed dials": {
    async run(stage) {
      for (let count = 0; count < 3; count++) {
        stage.provider("a").dials.push("refuse");
        assert.deepEqual(await stage.served(), ["b"]);
      }
      assert.deepEqual(await stage.served({ agent: "bob" }), ["b"]);
      assert.equal(stage.provider("a").ledger.length, 4);
      await stage.sleep(1500);
      assert.deepEqual(await stage.served({ agent: "bob" }), ["a"]);
    },
  },
  "cool-downs double to fifteen seconds, and a success makes them short again":
    {
      async run(stage) {
        await coolDown(stage, "a");
        for (const waitMs of [1000, 2000, 4000, 8000, 15_000, 15_000]) {
          await stage.sleep(waitMs + 100);
          stage.plan("a", "server error");
          assert.deepEqual(await stage.served(), ["a", "b"], "a probe fails");
          assert.deepEqual(await stage.served(), ["b"], "it cools down again");
        }
        await stage.sleep(15_100);
        assert.deepEqual(await stage.served(), ["a"]);
        await coolDown(stage, "a");
        await stage.sleep(1100);
        assert.deepEqual(await stage.served(), ["a"]);
      },
    },
  "a connection recovers after its probe failed beside a second request": {
    setting: ALONE,
    async run(stage) {
      await coolDown(stage, "a");
      await stage.sleep(1100);
      stage.plan("a", { fate: "server error", afterMs: 1500 });
      const probe = stage.ask();
      await stage.sleep(stage.random.below(1400));
      const second = stage.ask({ agent: stage.random.pick(["alice", "bob"]) });
      await Promise.all([probe, second]);
      stage.provider("a").planned.length = 0;
      await stage.sleep(20_000);
      assert.deepEqual(await stage.served(), ["a"]);
      assert.deepEqual(await stage.served(), ["a"]);
    },
  },
  "other connections serve while a probe is under way": {
    async run(stage) {
      await coolDown(stage, "a");
      await stage.sleep(1100);
      stage.plan("a", { fate: "answer", afterMs: 1500 });
      const probe = stage.served();
      await stage.sleep(200);
      assert.deepEqual(await stage.served(), ["b"]);
      assert.deepEqual(await probe, ["a"]);
      const both = [stage.served(), stage.served()];
      assert.deepEqual((await Promise.all(both)).flat(), ["a", "a"]);
    },
  },
  "a second probe begins when the first has no result for two seconds": {
    setting: ALONE,
    async run(stage) {
      await coolDown(stage, "a");
      await stage.sleep(1100);
      stage.plan("a", "silence");
      const probe = stage.ask({ leavesAfterMs: 10_000 });
      await stage.sleep(2500);
      assert.deepEqual(await stage.served(), ["a"]);
      await probe;
    },
  },
  "the first output of a probe ends the cool-down": {
    async run(stage) {
      for (const cool of [coolDown, loseConnection]) {
        await cool(stage, "a");
        await stage.sleep(1100);
        stage.plan("a", { fate: "stall", stopsAt: "output" });
        const { protocol } = stage.provider("a");
        const probe = stage.ask({
          ...{ isStream: true, protocol, leavesAfterMs: 9000 },
        });
        await stage.sleep(1000);
        assert.deepEqual(
          await stage.served(),
          ["a"],
          "while its answer streams",
        );
        await probe;
      }
    },
  },
  "another probe follows when a probe's caller leaves": {
    async run(stage) {
      for (const cool of [coolDown, loseConnection]) {
        await cool(stage, "a");
        await stage.sleep(1100);
        stage.plan("a", "silence");
        await stage.ask({ leavesAfterMs: 2500 });
        assert.deepEqual(await stage.served(), ["a"], "the next one probes");
      }
    },
  },
  "another probe follows when a probe's dial fails": {
    async run(stage) {
      await coolDown(stage, "a");
      await stage.sleep(1100);
      stage.provider("a").closeIdle();
      await stage.sleep(100);
      stage.provider("a").dials.push("refuse");
      assert.deepEqual(await stage.served(), ["b"]);
      assert.deepEqual(await stage.served(), ["a"], "the next one probes");
    },
  },
  "another probe follows when a probe finds no slot": {
    setting: () => ({
      connections: {
        a: {
          max_concurrent: 1,
          models: ["model-one", "model-two"].map((id) => ({
            ...{ id, upstream: `${id}-of-a` },
          })),
        },
        b: {},
      },
    }),
    async run(stage) {
      await coolDown(stage, "a");
      stage.plan("a", { fate: "answer", afterMs: 3000 });
      const other = stage.ask({ model: "model-two" });
      await stage.sleep(1000);
      const { receivedMs = 0 } = stage.ledger.at(-1) ?? {};
      await stage.sleep(receivedMs + 2950 - stage.time.elapsedMs());
      const second = stage.served();
      await other;
      // A probe without a result blocks others only for two seconds.
      assert.deepEqual(await stage.served(), ["a"], "the next one probes");
      assert.deepEqual(await second, ["b"]);
    },
  },
  "the result of a request from before a cool-down does not end it": {
    async run(stage) {
      stage.plan("a", { fate: "answer", afterMs: 2600 });
      const slow = stage.served();
      await stage.sleep(100);
      await coolDown(stage, "a");
      await stage.sleep(1100);
      stage.plan("a", "server error");
      assert.deepEqual(await stage.served(), ["a", "b"]);
      await slow;
      assert.deepEqual(await stage.served(), ["b"], "it still cools down");
      await stage.sleep(2000);
      stage.plan("a", { fate: "answer", afterMs: 1500 });
      const probe = stage.served();
      await stage.sleep(200);
      assert.deepEqual(await stage.served(), ["b"], "the probe is under way");
      await probe;
    },
  },
  "the failed repeats of one request count as one failure": {
    setting: ALONE,
    async run(stage) {
      stage.plan("a", "overloaded", "overloaded", "overloaded");
      assert((await stage.ask()).status !== 200);
      assert.deepEqual(await stage.served(), ["a"], "one request has failed");
    },
  },
  "a model's failures do not affect the other models of its connection": {
    setting: () => ({
      connections: {
        a: {
          models: ["model-one", "model-two"].map((id) => ({
            ...{ id, upstream: `${id}-of-a` },
          })),
        },
        b: {},
      },
    }),
    async run(stage) {
      const kind = stage.random.pick(["server error", "rate limit"] as const);
      for (let count = 0; count < 3; count++) {
        stage.plan("a", { fate: kind, retryAfter: 30 });
        await stage.ask();
        stage.provider("a").planned.length = 0;
      }
      assert.deepEqual(await stage.served(), ["b"]);
      assert.deepEqual(await stage.served({ model: "model-two" }), ["a"]);
    },
  },
  "a probe ends the wait of a 429 with a far reset": {
    setting: ALONE,
    async run(stage) {
      stage.plan("a", { fate: "rate limit", retryAfter: 3000 });
      assert.equal((await stage.ask()).status, 429);
      const second = await stage.ask();
      assert.equal(second.status, 429);
      assert.deepEqual(stage.route(second), [], "its caller is kept away");
      assert.deepEqual(await stage.served({ agent: "bob" }), ["a"]);
      await stage.sleep(310_000);
      assert.deepEqual(await stage.served(), ["a"], "a probe is served");
      assert.deepEqual(await stage.served(), ["a"], "and ends the wait");
    },
  },
  "a reading that shows room ends a long wait, once in five minutes": {
    setting: () => ({ connections: { a: {} }, quota: 1_000_000 }),
    async run(stage) {
      const limited = { fate: "rate limit", retryAfter: 3000 } as const;
      const read = (times: number) => readLimits(stage, times);
      stage.plan("a", limited, limited);
      assert.equal((await stage.ask()).status, 429);
      assert.deepEqual(stage.route(await stage.ask()), [], "it waits");
      await read(3);
      const again = await stage.ask();
      assert.equal(again.status, 429, "the provider still refuses");
      assert.deepEqual(stage.route(again), ["a"]);
      await read(1);
      assert.deepEqual(
        stage.route(await stage.ask()),
        [],
        "readings do not count so soon",
      );
      await read(4);
      assert.deepEqual(await stage.served(), ["a"]);
    },
  },
  "no request goes to a connection whose reading shows a used-up quota": {
    setting: () => ({ connections: { a: {}, b: {} }, quota: 1_000_000 }),
    async run(stage) {
      const { quota } = stage.provider("a");
      await stage.served();
      await readLimits(stage, 2);
      assert.deepEqual(await stage.served(), ["a"], "something is left");
      quota?.charge(1_000_000);
      await readLimits(stage, 3);
      for (const agent of ["alice", "bob"]) {
        assert.deepEqual(await stage.served({ agent }), ["b"]);
      }
      quota?.giveBack();
      await readLimits(stage, 3);
      assert.deepEqual(await stage.served(), ["a"], "it came back");
    },
  },
  "a request gets a final 429 with the reset time when the only quota is used up":
    {
      setting: () => ({ connections: { a: {} }, quota: 1_000_000 }),
      async run(stage) {
        await stage.served();
        stage.provider("a").quota?.charge(1_000_000);
        await readLimits(stage, 3);
        const one = await stage.ask();
        assert.equal(one.status, 429);
        assert.deepEqual(stage.route(one), [], "nothing is sent");
        assert.equal(one.headers?.get("x-should-retry"), "false");
        const seconds = Number(one.headers?.get("retry-after"));
        assert(seconds > 60 && seconds <= 300, `${seconds}`);
      },
    },
  "a Retry-After of days counts as an hour": {
    async run(stage) {
      stage.plan("a", { fate: "rate limit", retryAfter: 100_000 });
      assert.deepEqual(await stage.served(), ["a", "b"]);
      await stage.sleep(3_590_000);
      assert.deepEqual(await stage.served(), ["b"]);
      await stage.sleep(11_000);
      assert.deepEqual(await stage.served(), ["a"], "it serves first again");
    },
  },
  "rate limits of two callers count for all, unless one was served in between":
    {
      async run(stage) {
        const limited = { fate: "rate limit", retryAfter: 20 } as const;
        for (const isServed of [true, false]) {
          stage.plan("a", limited);
          assert.deepEqual(await stage.served({ agent: "alice" }), ["a", "b"]);
          if (isServed) await stage.served({ agent: "bob" });
          stage.plan("a", limited);
          assert.deepEqual(await stage.served({ agent: "bob" }), ["a", "b"]);
          const expected = isServed ? ["a"] : ["b"];
          assert.deepEqual(await stage.served({ agent: "carol" }), expected);
          await stage.sleep(30_000);
          assert.deepEqual(await stage.served({ agent: "carol" }), ["a"]);
        }
      },
    },
  "a refused probe extends the wait of a 429 with a far reset": {
    async run(stage) {
      stage.plan("a", { fate: "rate limit", retryAfter: 3000 });
      assert.deepEqual(await stage.served(), ["a", "b"]);
      await stage.sleep(310_000);
      assert.deepEqual(
        await stage.served(),
        ["b"],
        "another connection serves",
      );
      stage.plan("a", { fate: "rate limit", retryAfter: 3000 });
      await stage.ask({ agent: "bob" });
      assert.deepEqual(await stage.served({ agent: "carol" }), ["b"]);
      await stage.sleep(3_010_000);
      assert.deepEqual(await stage.served(), ["a"]);
    },
  },
  "another probe of a far reset follows when a probe's caller leaves": {
    setting: ALONE,
    async run(stage) {
      stage.plan("a", { fate: "rate limit", retryAfter: 3000 });
      await stage.ask();
      await stage.sleep(310_000);
      stage.plan("a", "silence");
      await stage.ask({ leavesAfterMs: 2500 });
      await stage.sleep(1000);
      assert.deepEqual(await stage.served(), ["a"], "the next one probes");
    },
  },
  "a conversation stays at the connection to which it moved": {
    async run(stage) {
      const wish = {
        ...{ session: "session-moves-1", isStream: true },
        protocol: stage.random.pick(["chat", "messages", "responses"] as const),
      };
      assert.deepEqual(await stage.served(wish), ["a"]);
      stage.plan("a", "server error");
      const moved = await stage.ask(wish);
      assert.deepEqual(stage.route(moved), ["a", "b"]);
      const line = stage.line(moved);
      assert.equal(line.moved_from, "a");
      assert.equal(line.moved_for, "trouble");
      await stage.sleep(stage.random.pick([300_000, 3_000_000]));
      const later = await stage.ask(wish);
      assert.deepEqual(stage.route(later), ["b"], "it stays");
      assert.equal(stage.line(later).moved_for, undefined);
      assert.deepEqual(
        await stage.served(),
        ["a"],
        "other conversations do not move",
      );
    },
  },
  "the first of parallel requests decides where a conversation moves": {
    setting: () => ({ connections: { a: {}, b: {}, c: {} } }),
    async run(stage) {
      const wish = { session: "session-parallel-1", protocol: "chat" } as const;
      await stage.served(wish);
      stage.plan("a", { fate: "server error", afterMs: 10 });
      stage.plan("a", { fate: "server error", afterMs: 10 });
      stage.plan("b", { fate: "answer", afterMs: 100 });
      stage.plan("b", { fate: "server error", afterMs: 900 });
      const first = stage.served(wish);
      const second = stage.served(wish);
      const routes = [await first, await second].map((one) => one.at(-1));
      assert.deepEqual(new Set(routes), new Set(["b", "c"]));
      assert.deepEqual(await stage.served(wish), ["b"]);
    },
  },
};
