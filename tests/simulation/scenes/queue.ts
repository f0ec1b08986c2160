import assert from "node:assert/strict";
import type { Asked } from "../world/caller.ts";
import { statuses } from "./counted.ts";
import type { Scene, Setting, Stage } from "./stage.ts";

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;

/** The longest delay of a dial, the network and a poll of another thread, in milliseconds. */
const LATE_MS = 600;

/** Returns the setting of a connection with one slot and a queue. */
function narrow(
  entry: Readonly<Record<string, unknown>> = {},
  setting: Setting = {},
): Setting {
  const queue = { max_wait: MINUTE_MS };
  return {
    connections: { a: { max_concurrent: 1, queue, ...entry } },
    ...setting,
    file: { timeouts: PATIENT, ...setting.file },
  };
}

/** Deadlines longer than any answer of these scenes. */
const PATIENT = {
  ...{ connect: 5000, first_byte: 900_000, first_output: 900_000 },
  ...{ idle: 900_000, body: 60_000 },
};

/** Returns the setting of ten tokens that may have a thousand requests at once. */
function thousand(server: Readonly<Record<string, unknown>> = {}): Setting {
  return narrow({ queue: { max_wait: 600_000 } }, {
    tokens: Object.fromEntries(
      Array.from({ length: 10 }, (_, at) => [`member${at}`, {
        max_concurrent: 200,
      }]),
    ),
    file: { server: { max_concurrent_requests: 2000, ...server } },
  });
}

/** Returns the setting of two connections with one slot and a queue. */
function pair(): Setting {
  const entry = { max_concurrent: 1, queue: { max_wait: MINUTE_MS } };
  return {
    connections: { a: entry, b: entry },
    file: { timeouts: PATIENT },
  };
}

/** Makes each answer of a provider take `ms` from now on. */
function take(stage: Stage, ms: number, name = "a"): void {
  const { planned } = stage.provider(name);
  planned.length = 0;
  const answer = { fate: "answer", afterMs: ms } as const;
  planned.push(...Array.from({ length: 2000 }, () => answer));
}

/** Sends a request of alice and waits until it has the slot. The bodies of simultaneous requests would race. */
async function askFirst(
  stage: Stage,
): Promise<{ readonly end: Promise<Asked> }> {
  const end = stage.ask({ agent: "alice" });
  await stage.sleep(LATE_MS);
  return { end };
}

/** Sends requests at moments counted from now. */
function askAt(
  stage: Stage,
  requests: readonly (readonly [
    atMs: number,
    agent: string,
    wish?: Parameters<Stage["ask"]>[0],
  ])[],
): Promise<Asked[]> {
  return Promise.all(requests.map(async ([atMs, agent, wish]) => {
    await stage.sleep(atMs);
    return await stage.ask({ isStream: false, ...wish, agent });
  }));
}

/** Returns the indexes of requests in the order in which providers received them. */
function turns(stage: Stage, asked: readonly Asked[]): number[] {
  const [first] = asked;
  const own = new Set(asked.map(({ number }) => number));
  return stage.ledger.map(({ request }) => request - (first?.number ?? 0))
    .filter((one) => own.has(one + (first?.number ?? 0)));
}

function tookMs({ startedMs, endedMs = Infinity }: Asked): number {
  return endedMs - startedMs;
}

/** Checks that a time is as wanted or a little late. */
function near(ms: number, wantedMs: number, what: string): void {
  const isNear = ms >= wantedMs - 1 && ms <= wantedMs + LATE_MS;
  assert(isNear, `${what}: ${Math.round(ms)} ms instead of ${wantedMs}`);
}

/** Checks that no request waits and that every slot is free. */
async function checkSlots(stage: Stage, at = 0): Promise<void> {
  assert.equal(stage.gatewayAt(at).state().waiting, 0, "no request waits");
  const { connections } = stage.config;
  for (const { name } of connections) take(stage, 3000, name);
  const slots = connections.map(({ maxConcurrent = 0 }) => maxConcurrent)
    .reduce((sum, one) => sum + one);
  const all = await Promise.all(
    Array.from(
      { length: slots },
      () => stage.ask({ at, agent: "carol", isStream: false }),
    ),
  );
  for (const one of all) {
    assert.equal(one.status, 200, "every slot serves");
    assert.equal(stage.line(one).waited_ms, undefined, "no slot is lost");
  }
}

/**
 * Returns the time for which requests, of all agents or of one, were at the providers within a span, in milliseconds.
 */
function usedMs(
  stage: Stage,
  [fromMs, untilMs]: readonly [number, number],
  agent?: string,
): number {
  const agents = new Map(
    stage.asked.map((one) => [one.number, one.agent.name]),
  );
  return stage.ledger
    .filter(({ request }) =>
      agent === undefined || agents.get(request) === agent
    )
    .map(({ receivedMs, endedMs = untilMs }) =>
      Math.min(endedMs, untilMs) - Math.max(receivedMs, fromMs)
    )
    .reduce((sum, ms) => sum + Math.max(0, ms), 0);
}

/** Sends requests of agents one after another until a moment, each agent in its own session. */
async function work(
  stage: Stage,
  agents: readonly string[],
  untilMs: number,
  wish: Parameters<Stage["ask"]>[0] = {},
): Promise<void> {
  await Promise.all(agents.map(async (agent, index) => {
    const session = `session-${agent}-${index}`;
    while (stage.time.elapsedMs() < untilMs) {
      await stage.ask({ agent, session, isStream: false, ...wish });
      await stage.sleep(20);
    }
  }));
}

/** Returns a scene in which requests too large for a rate limit come between many others. */
function oversized(entry: Readonly<Record<string, unknown>>): Scene {
  const each = 12;
  const many = (stage: Stage) =>
    Array.from(
      { length: each },
      () => stage.ask({ agent: "bob", isStream: false }),
    );
  return {
    setting: () => narrow({ max_concurrent: undefined, ...entry }),
    async run(stage) {
      take(stage, 5000);
      const before = many(stage);
      await stage.sleep(LATE_MS);
      for (const agent of ["alice", "carol", "alice", "carol"]) {
        stage.provider("a").planned.unshift({ fate: "oversized request" });
        const one = await stage.ask({ agent });
        assert.equal(one.status, 429);
        assert.equal(one.headers?.get("x-should-retry"), "false");
        assert.equal(stage.entries(one).length, 1, "it is sent once");
      }
      const after = many(stage);
      const all = await Promise.all([...before, ...after]);
      for (const one of all) {
        assert.equal(one.status, 200);
        assert.equal(stage.line(one).waited_ms, undefined, "no request waits");
        near(tookMs(one), 5000, "none is delayed");
      }
    },
  };
}

/** Scenes of requests that wait for their turn. */
export const QUEUE_SCENES: Readonly<Record<string, Scene>> = {
  "a request waits for a slot, and the log has the time": {
    setting: () => narrow(),
    async run(stage) {
      take(stage, 10_000);
      const [first, second] = await askAt(stage, [[0, "alice"], [1000, "bob"]]);
      assert(first && second);
      assert.deepEqual(statuses([first, second]), [200, 200]);
      assert.equal(stage.line(first).waited_ms, undefined);
      near(Number(stage.line(second).waited_ms), 9000, "waited_ms");
      assert.equal(stage.line(second).waited_for, "concurrency");
      near(tookMs(second), 19_000, "it is next");
      await checkSlots(stage);
    },
  },
  "the caller with the least use is next, then its session that waited longest":
    {
      setting: () => narrow(),
      async run(stage) {
        take(stage, 5000);
        const busy = { session: "session-busy-1" };
        const all = await askAt(stage, [
          ...[0, 10, 20, 30].map((at) => [at, "alice", busy] as const),
          [40, "alice", { session: "session-calm-2" }],
          [100, "bob"],
          [110, "bob"],
        ]);
        assert.deepEqual(turns(stage, all), [0, 5, 4, 6, 1, 2, 3]);
      },
    },
  "earlier use counts less over time": {
    setting: () => narrow(),
    async run(stage) {
      take(stage, 40_000);
      await stage.served({ agent: "alice" });
      await stage.sleep(10 * MINUTE_MS);
      take(stage, 10_000);
      await stage.served({ agent: "bob" });
      take(stage, 3000);
      // After ten minutes, forty seconds of use count less than ten seconds now.
      const all = await askAt(stage, [[0, "carol"], [10, "bob"], [
        20,
        "alice",
      ]]);
      assert.deepEqual(turns(stage, all), [0, 2, 1]);
    },
  },
  "running requests count as use": {
    setting: () => narrow({ max_concurrent: 4 }),
    async run(stage) {
      take(stage, 6000);
      await stage.served({ agent: "bob" });
      take(stage, 30_000);
      stage.provider("a").planned.splice(3, 1, {
        ...{ fate: "answer", afterMs: 8000 },
      });
      const all = await askAt(stage, [
        ...[0, 1, 2].map((at) => [at, "alice"] as const),
        [500, "carol"],
        [1000, "alice"],
        [1100, "bob"],
      ]);
      assert.equal(turns(stage, all).at(4), 5);
    },
  },
  "a token of twice the weight gets twice the time": {
    setting: () => narrow({}, { tokens: { alice: { weight: 2 } } }),
    async run(stage) {
      take(stage, 3000);
      const span = [30_000, 10 * MINUTE_MS] as const;
      await work(stage, ["alice", "alice", "alice", "bob", "bob"], span[1]);
      const ratio = usedMs(stage, span, "alice") / usedMs(stage, span, "bob");
      assert(ratio > 1.7 && ratio < 2.4, `${ratio} times the time`);
    },
  },
  "the weight of a group is that of its members": {
    setting: () =>
      narrow({}, {
        tokens: { alice: { group: "team" }, bob: { weight: 1 } },
        file: { groups: { team: { weight: 3 } } },
      }),
    async run(stage) {
      take(stage, 2000);
      const span = [30_000, 8 * MINUTE_MS] as const;
      await work(stage, ["alice", "alice", "bob", "bob", "bob"], span[1]);
      const ratio = usedMs(stage, span, "alice") / usedMs(stage, span, "bob");
      assert(ratio > 2.4 && ratio < 3.7, `${ratio} times the time`);
    },
  },
  "thirty agents of one caller get as much time as two of another": {
    setting: () => narrow({ max_concurrent: 2, queue: { max_wait: 600_000 } }),
    async run(stage) {
      take(stage, 4000);
      const span = [MINUTE_MS, 12 * MINUTE_MS] as const;
      const many = Array.from({ length: 30 }, () => "alice");
      await work(stage, [...many, "bob", "bob", "carol", "carol"], span[1]);
      const used = ["alice", "bob", "carol"]
        .map((one) => usedMs(stage, span, one));
      const total = usedMs(stage, span) / (2 * (span[1] - span[0]));
      assert(total > 0.9, `${total} of the slots are used`);
      assert(Math.min(...used) > 0.85 * Math.max(...used), `${used}`);
    },
  },
  "background work waits behind people for half of `max_wait`": {
    setting: () => narrow(),
    async run(stage) {
      take(stage, 6000);
      const isBatch = true;
      const all = await askAt(stage, [
        [0, "alice"],
        [10, "bob", { isBatch }],
        [20, "alice", { parent: "session-alice-9" }],
        ...[30, 40, 5000, 11_000, 17_000, 23_000, 29_000].map((at) =>
          [at, "carol"] as const
        ),
      ]);
      const order = turns(stage, all);
      // At 30 s, half of `max_wait` is over, and both callers have less use than Carol.
      assert.deepEqual(order.slice(0, 5), [0, 3, 4, 5, 6]);
      assert.deepEqual(new Set(order.slice(5, 7)), new Set([1, 2]));
      assert(all.every(({ status }) => status === 200));
    },
  },
  "a request is refused at once with the right time when the line is too long":
    {
      setting: () => narrow({ queue: { max_wait: 35_000 } }),
      async run(stage) {
        take(stage, 10_000);
        await stage.served();
        const all = await askAt(
          stage,
          [0, 1, 2, 3, 4, 5].map((at) => [at, "alice"] as const),
        );
        const refused = all.filter(({ status }) => status === 503);
        assert.equal(refused.length, 2);
        for (const one of refused) {
          assert(tookMs(one) < 50, "at once");
          const seconds = Number(one.headers?.get("retry-after"));
          assert(seconds >= 40 && seconds <= 42, `retry after ${seconds}`);
        }
        assert.equal(all.length - 2, statuses(all).indexOf(503));
      },
    },
  "requests that a limit refuses do not shorten the expected wait": {
    setting: () =>
      narrow({ queue: { max_wait: 35_000 } }, {
        tokens: { bob: { limits: [{ window: "month", requests: 1 }] } },
      }),
    async run(stage) {
      take(stage, 10_000);
      await stage.served({ agent: "alice" });
      await stage.served({ agent: "bob" });
      for (let count = 0; count < 20; count++) {
        assert.equal((await stage.ask({ agent: "bob" })).status, 429);
      }
      const all = await askAt(
        stage,
        [0, 1, 2, 3, 4].map((at) => [at, "alice"] as const),
      );
      const refused = all.filter(({ status }) => status === 503);
      assert.equal(refused.length, 1);
      assert(refused.every((one) => tookMs(one) < 50), "at once");
    },
  },
  "a wait ends after `max_wait`": {
    setting: () => narrow({ queue: { max_wait: 5000 } }),
    async run(stage) {
      take(stage, 20_000);
      const [, second] = await askAt(stage, [[0, "alice"], [100, "bob"]]);
      assert(second);
      assert.equal(second.status, 503);
      near(tookMs(second), 5000, "its end");
      near(Number(stage.line(second).waited_ms), 5000, "waited_ms");
      assert(second.headers?.get("retry-after"));
      assert.deepEqual(stage.route(second), []);
      await checkSlots(stage);
    },
  },
  "a waiting request whose caller leaves is never sent and frees its place": {
    setting: (random) =>
      narrow({}, random.below(2) === 0 ? {} : { threads: 2 }),
    async run(stage) {
      take(stage, 8000);
      const at = stage.replicas.length - 1;
      const all = await askAt(stage, [
        [0, "alice", { at: 0 }],
        [100, "bob", { at, leavesAfterMs: 3000 }],
        [200, "carol", { at, leavesAfterMs: 7000 + stage.random.below(1200) }],
        [300, "alice", { at }],
      ]);
      const [, left, late, last] = all;
      assert(left && late && last);
      assert.deepEqual(stage.route(left), []);
      assert(Number(stage.line(left).waited_ms) < 3200);
      assert.equal(stage.line(left).ended, "client_abort");
      assert.equal(last.status, 200);
      assert(tookMs(last) <= 16_000 + 3 * LATE_MS, "its turn is next");
      await checkSlots(stage, at);
    },
  },
  "a caller that leaves during the check of its limits does not begin to wait":
    {
      setting: () =>
        narrow({}, {
          threads: 2,
          tokens: { alice: { limits: [{ window: "minute", requests: 1 }] } },
        }),
      async run(stage) {
        assert(stage.process);
        stage.process.messageMs = 100;
        await stage.sleep(MINUTE_MS - stage.time.now() % MINUTE_MS);
        await stage.served();
        const one = await stage.ask({ leavesAfterMs: 120, isStream: false });
        assert(tookMs(one) < 1000);
        assert.deepEqual(stage.route(one), []);
        await checkSlots(stage);
      },
    },
  "waiting requests get a 503 when their gateway stops": {
    setting: () => narrow(),
    async run(stage) {
      take(stage, 10_000);
      const running = await askFirst(stage);
      const waits = ["bob", "carol"].map((agent) => stage.ask({ agent }));
      await stage.sleep(1000);
      const stopping = stage.replica.stop();
      for (const one of await Promise.all(waits)) {
        assert.equal(one.status, 503);
        assert.equal(one.headers?.get("connection"), "close");
        near(tookMs(one), 1000, "at once");
        assert.deepEqual(stage.route(one), []);
      }
      const [entry] = stage.entries(await running.end);
      assert(entry?.isWhole, "the running request is served");
      await stopping;
    },
  },
  "a request does not begin to wait at a stopping gateway": {
    setting: () => narrow({ max_concurrent: 4 }),
    async run(stage) {
      const limited = { fate: "rate limit", retryAfter: 20 } as const;
      stage.plan("a", { ...limited, afterMs: 2000 });
      const one = stage.ask();
      await stage.sleep(1000);
      const stopping = stage.replica.stop();
      assert.equal((await one).status, 503);
      assert(tookMs(await one) < 4000);
      await stopping;
    },
  },
  "the waiting requests of a removed token get a 401": {
    setting: () => narrow({}, { file: { server: { removed_tokens: "end" } } }),
    async run(stage) {
      take(stage, 10_000);
      const running = await askFirst(stage);
      const waits = stage.ask({ agent: "bob" });
      const stays = stage.ask({ agent: "carol" });
      await stage.sleep(1000);
      await stage.reloadWithout("bob");
      const one = await waits;
      assert.equal(one.status, 401);
      near(tookMs(one), 1000, "at once");
      assert.equal((await running.end).status, 200);
      near(tookMs(await stays), 20_000 - LATE_MS, "the next one");
      await stage.reload();
      await checkSlots(stage);
    },
  },
  "a reload keeps the waiting requests in order": {
    setting: (random) =>
      narrow({}, random.below(2) === 0 ? {} : { threads: 2 }),
    async run(stage) {
      take(stage, 5000);
      const asking = askAt(stage, [
        [0, "alice", { at: 0 }],
        [10, "alice", { at: 0 }],
        [20, "bob", { at: 0 }],
        [30, "carol", { at: 0 }],
        [3000, "carol", { at: 0 }],
      ]);
      await stage.sleep(2000);
      await stage.reload();
      const all = await asking;
      assert.deepEqual(turns(stage, all), [0, 2, 3, 1, 4]);
      await checkSlots(stage);
    },
  },
  "a request from before a reload frees its slot for later waiting requests": {
    setting: () => narrow({ queue: undefined }),
    async run(stage) {
      take(stage, 10_000);
      const running = stage.ask({ agent: "alice" });
      await stage.sleep(1000);
      await stage.reconnect({ queue: { max_wait: MINUTE_MS } });
      const next = await stage.ask({ agent: "bob" });
      await running;
      assert.equal(next.status, 200);
      near(tookMs(next), 19_000, "it is next");
    },
  },
  "a request waits for the end of a short 429, with or without a Retry-After": {
    setting: () => narrow({ max_concurrent: undefined }),
    async run(stage) {
      for (const retryAfter of [0, 3, 20]) {
        const limited = { fate: "rate limit", retryAfter } as const;
        stage.plan("a", limited);
        const before = stage.ledger.length;
        const waitMs = SECOND_MS * (retryAfter || 1);
        const first = stage.ask();
        await stage.sleep(600);
        const second = stage.ask();
        for (const one of await Promise.all([first, second])) {
          assert.equal(one.status, 200);
          assert.equal(stage.line(one).waited_for, "rate_limit");
        }
        const [refused, ...later] = stage.ledger.slice(before);
        assert.equal(later.length, 2, "no request is sent meanwhile");
        for (const { receivedMs } of later) {
          const waitedMs = receivedMs - (refused?.endedMs ?? 0);
          assert(waitedMs >= waitMs - 1, `${waitedMs} of ${waitMs} ms`);
          assert(waitedMs <= waitMs + 3 * LATE_MS, `${waitedMs} ms`);
        }
        await stage.sleep(MINUTE_MS);
      }
    },
  },
  "a request does not wait for the end of a long 429": {
    setting: () => narrow(),
    async run(stage) {
      stage.plan("a", { fate: "rate limit", retryAfter: 600 });
      for (let count = 0; count < 2; count++) {
        const one = await stage.ask();
        assert.equal(one.status, 429);
        assert(tookMs(one) < 1000);
        assert.equal(stage.line(one).waited_ms, undefined);
      }
      await stage.served({ agent: "carol" });
    },
  },
  "a request that waits several times has three attempts at most": {
    setting: () => ({
      connections: {
        a: { queue: { max_wait: MINUTE_MS } },
        b: { queue: { max_wait: MINUTE_MS } },
      },
    }),
    async run(stage) {
      const limited = { fate: "rate limit", retryAfter: 2 } as const;
      for (const name of ["a", "b"]) {
        stage.plan(name, limited, limited, limited, limited);
      }
      const one = await stage.ask();
      assert.equal(one.status, 429);
      assert.equal(stage.route(one).length, 3);
      assert(Number(stage.line(one).waited_ms) > 1000);
      assert(tookMs(one) < 30_000);
    },
  },
  "a request waits for its limit's next window and delays no other": {
    setting: () =>
      narrow({}, {
        tokens: { alice: { limits: [{ window: "minute", requests: 1 }] } },
      }),
    async run(stage) {
      await stage.sleep(MINUTE_MS - stage.time.now() % MINUTE_MS);
      take(stage, 1000);
      const [, second, third] = await askAt(stage, [
        [10_000, "alice"],
        [14_000, "alice"],
        [15_000, "bob"],
      ]);
      assert(second && third);
      assert.deepEqual([second.status, third.status], [200, 200]);
      near(tookMs(third), 1000, "it does not wait");
      assert.equal(stage.line(second).waited_for, "limit");
      const waitedMs = Number(stage.line(second).waited_ms);
      assert(waitedMs >= 45_900 && waitedMs <= 51_500, `${waitedMs}`);
      await checkSlots(stage);
    },
  },
  "a request goes to the connection whose slot is free first": {
    setting: pair,
    async run(stage) {
      take(stage, 20_000, "a");
      take(stage, 5000, "b");
      const all = await askAt(stage, [[0, "alice"], [1, "bob"], [2, "carol"]]);
      assert.deepEqual(all.map((one) => stage.route(one).at(0)), [
        "a",
        "b",
        "b",
      ]);
      await checkSlots(stage);
    },
  },
  "a conversation waits for its own connection for half of `max_wait`": {
    setting: pair,
    async run(stage) {
      const session = "session-stays-1";
      take(stage, 20_000, "a");
      take(stage, 1000, "b");
      await stage.served({ session });
      const other = stage.ask({ agent: "bob" });
      await stage.sleep(1000);
      const stayed = await stage.ask({ session });
      assert.deepEqual(stage.route(stayed), ["a"]);
      near(Number(stage.line(stayed).waited_ms), 19_000, "it waits");
      await other;
      take(stage, 50_000, "a");
      const long = stage.ask({ agent: "bob" });
      await stage.sleep(1000);
      const moved = await stage.ask({ session });
      assert.deepEqual(stage.route(moved), ["b"]);
      near(Number(stage.line(moved).waited_ms), 30_000, "half of the time");
      assert.equal(stage.line(moved).moved_for, "full");
      await long;
      await checkSlots(stage);
    },
  },
  "a waiting request gets the error when its connection fails": {
    setting: () => narrow(),
    async run(stage) {
      take(stage, 5000);
      const first = await askFirst(stage);
      const second = stage.ask({ agent: "bob" });
      await stage.sleep(1000);
      stage.provider("a").planned.length = 0;
      stage.plan("a", "server error", "server error", "server error");
      assert.equal((await first.end).status, 200);
      assert((await second).status !== 200);
      assert(tookMs(await second) < 9000);
      await stage.sleep(20_000);
      await checkSlots(stage);
    },
  },
  "waiting requests are served after the cool-down of their connection": {
    setting: () => narrow({ max_concurrent: 2 }),
    async run(stage) {
      take(stage, 4000);
      const running = [stage.ask(), stage.ask()];
      await stage.sleep(1000);
      const waits = ["bob", "carol"].map((agent) => stage.ask({ agent }));
      await stage.sleep(1000);
      take(stage, 1000);
      const failure = { fate: "server error" } as const;
      stage.provider("a").planned.unshift(failure, failure);
      await Promise.all(running);
      for (const one of await Promise.all(waits)) {
        assert.equal(one.status, 200);
      }
      await checkSlots(stage);
    },
  },
  "a provider that refuses requests gets fewer at once, and more later": {
    setting: () => narrow({ max_concurrent: undefined }),
    async run(stage) {
      const provider = stage.provider("a");
      const capacity = 3;
      const agents = ["alice", "bob", "carol"];
      /** The end of the crowd's requests. The provider serves only `capacity` of them at once. */
      const untilMs = stage.time.elapsedMs() + 4 * MINUTE_MS;
      provider.capacity = capacity;
      take(stage, 2000);
      await work(
        stage,
        Array.from({ length: 12 }, (_, at) => agents[at % 3] ?? "alice"),
        untilMs,
      );
      const entries = stage.ledger.length;
      const refused = stage.ledger.filter(({ status }) => status === 429);
      const part = refused.length / entries;
      assert(part < 0.2, `${part} of the requests are refused`);
      const used = usedMs(stage, [MINUTE_MS, untilMs]) /
        (capacity * (untilMs - MINUTE_MS));
      assert(used > 0.8, `${used} of the provider is used`);
      assert(
        stage.asked.every(({ status }) => status === 200),
        "all are served",
      );
      provider.capacity = undefined;
      await stage.sleep(11 * MINUTE_MS);
      await stage.served();
      const before = stage.ledger.length;
      const all = await Promise.all(
        Array.from({ length: 20 }, () => stage.ask({ isStream: false })),
      );
      const waited = all.filter((one) =>
        stage.line(one).waited_ms !== undefined
      );
      assert.equal(
        waited.length,
        0,
        "after ten minutes without refusals no request waits",
      );
      assert.equal(stage.ledger.length, before + 20);
    },
  },
  "requests too large for a rate limit delay no other": oversized({}),
  "requests too large for a rate limit delay no other, with slots": oversized({
    max_concurrent: 25,
  }),
  "requests too large for a rate limit delay no other, without a queue":
    oversized({ queue: undefined }),
  "a hundred requests of one caller may wait, and background work gives way to more":
    {
      setting: () => narrow({ queue: { max_wait: 600_000 } }),
      async run(stage) {
        take(stage, 1000);
        const wish = { isStream: false, protocol: "chat" } as const;
        const all = Array.from(
          { length: 101 },
          (_, at) => stage.ask({ ...wish, isBatch: at === 50 || at === 60 }),
        );
        await stage.sleep(200);
        assert.equal(stage.gateway.state().waiting, 100);
        const late = stage.ask(wish);
        const other = stage.ask({ ...wish, agent: "bob" });
        const batch = await stage.ask({ ...wish, isBatch: true });
        assert.equal(batch.status, 503, "background work finds no place");
        assert(tookMs(batch) < 50);
        const done = await Promise.all(all);
        assert.equal((await late).status, 200);
        assert.equal((await other).status, 200);
        const refused = done.flatMap(({ status }, at) =>
          status === 503 ? [at] : []
        );
        assert.deepEqual(
          refused,
          [60],
          "the last background request gives way",
        );
        await checkSlots(stage);
      },
    },
  "a thousand requests may wait, and the callers with the most give way to others":
    {
      setting: () => thousand(),
      async run(stage) {
        take(stage, 1_000_000);
        const running = stage.ask({ leavesAfterMs: 5000, isStream: false });
        await stage.sleep(100);
        const all = Array.from({ length: 1000 }, (_, at) =>
          stage.ask({
            agent: `member${at % 10}`,
            ...{ isStream: false, isBatch: at === 500, leavesAfterMs: 3000 },
            protocol: "chat",
          }));
        await stage.sleep(100);
        assert.equal(stage.gateway.state().waiting, 1000);
        const batch = await stage.ask({ agent: "member1", isBatch: true });
        assert.equal(
          batch.status,
          503,
          "no background work of its own gives way",
        );
        const wish = { leavesAfterMs: 2000, protocol: "chat" } as const;
        const late = ["carol", "carol", "bob"]
          .map((agent) => stage.ask({ ...wish, agent }));
        await stage.sleep(100);
        assert.equal(stage.gateway.state().waiting, 1000);
        await Promise.all([...all, ...late, running]);
        const refused = (await Promise.all(all)).flatMap(({ status }, at) =>
          status === 503 ? [at] : []
        );
        assert.equal(refused.length, 3, "one for each new request");
        assert(refused.includes(500), "background work gives way first");
        const members = new Set(refused.map((at) => at % 10));
        assert.equal(members.size, 3, "each caller with the most gives one");
        await stage.sleep(100);
        assert.equal(stage.gateway.state().waiting, 0);
        await checkSlots(stage);
      },
    },
  "a full gateway admits a new caller's request in place of one of the caller with the most":
    {
      setting: () => thousand({ max_concurrent_requests: 30 }),
      async run(stage) {
        take(stage, 1_000_000);
        const wish = {
          isStream: false,
          leavesAfterMs: 5000,
          protocol: "chat",
        } as const;
        const all = Array.from(
          { length: 30 },
          (_, at) =>
            stage.ask({ ...wish, agent: at % 6 === 0 ? "member1" : "member0" }),
        );
        await stage.sleep(100);
        assert.equal(stage.gateway.state().waiting, 29);
        const own = await stage.ask({ ...wish, agent: "member0" });
        assert.equal(own.status, 503, "it would have the most");
        assert(tookMs(own) < 50, "at once");
        const late = stage.ask({ ...wish, agent: "carol" });
        await stage.sleep(100);
        assert.equal(stage.gateway.state().waiting, 29);
        assert.notEqual((await late).status, 503, "it waits until it leaves");
        const done = await Promise.all(all);
        const refused = done.filter(({ status }) => status === 503);
        assert.deepEqual(refused.map(({ agent }) => agent.name), ["member0"]);
        await checkSlots(stage);
      },
    },
  "a caller that stops reading loses its slot after a minute while others wait":
    {
      setting: (random) => narrow({}, random.pick([{}, { threads: 2 }])),
      async run(stage) {
        const at = stage.replicas.length - 1;
        for (const name of ["alice", "bob"]) {
          const stopped = stage.ask({
            ...{ agent: "carol", isStream: true, at: 0 },
            pausesForMs: 20 * MINUTE_MS,
          });
          await stage.sleep(name === "alice" ? 10_000 : 5 * MINUTE_MS);
          const beganMs = stage.time.elapsedMs();
          const other = await stage.ask({ agent: name, at, isStream: false });
          assert.equal(other.status, 200, "it is served in time");
          const ms = stage.time.elapsedMs() - beganMs;
          assert(
            ms < (name === "alice" ? 50_000 : 5_000) + 3 * LATE_MS,
            `${ms}`,
          );
          const one = await stopped;
          assert.equal(one.ending, "broken", "its answer is not whole");
          assert.equal(stage.line(one).ended, "client_abort");
          assert.match(String(stage.line(one).reason), /while others waited/);
        }
        const alone = stage.ask({
          ...{ agent: "carol", isStream: true, pausesForMs: 9 * MINUTE_MS },
        });
        assert.equal(
          (await alone).ending,
          "complete",
          "no request waits for its slot",
        );
        await checkSlots(stage);
      },
    },
  "waiting requests with the most body memory give way to other callers": {
    setting: () => ({
      file: { timeouts: PATIENT },
      connections: {
        a: {
          ...{ max_concurrent: 1, queue: { max_wait: 600_000 } },
          models: [{ id: "model-slow", upstream: "model-slow-of-a" }],
        },
        b: {},
      },
      bodyMemoryBytes: 640_000,
    }),
    async run(stage) {
      take(stage, 200_000);
      const wish = {
        isStream: false,
        protocol: "chat",
        promptLength: 12_000,
        leavesAfterMs: 30_000,
      } as const;
      const slow = { ...wish, model: "model-slow" };
      const many = [];
      for (let at = 0; at < 45; at++) {
        many.push(stage.ask({ ...slow, agent: "alice" }));
        await stage.sleep(10);
      }
      const few = [1, 2, 3].map(() => stage.ask({ ...slow, agent: "bob" }));
      await stage.sleep(100);
      const all = await Promise.all(
        Array.from(
          { length: 12 },
          () => stage.ask({ ...wish, agent: "carol" }),
        ),
      );
      assert(all.every(({ status }) => status === 200), "carol is served");
      const refused = (await Promise.all(many))
        .filter(({ status }) => status === 503);
      assert(refused.length > 0 && refused.length < 25, `${refused.length}`);
      for (const one of refused) {
        assert(one.headers?.get("retry-after"), "it says when to try again");
        assert.deepEqual(stage.route(one), []);
      }
      for (const one of await Promise.all(few)) {
        assert.notEqual(
          one.status,
          503,
          "a caller with little memory keeps waiting",
        );
      }
      assert.equal(stage.gateway.state().bodyMemoryBytes, 0);
    },
  },
  "`/limits` reports how many requests wait and for how long": {
    setting: (random) => narrow({}, random.pick([{}, { threads: 2 }])),
    async run(stage) {
      take(stage, 10_000);
      await stage.served({ at: 0 });
      const at = stage.replicas.length - 1;
      const all = askAt(stage, [
        [0, "alice", { at: 0 }],
        [1000, "bob", { at: 0 }],
        [1000, "carol", { at: 0 }],
      ]);
      await stage.sleep(3000);
      for (const at of stage.replicas.keys()) {
        const { requests, seconds } = await waitingAt(stage, at);
        assert.equal(requests, 2);
        assert(seconds >= 20 && seconds <= 22, `${seconds} s`);
      }
      await all;
      await stage.sleep(1500);
      assert.equal(await waitingAt(stage, at), undefined);
    },
  },
  "a slot that one thread frees goes to the next request, even of another thread":
    {
      setting: () => narrow({}, { threads: 3 }),
      async run(stage) {
        take(stage, 5000);
        const all = await askAt(stage, [
          [0, "alice", { at: 0 }],
          [1000, "alice", { at: 0 }],
          [1010, "alice", { at: 1 }],
          [1020, "bob", { at: 2, isBatch: true }],
          [1030, "bob", { at: 2 }],
          [5500, "carol", { at: 0, isBatch: true }],
        ]);
        const order = turns(stage, all);
        assert.equal(order[0], 0);
        assert.equal(order[1], 4, "the caller without use is first");
        assert.deepEqual(new Set(order.slice(2, 4)), new Set([1, 2]));
        assert.deepEqual(new Set(order.slice(4)), new Set([3, 5]));
        const lastMs = Math.max(...all.map(({ endedMs = 0 }) => endedMs));
        const firstMs = all[0]?.startedMs ?? 0;
        assert(lastMs - firstMs <= 30_000 + 6 * LATE_MS, `${lastMs}`);
        for (const at of [0, 1, 2]) await checkSlots(stage, at);
      },
    },
  "one caller's requests at two threads are served in order": {
    setting: () => narrow({}, { threads: 2 }),
    async run(stage) {
      take(stage, 6000);
      const all = await askAt(stage, [
        [0, "alice", { at: 1 }],
        [1000, "alice", { at: 0 }],
        [3000, "alice", { at: 1 }],
      ]);
      assert.deepEqual(turns(stage, all), [0, 1, 2]);
    },
  },
  "a request is refused at once when another thread makes the line too long": {
    setting: () => narrow({ queue: { max_wait: 35_000 } }, { threads: 2 }),
    async run(stage) {
      take(stage, 10_000);
      await Promise.all([stage.served({ at: 0 }), stage.served({ at: 1 })]);
      const all = askAt(stage, [
        ...[0, 1, 2, 3].map((at) => [at, "alice", { at: 0 }] as const),
        [1000, "alice", { at: 1 }],
      ]);
      const last = (await all).at(-1);
      assert.equal(last?.status, 503);
      assert(tookMs(last) < 50);
      const seconds = Number(last.headers?.get("retry-after"));
      assert(seconds >= 40 && seconds <= 42, `retry after ${seconds}`);
    },
  },
  "a request goes to a fallback whose slot is free first": {
    setting: () => {
      const entry = { max_concurrent: 1, queue: { max_wait: MINUTE_MS } };
      return {
        connections: {
          a: {
            ...entry,
            models: [{
              ...{ id: "model-one", upstream: "model-one-of-a" },
              fallbacks: ["model-two"],
            }],
          },
          b: {
            ...entry,
            models: [{ id: "model-two", upstream: "model-two-of-b" }],
          },
        },
        file: { timeouts: PATIENT },
      };
    },
    async run(stage) {
      take(stage, 30_000, "a");
      take(stage, 5000, "b");
      const all = await askAt(stage, [
        [0, "alice"],
        [10, "bob", { model: "model-two" }],
        [1000, "carol"],
      ]);
      assert.deepEqual(all.map((one) => stage.route(one)), [["a"], ["b"], [
        "b",
      ]]);
      assert.equal(all[2]?.headers?.get("x-gateway-model"), "model-two");
    },
  },
  "the slots of a thread that crashes are free at once": {
    setting: () => narrow({ max_concurrent: 2 }, { threads: 2 }),
    async run(stage) {
      take(stage, 40_000);
      const lost = [stage.ask({ at: 0 }), stage.ask({ at: 0 })];
      await stage.sleep(1000);
      const waits = [
        stage.ask({ at: 1, agent: "bob" }),
        stage.ask({ at: 0, agent: "carol" }),
      ];
      await stage.sleep(1000);
      take(stage, 1000);
      stage.replica.crash();
      await Promise.all(lost);
      const [next, gone] = await Promise.all(waits);
      assert.equal(next?.status, 200);
      assert.equal(gone?.ending, "lost");
      near(tookMs(next), 2000, "its turn");
      await stage.replica.start();
      await checkSlots(stage, 0);
    },
  },
  "a new request does not overtake requests that wait at another thread": {
    setting: () => narrow({}, { threads: 2 }),
    async run(stage) {
      assert(stage.process);
      // The other thread learns late that the slot is free.
      stage.process.messageMs = 20;
      take(stage, 5000);
      const running = stage.ask({ agent: "alice", at: 0, isStream: false });
      await stage.sleep(1000);
      const waits = stage.ask({ agent: "bob", at: 1 });
      while (stage.log.entries.length === 0) await stage.sleep(1);
      const late = stage.ask({ agent: "carol", at: 0 });
      const all = [await running, await waits, await late];
      assert.deepEqual(turns(stage, all), [0, 1, 2]);
    },
  },
  "several waits of a request share one `max_wait`": {
    setting: () => narrow({ queue: { max_wait: 10_000 } }),
    async run(stage) {
      const limited = (retryAfter: number) =>
        ({ fate: "rate limit", retryAfter }) as const;
      for (const [waitMs, retryAfter] of [[4000, 3], [8000, 5]] as const) {
        take(stage, waitMs);
        const first = stage.ask({ agent: "bob" });
        await stage.sleep(500);
        take(stage, 1000);
        stage.provider("a").planned.unshift(limited(retryAfter));
        const one = await stage.ask({ agent: "alice" });
        await first;
        const waitedMs = Number(stage.line(one).waited_ms);
        if (retryAfter === 3) {
          assert.equal(one.status, 200);
          near(waitedMs, waitMs - 500 + 3000, "both waits");
        } else {
          assert.equal(one.status, 429);
          near(waitedMs, waitMs - 500, "no second wait");
        }
        await stage.sleep(MINUTE_MS);
      }
    },
  },
  "a request waits for the connection whose slot is free within `max_wait`": {
    setting: () => ({
      connections: Object.fromEntries(
        ([["a", 2000], ["b", 30_000]] as const).map(([name, max_wait]) => [
          name,
          { max_concurrent: 1, queue: { max_wait } },
        ]),
      ),
      file: { timeouts: PATIENT },
    }),
    async run(stage) {
      take(stage, 20_000, "a");
      take(stage, 8000, "b");
      const running = [
        stage.ask({ agent: "bob" }),
        stage.ask({ agent: "bob" }),
      ];
      await stage.sleep(1000);
      const one = await stage.ask();
      assert.deepEqual(stage.route(one), ["b"]);
      near(Number(stage.line(one).waited_ms), 7000, "the longer time counts");
      await Promise.all(running);
      // Now the other connection refuses for longer than `max_wait`.
      stage.provider("a").planned.unshift({
        ...{ fate: "rate limit", retryAfter: 100 },
      });
      await stage.ask();
      const other = stage.ask({ agent: "bob", session: "session-bob-1" });
      const more = stage.ask({ agent: "carol", session: "session-carol-1" });
      await stage.sleep(1000);
      const two = await stage.ask();
      assert.equal(two.status, 200);
      assert.deepEqual(stage.route(two), ["b"]);
      await Promise.all([other, more]);
    },
  },
  "the agents of one session take turns": {
    setting: () => narrow(),
    async run(stage) {
      take(stage, 3000);
      const agent = (name: string) => ({
        ...{ session: `session-${name}`, parent: "session-alice-1" },
      });
      const all = await askAt(stage, [
        [0, "alice", agent("busy")],
        [10, "alice", agent("busy")],
        [20, "alice", agent("calm")],
      ]);
      assert.deepEqual(turns(stage, all), [0, 2, 1]);
    },
  },
  "use at one replica counts at the other replicas": {
    setting: () => ({ ...narrow(), replicas: 2 }),
    async run(stage) {
      await stage.sleep(500);
      take(stage, 10_000);
      const all = await askAt(stage, [
        [0, "alice", { at: 0 }],
        [1000, "carol", { at: 1 }],
        [2000, "alice", { at: 1 }],
        [3000, "bob", { at: 1 }],
      ]);
      assert.deepEqual(turns(stage, all), [0, 1, 3, 2]);
    },
  },
  "no slot is lost when many requests wait, leave and fail": {
    setting: (random) => ({
      connections: Object.fromEntries(
        ["a", "b"].map((name) => [name, {
          max_concurrent: 2,
          queue: { max_wait: random.pick([3000, 20_000]) },
        }]),
      ),
      tokens: {
        alice: { weight: 3 },
        bob: { limits: [{ window: "minute", requests: 20 }] },
      },
      file: { server: { removed_tokens: "end" } },
      ...random.pick([{}, { threads: 2 }, { threads: 3 }, { replicas: 2 }]),
    }),
    async run(stage) {
      const { random } = stage;
      for (const { name } of stage.providers) {
        stage.plan(
          name,
          ...Array.from({ length: 200 }, () => ({
            fate: random.pick(CROWD_FATES),
            afterMs: 50 + random.below(4000),
          })),
        );
      }
      const crowd = Array.from({ length: 120 }, async () => {
        await stage.sleep(random.below(2 * MINUTE_MS));
        const leaves = random.below(3) === 0
          ? { leavesAfterMs: random.below(random.pick([100, 3000, 20_000])) }
          : {};
        const agent = random.pick(["alice", "bob", "carol"]);
        await stage.ask({
          agent,
          session: `session-${agent}-${random.below(3)}`,
          isBatch: random.below(4) === 0,
          ...leaves,
        });
      });
      await stage.sleep(random.below(2 * MINUTE_MS));
      if (random.below(2) === 0) await stage.reloadWithout("bob");
      await stage.sleep(random.below(5000));
      await stage.reload();
      await Promise.all(crowd);
      await stage.sleep(20_000);
      for (const provider of stage.providers) provider.planned.length = 0;
      // By then, cool-downs and learned capacities have ended.
      await stage.sleep(11 * MINUTE_MS);
      for (const at of stage.replicas.keys()) {
        for (let count = 0; count < 2; count++) {
          await Promise.all(
            Array.from({ length: 6 }, () => stage.ask({ agent: "carol", at })),
          );
          await stage.sleep(20_000);
        }
        await checkSlots(stage, at);
      }
    },
  },
};

const CROWD_FATES = [
  ...Array.from({ length: 8 }, () => "answer" as const),
  "rate limit",
  "server error",
  "reset within",
  "stall",
  "reset before",
] as const;

/** Returns the waiting requests that `/limits` of a gateway reports. */
async function waitingAt(stage: Stage, at: number): Promise<
  { readonly requests: number; readonly seconds: number }
> {
  const response = await stage.gatewayAt(at).handler(
    new Request("http://gateway.example/v1/limits", {
      headers: { authorization: "Bearer mg_secret_of_alice" },
    }),
  );
  const { data } = await response.json();
  return data[0].waiting;
}
