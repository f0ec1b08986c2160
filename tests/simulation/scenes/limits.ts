import assert from "node:assert/strict";
import { crowd, loggedOf, statuses, usageOf, withLimits } from "./counted.ts";
import type { Scene, Setting, Stage } from "./stage.ts";
import { limitAgain } from "./store.ts";

const HOUR_MS = 3600_000;

/** One gateway, threads of one process, and replicas with a store. */
const SHARED: readonly Pick<Setting, "threads" | "replicas">[] = [
  {},
  { threads: 3 },
  { replicas: 3 },
];

/** Scenes of limits, reservations, counts and slots. */
export const LIMIT_SCENES: Readonly<Record<string, Scene>> = {
  "a limit on requests admits exactly its number": {
    setting: withLimits(
      { window: "hour", requests: 5 },
      { window: "day", requests: 100 },
    ),
    async run(stage) {
      const first = await stage.ask();
      assert.equal(first.headers?.get("x-gateway-limit-warning"), null);
      const all = await crowd(stage, 6, {});
      assert.deepEqual(statuses(all), [200, 200, 200, 200, 429, 429]);
      const warned = all.filter(({ headers }) =>
        headers?.get("x-gateway-limit-warning") !== null
      );
      assert(warned.length >= 2, "the last ones are warned");
      const restMs = () => HOUR_MS - stage.time.now() % HOUR_MS;
      await stage.sleep(restMs() - 1000);
      assert.equal((await stage.ask()).status, 429, "until the hour is over");
      assert.deepEqual(await stage.served({ agent: "bob" }), ["a"]);
      await stage.sleep(restMs());
      const next = await Promise.all([1, 2, 3, 4, 5, 6].map(() => stage.ask()));
      assert.deepEqual(statuses(next), [200, 200, 200, 200, 200, 429]);
      const refused = next.find(({ status }) => status === 429);
      assert.equal(refused?.headers?.get("retry-after"), "5", "a hold may end");
      assert.equal((await stage.ask()).status, 429, "all are counted");
    },
  },
  ...Object.fromEntries(SHARED.map((shared) => [
    `each threshold of a limit sends one alert, ${JSON.stringify(shared)}`,
    {
      setting: () => ({
        tokens: { alice: { limits: [{ window: "day", requests: 10 }] } },
        ...{ ...shared, alerts: true, quota: 1_000_000 },
      }),
      async run(stage: Stage) {
        const { receiver } = stage;
        if (stage.hasStore) await stage.sleep(1000);
        // A receiver that fails delays no request.
        receiver.statuses.push(503, 0, 503);
        await crowd(stage, 7, {});
        await stage.sleep(6000);
        assert.equal(receiver.requests, 0, "70 % sends no alert");
        await crowd(stage, 1, {});
        await stage.sleep(40_000);
        assert.equal(receiver.requests, 4, "three tries failed");
        await crowd(stage, 6, {});
        await stage.sleep(6000);
        await crowd(stage, 4, {});
        await stage.sleep(6000);
        const own = receiver.received.filter(({ kind }) => kind === "limit");
        const thresholds = own.map(({ threshold }) => Number(threshold));
        assert.deepEqual(
          thresholds.sort((one, other) => one - other),
          [80, 90, 100],
          "each threshold once",
        );
        assert.match(
          String(own[0]?.text),
          /^alice has used 80 % of 10 requests per day. It resets at/,
        );
        stage.provider("a").quota?.charge(950_000);
        for (let minutes = 0; minutes < 5; minutes++) {
          await stage.sleep(70_000);
          await stage.ask({ agent: "bob" });
        }
        await stage.sleep(6000);
        const plans = receiver.received.filter(({ kind }) => kind === "quota");
        assert.deepEqual(
          plans.map(({ threshold }) => Number(threshold)).sort(),
          [80, 90],
          "both thresholds, crossed at once",
        );
        assert.match(
          String(plans[0]?.text),
          /^The plan of a has used 9\d % of its window five_hour .*, over \d\d %.* At this pace it ends on \w+day, /,
        );
      },
    },
  ])),
  ...Object.fromEntries(SHARED.map((shared) => [
    `a session's limit stops only that session, ${JSON.stringify(shared)}`,
    {
      setting: () => ({
        ...withLimits({ per: "session", requests: 5 })(),
        ...shared,
      }),
      async run(stage: Stage) {
        if (stage.hasStore) await stage.sleep(1000);
        const session = "session-runaway-1";
        const parts = [
          crowd(stage, 4, { session }),
          crowd(stage, 4, { session: "session-sub-2", parent: session }),
        ];
        const all = (await Promise.all(parts)).flat();
        await stage.sleep(6000);
        // Room that reservations held may be free now.
        all.push(...await crowd(stage, 5, { session }));
        const served = all.filter(({ status }) => status === 200);
        assert.equal(served.length, 5);
        const refused = all.find(({ status }) => status === 429);
        assert.match(refused?.text ?? "", /this session \(.*session-runaway-1/);
        const others = await crowd(stage, 5, { session: "session-work-2" });
        assert.deepEqual(statuses(others), [200, 200, 200, 200, 200]);
        const bob = await stage.ask({ agent: "bob", session });
        assert.equal(bob.status, 200, "another caller's session counts alone");
        const near = stage.log.entries.filter(({ event, fields }) =>
          event === "limit_near" && /per session/.test(String(fields.limit))
        );
        assert.equal(near.length, 2, "once for each session");
        // Each thread lists the sessions of all threads.
        const at = stage.random.below(shared.threads ?? 1);
        const { limits } = await read(stage, "usage", "alice", at);
        if (shared.replicas === undefined) {
          assert.deepEqual(
            limits.map(({ session, used }: Listed) => [session, used]),
            [[null, 0], [session, 5], ["session-work-2", 5]],
          );
        }
      },
    },
  ])),
  ...Object.fromEntries(SHARED.map((shared) => [
    `a session's window ends a day after its first request, ${
      JSON.stringify(shared)
    }`,
    {
      setting: () => ({
        ...withLimits({ per: "session", requests: 4 })(),
        ...shared,
      }),
      async run(stage: Stage) {
        if (stage.hasStore) await stage.sleep(1000);
        const session = "session-night-1";
        const untilMidnightMs = 24 * HOUR_MS -
          stage.time.now() % (24 * HOUR_MS);
        const restMs = untilMidnightMs - 600_000;
        await stage.sleep(restMs > 0 ? restMs : restMs + 24 * HOUR_MS);
        const firstMs = stage.time.now();
        assert.equal((await stage.ask({ session })).status, 200);
        // Later requests do not move the end.
        await stage.sleep(300_000);
        assert.deepEqual(
          statuses(await crowd(stage, 3, { session })),
          [200, 200, 200],
        );
        await stage.sleep(20 * 60_000);
        const late = await stage.ask({ session });
        assert.equal(late.status, 429, "after midnight");
        const waitMs = 1000 * Number(late.headers?.get("retry-after"));
        const endMs = stage.time.now() + waitMs - firstMs;
        assert(Math.abs(endMs - 24 * HOUR_MS) < 10_000, `${endMs}`);
        await stage.sleep(firstMs + 23.9 * HOUR_MS - stage.time.now());
        assert.equal((await stage.ask({ session })).status, 429);
        await stage.sleep(firstMs + 24.1 * HOUR_MS - stage.time.now());
        const next = await crowd(stage, 4, { session });
        assert.deepEqual(statuses(next), [200, 200, 200, 200]);
        await stage.sleep(6000);
        assert.equal((await stage.ask({ session })).status, 429);
      },
    },
  ])),
  "a failed or abandoned request counts once": {
    setting: withLimits({ window: "hour", requests: 4 }),
    async run(stage) {
      const { random } = stage;
      stage.plan("a", random.pick(["bad request", "server error"] as const));
      await stage.ask({ protocol: "messages" });
      stage.plan("a", "silence");
      await stage.ask({ leavesAfterMs: 2500 });
      await stage.sleep(1000);
      const { estimated_requests } = await usageOf(stage, "alice");
      assert.equal(estimated_requests, 1, "an abandoned request counts");
      const rest = await crowd(stage, 4, {});
      assert.deepEqual(statuses(rest), [200, 200, 429, 429]);
      assert.deepEqual(await usageOf(stage, "alice"), {
        ...await usageOf(stage, "alice"),
        ...loggedOf(stage, "alice"),
      });
    },
  },
  "a caller that leaves during the check of its limits uses nothing": {
    setting: () => ({
      ...withLimits({ window: "hour", requests: 1 })(),
      threads: 2,
    }),
    async run(stage) {
      assert(stage.process);
      stage.process.messageMs = 100;
      await stage.ask({ leavesAfterMs: 120 });
      await stage.sleep(1000);
      await stage.served();
    },
  },
  "a request that cannot be translated does not count": {
    setting: () => ({
      ...withLimits({ window: "hour", requests: 1 })(),
      ...{ connections: { a: { strict: true } }, family: "A" },
    }),
    async run(stage) {
      const wish = { protocol: "messages", fields: { top_k: 3 } } as const;
      const one = await stage.ask(wish);
      assert.equal(one.status, 400);
      assert.deepEqual(stage.route(one), []);
      await stage.served();
      assert.equal((await stage.ask()).status, 429);
    },
  },
  "a limit on tokens counts the used tokens and is exceeded only a little": {
    setting: withLimits({ window: "day", tokens: 9000 }),
    async run(stage) {
      for (let count = 0; count < 30; count++) {
        await crowd(stage, 1 + stage.random.below(3), {});
      }
      const { input_tokens, output_tokens } = await usageOf(stage, "alice");
      const used = input_tokens + output_tokens;
      assert(used >= 5000, `a limit of 9000 is not full at ${used}`);
      assert(used <= 9000 + 3 * 2400, `${used} of 9000`);
      assert.equal((await stage.ask()).status, 429);
    },
  },
  "a limit on tokens admits as many parallel requests as it can reserve": {
    setting: withLimits({ window: "day", tokens: 9000 }),
    async run(stage) {
      const slow = { fate: "answer", afterMs: 5000 } as const;
      stage.plan("a", slow, slow, slow, slow, slow);
      const all = await crowd(stage, 5, { protocol: "chat" });
      let held = 0;
      for (const one of all.sort((a, b) => a.number - b.number)) {
        // The reservation is a token for four bytes of the body, and 4,096 for the answer.
        const needed = Math.ceil(Number(stage.line(one).bytes_in) / 4) + 4096;
        const isHeld = held + needed <= 9000;
        if (isHeld) held += needed;
        assert.equal(one.status, isHeld ? 200 : 429, `#${one.number}`);
      }
      stage.provider("a").planned.length = 0;
      assert.equal((await stage.ask()).status, 200, "the rest comes back");
    },
  },
  "a group's limit counts the requests of all its members": {
    setting: () => ({
      tokens: { alice: { group: "team" }, bob: { group: "team" } },
      file: {
        groups: { team: { limits: [{ window: "hour", requests: 3 }] } },
      },
    }),
    async run(stage) {
      await stage.served({ agent: "alice" });
      await stage.served({ agent: "bob" });
      const both = [stage.ask({ agent: "alice" }), stage.ask({ agent: "bob" })];
      assert.deepEqual(statuses(await Promise.all(both)), [200, 429]);
      await stage.served({ agent: "carol" });
    },
  },
  "a reload keeps the reservations of running requests": {
    setting: withLimits({ window: "hour", requests: 4 }),
    async run(stage) {
      stage.plan("a", { fate: "answer", afterMs: 4000 });
      stage.plan("a", { fate: "answer", afterMs: 9000 });
      const running = [stage.ask(), stage.ask()];
      await stage.sleep(stage.random.below(3000));
      await stage.reload();
      await stage.sleep(stage.random.below(3000));
      if (stage.random.below(2) === 0) await stage.reload();
      await Promise.all(running);
      const rest = await crowd(stage, 4, {});
      assert.deepEqual(statuses(rest), [200, 200, 429, 429]);
      assert.equal((await usageOf(stage, "alice")).requests, 4);
    },
  },
  "a new or restored limit includes earlier requests": {
    run: (stage) => limitAgain(stage, (limits) => stage.limit(limits)),
  },
  "a limit on a share of a quota admits requests until the share is used": {
    setting: (random) => ({
      connections: { a: {} },
      tokens: {
        alice: {
          limits: [{ connection: "a", window: "five_hour", share: 0.4 }],
        },
      },
      quota: 60_000,
      // Replicas without a store know only their own part.
      ...random.pick([{}, { threads: 2 }]),
    }),
    async run(stage) {
      if (stage.hasStore) await stage.sleep(1000);
      const { quota } = stage.provider("a");
      assert(quota);
      const tokensOf = (agent: string) =>
        stage.asked.filter((one) => one.agent.name === agent)
          .flatMap((one) => stage.entries(one))
          .reduce((sum, { charged = 0 }) => sum + charged, 0);
      /** Returns the part of the quota that a token used, from its part of all charged tokens. */
      const partOf = (agent: string) => {
        const all = tokensOf("alice") + tokensOf("bob");
        return quota.used / quota.limit * tokensOf(agent) / all;
      };
      await stage.served({ agent: "alice" });
      await stage.served({ agent: "bob" });
      let admitted = 0;
      for (;;) {
        // A reading is kept for a minute.
        await stage.sleep(61_000);
        await read(stage, "limits");
        const before = partOf("alice");
        const one = await stage.ask({ agent: "alice" });
        if (one.status === 429) {
          assert(before > 0.32, `refused at ${before}`);
          break;
        }
        // Some readings fail.
        assert(before < 0.56, `admitted at ${before}`);
        if (admitted++ % 3 === 0) await stage.ask({ agent: "bob" });
      }
      assert(admitted > 5);
      // Some readings fail; the usage has the last one for a minute.
      for (let isRead = false; !isRead;) {
        await stage.sleep(61_000);
        const { data } = await read(stage, "limits");
        isRead = data?.[0]?.status === "ok";
      }
      for (const agent of ["alice", "bob"]) {
        const [connection] = (await read(stage, "usage", agent)).connections;
        const [{ your_percent, used_percent }] = connection.limits;
        const part = 100 * partOf(agent);
        // It is an estimate: a bucket of time at the window's edge counts in part.
        assert(Math.abs(your_percent - part) < 8, `${your_percent}, ${part}`);
        assert(Math.abs(used_percent - 100 * quota.used / quota.limit) < 1.5);
      }
      const [limit] = (await read(stage, "usage")).limits;
      assert.equal(limit.limit, 0.4);
      assert(Math.abs(limit.used - partOf("alice")) < 0.08);
      const rest = Math.max(0, limit.limit - limit.used);
      assert(Math.abs(limit.remaining - rest) < 1e-9);
      await stage.sleep(5 * HOUR_MS);
      await read(stage, "limits");
      await stage.served({ agent: "alice" });
    },
  },
  "the slots of a connection and of a token are freed however a request ends": {
    setting: () => ({
      connections: { a: { max_concurrent: 1 }, b: { max_concurrent: 1 } },
      tokens: { alice: { max_concurrent: 2 } },
    }),
    async run(stage) {
      const { random } = stage;
      for (let round = 0; round < 5; round++) {
        const fate = random.pick(["answer", "reset within", "stall"] as const);
        stage.plan("a", { fate, stopsAt: "output", afterMs: 500 });
        stage.plan("b", { fate: "answer", afterMs: 500 });
        const leaves = random.below(2) === 0 ? { leavesAfterMs: 2400 } : {};
        const some = [
          stage.ask({ agent: "alice", isStream: true, ...leaves }),
          stage.ask({ agent: "alice", isStream: true }),
        ];
        await stage.sleep(300);
        assert.equal((await stage.ask()).status, 429, "the token has two");
        assert.equal((await stage.ask({ agent: "bob" })).status, 503);
        await Promise.all(some);
        await stage.sleep(4000);
        for (const provider of stage.providers) provider.planned.length = 0;
      }
      await stage.sleep(20_000);
      const pair = await crowd(stage, 2, { isStream: false });
      assert.deepEqual(statuses(pair), [200, 200]);
      assert.equal(stage.gateway.state().inFlight, 0);
    },
  },
  "the gateway's slots are freed after refused requests": {
    setting: () => ({
      file: { server: { max_concurrent_requests: 3 } },
      tokens: {
        alice: { max_concurrent: 1 },
        bob: { max_concurrent: 3 },
        carol: { max_concurrent: 3 },
      },
    }),
    async run(stage) {
      for (let round = 0; round < 4; round++) {
        stage.plan("a", { fate: "answer", afterMs: 1000 });
        const some = [stage.ask(), stage.ask(), stage.ask()];
        assert.deepEqual(statuses(await Promise.all(some)), [200, 429, 429]);
      }
      const slow = { fate: "answer", afterMs: 1000 } as const;
      stage.plan("a", slow, slow, slow);
      const all = ["bob", "carol", "bob", "carol"].map((agent) =>
        stage.ask({ agent })
      );
      assert.deepEqual(statuses(await Promise.all(all)), [200, 200, 200, 503]);
    },
  },
  "a request that its limit refuses takes no slot": {
    setting: () => ({
      connections: { a: { max_concurrent: 1 } },
      tokens: { alice: { limits: [{ window: "hour", requests: 1 }] } },
    }),
    async run(stage) {
      for (let count = 0; count < 4; count++) await stage.ask();
      assert.deepEqual(await stage.served({ agent: "bob" }), ["a"]);
    },
  },
  "a request that its limit refuses does not probe": {
    setting: withLimits({ window: "hour", requests: 3 }),
    async run(stage) {
      for (const agent of ["alice", "bob", "alice"]) {
        stage.plan("a", "server error");
        await stage.ask({ agent });
      }
      await stage.ask();
      await stage.sleep(1100);
      assert.equal((await stage.ask()).status, 429);
      assert.deepEqual(await stage.served({ agent: "bob" }), ["a"]);
    },
  },
  "`/usage` equals the log": {
    setting: withLimits({ window: "month", requests: 1000 }),
    async run(stage) {
      for (let count = 0; count < 12; count++) {
        const fate = stage.random.pick(
          ["answer", "answer", "server error", "reset within"] as const,
        );
        stage.plan("a", fate);
        await stage.ask({ agent: stage.random.pick(["alice", "bob"]) });
      }
      const hung = stage.provider("a");
      hung.planned.length = 0;
      for (const agent of ["alice", "bob"]) {
        const used = await usageOf(stage, agent);
        assert.deepEqual(used, { ...used, ...loggedOf(stage, agent) });
      }
    },
  },
  "a drain ends with the last request": {
    async run(stage) {
      stage.plan("a", { fate: "answer", afterMs: 3000 });
      const last = stage.ask();
      await stage.sleep(100);
      let isDrained = false;
      void stage.gateway.admission.drain().then(() => isDrained = true);
      assert.equal((await stage.ask()).status, 503);
      assert.equal(isDrained, false);
      assert.equal((await last).status, 200);
      await stage.sleep(1);
      assert.equal(isDrained, true);
    },
  },
};

/** A limit in the response of `GET /usage`. */
interface Listed {
  readonly session: string | null;
  readonly used: number | null;
}

/** Returns the response that a token gets for `/usage` or `/limits`. */
async function read(
  stage: Stage,
  path: "limits" | "usage",
  agent = "alice",
  at = 0,
) {
  const response = await stage.gatewayAt(at).handler(
    new Request(`http://gateway.example/v1/${path}`, {
      headers: { authorization: `Bearer mg_secret_of_${agent}` },
    }),
  );
  return await response.json();
}
