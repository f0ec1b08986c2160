import assert from "node:assert/strict";
import { coolDown } from "./failover.ts";
import { ODD_RESPONSES } from "../../http1/client/odd_responses.ts";
import type { Scene, Stage } from "./stage.ts";

const ALONE = () => ({ connections: { a: {} } });

/** An answer after which its connection stays open. */
const KEEPING = { fate: "answer", framing: "length" } as const;

/** Serves a request over a connection that stays open. */
async function keep(stage: Stage): Promise<void> {
  stage.plan("a", KEEPING);
  await stage.served({ isStream: false });
}

/** Opens several connections and leaves them idle. */
async function warm(stage: Stage, count: number): Promise<void> {
  const slow = { ...KEEPING, afterMs: 1000 };
  stage.plan("a", ...Array.from({ length: count }, () => slow));
  await Promise.all(
    Array.from({ length: count }, () => stage.served({ isStream: false })),
  );
}

/** Scenes of kept connections, and of responses in small or odd chunks. */
export const POOL_SCENES: Readonly<Record<string, Scene>> = {
  "a request is served once although its kept connection closes": {
    setting: ALONE,
    async run(stage) {
      for (let count = 0; count < 6; count++) {
        await keep(stage);
        await stage.sleep(stage.random.below(100));
        const { random } = stage;
        if (random.below(2) === 0) stage.provider("a").closeIdle();
        else stage.provider("a").breakSockets(false);
        await stage.sleep(random.below(60));
        const one = await stage.ask();
        assert.equal(one.status, 200);
        assert.equal(stage.route(one).length, 1, "it is received once");
      }
    },
  },
  "a request is served in time although all kept connections are silent": {
    setting: () => ({ ...ALONE(), file: { timeouts: { first_byte: 8000 } } }),
    async run(stage) {
      await warm(stage, 5);
      await stage.sleep(500);
      stage.provider("a").breakSockets(true);
      const startedMs = stage.time.elapsedMs();
      const one = await stage.ask();
      assert.equal(one.status, 200, "a new connection serves");
      assert(stage.time.elapsedMs() - startedMs < 15_000);
      const nextMs = stage.time.elapsedMs();
      const next = await Promise.all([stage.ask(), stage.ask(), stage.ask()]);
      assert(next.every(({ status }) => status === 200));
      assert(
        stage.time.elapsedMs() - nextMs < 6000,
        "the other silent ones are not used",
      );
      const line = stage.line(one);
      assert.notEqual(line.moved_for, "silent");
    },
  },
  "lost kept connections cause no cool-down": {
    async run(stage) {
      for (let count = 0; count < 4; count++) {
        await keep(stage);
        await stage.sleep(100);
        stage.provider("a").breakSockets(true);
        // No second attempt at it while another connection can serve.
        assert.deepEqual(await stage.served(), ["b"]);
      }
      assert.deepEqual(await stage.served(), ["a"], "no cool-down");
    },
  },
  "a head that breaks off counts as a failure, even over a kept connection": {
    async run(stage) {
      for (const raw of ["H", "HTTP/1.1 200 O"]) {
        await keep(stage);
        await stage.sleep(100);
        stage.plan("a", { fate: "answer", raw });
        assert.deepEqual(await stage.served(), ["a", "b"], raw);
        await stage.sleep(20_000);
      }
    },
  },
  "an unused connection closes after half a minute": {
    setting: ALONE,
    async run(stage) {
      await warm(stage, 3);
      await stage.sleep(20_000);
      const open = () =>
        [...stage.provider("a").sockets].filter(({ isOver }) => !isOver).length;
      const before = open();
      await stage.served();
      await stage.sleep(11_000);
      assert(open() <= 1, "unused ones are closed");
      assert(before <= 3);
      await stage.sleep(25_000);
      assert.equal(open(), 0);
    },
  },
  "a kept connection serves again, for five minutes at most": {
    setting: ALONE,
    async run(stage) {
      const sockets = new Set<unknown>();
      const everyMs = 10_000;
      for (let count = 0; count < 24; count++) {
        await keep(stage);
        for (const one of stage.provider("a").sockets) sockets.add(one);
        await stage.sleep(everyMs);
      }
      assert(sockets.size < 24, "connections are kept");
      const old = [...stage.provider("a").sockets];
      for (let count = 0; count < 32; count++) {
        await keep(stage);
        await stage.sleep(everyMs);
      }
      const now = stage.provider("a").sockets;
      assert(
        old.every((one) => !now.has(one)),
        "none is older than five minutes",
      );
    },
  },
  "a long answer outlasts the idle time of its connection": {
    setting: ALONE,
    async run(stage) {
      await keep(stage);
      await stage.sleep(25_000);
      stage.plan("a", { fate: "answer", afterMs: 15_000 });
      const one = await stage.ask({ isStream: false });
      assert.equal(one.status, 200);
      assert.deepEqual(stage.route(one), ["a"]);
    },
  },
  "a request whose first write fails opens a new connection in the same attempt":
    {
      setting: ALONE,
      async run(stage) {
        await keep(stage);
        for (const socket of stage.provider("a").sockets) socket.breakUnseen();
        const one = await stage.ask();
        assert.equal(one.status, 200);
        assert.equal(stage.line(one).attempts, undefined, "it has one attempt");
        await keep(stage);
        for (const socket of stage.provider("a").sockets) socket.goodWrites = 1;
        const part = await stage.ask({ promptLength: 300_000 });
        assert.equal(part.status, 200);
        assert(stage.line(part).attempts !== undefined, "a part was sent");
      },
    },
  "surplus bytes after a response reach no other caller": {
    setting: ALONE,
    async run(stage) {
      for (let count = 0; count < 10; count++) {
        stage.plan("a", stage.random.pick(["surplus", "answer"] as const));
        const one = await stage.ask({ isStream: count % 2 === 0 });
        assert.equal(one.status, 200);
        await stage.sleep(stage.random.pick([0, 1, 50, 500]));
      }
    },
  },
  "surplus bytes after a response do not answer the next waiting request": {
    setting: () => ({
      connections: { a: { max_concurrent: 1, queue: { max_wait: 60_000 } } },
    }),
    async run(stage) {
      for (let count = 0; count < 3; count++) {
        const fate = { fate: "surplus", framing: "length" } as const;
        stage.plan("a", fate, fate, fate, fate);
        const asked = await Promise.all(
          Array.from({ length: 4 }, () => stage.ask({ isStream: false })),
        );
        for (const { status } of asked) assert.equal(status, 200);
      }
    },
  },
  "a connection closes when its caller leaves during the answer": {
    setting: ALONE,
    async run(stage) {
      for (const isStream of [true, false]) {
        const protocol = stage.random.pick(["chat", "messages"] as const);
        stage.plan("a", {
          ...{ fate: "stall", stopsAt: "output", afterMs: 10 },
        });
        await stage.ask({ isStream, protocol, leavesAfterMs: 3000 });
        await stage.sleep(200);
        assert.equal(stage.provider("a").sockets.size, 0);
        assert.equal(stage.gateway.state().inFlight, 0);
      }
      for (const isStream of [true, true, false, false]) {
        stage.plan("a", { fate: "stall", stopsAt: "output", afterMs: 10 });
        await stage.ask({ isStream, leavesAfterMs: 3000 });
      }
      assert.deepEqual(
        await stage.served(),
        ["a"],
        "the connection does not cool down",
      );
    },
  },
  "a request that reached its provider is sent again only as a new attempt": {
    setting: ALONE,
    async run(stage) {
      const fates = ["reset before", "close before", "garbage"] as const;
      for (const fate of fates) {
        await warm(stage, 1);
        stage.plan("a", fate);
        const one = await stage.ask();
        assert.equal(one.status, 200);
        const { attempts } = stage.line(one);
        assert(Array.isArray(attempts) && attempts.length === 2);
        assert.deepEqual(stage.route(one), ["a", "a"]);
        await stage.sleep(1000);
      }
    },
  },
  "a connection whose response says `close` is not used again": {
    setting: ALONE,
    async run(stage) {
      for (let count = 0; count < 4; count++) {
        stage.plan("a", {
          ...{ fate: "answer", framing: "length", endsConnection: true },
        });
        await stage.served({ isStream: false });
        const one = await stage.ask();
        assert.equal(one.status, 200);
        assert.equal(stage.line(one).attempts, undefined, "one attempt");
        await stage.sleep(500);
      }
    },
  },
  "the gateway closes a connection before the announced `keep-alive` time": {
    setting: ALONE,
    async run(stage) {
      stage.provider("a").keepAliveSeconds = 5;
      await keep(stage);
      await stage.sleep(3500);
      assert.equal(stage.provider("a").sockets.size, 1);
      await stage.sleep(1000);
      assert.equal(stage.provider("a").sockets.size, 0);
    },
  },
  "a connection stays open after refusals": {
    setting: ALONE,
    async run(stage) {
      for (let count = 0; count < 6; count++) {
        stage.plan("a", "bad request");
        await stage.ask();
        await stage.sleep(stage.random.below(100));
      }
      assert.equal(stage.provider("a").opened, 1);
    },
  },
  "a probe opens a new connection": {
    async run(stage) {
      await coolDown(stage, "a");
      stage.provider("a").breakSockets(true);
      await stage.sleep(1100);
      const startedMs = stage.time.elapsedMs();
      assert.deepEqual(await stage.served(), ["a"]);
      assert(stage.time.elapsedMs() - startedMs < 5000);
    },
  },
  "an answer that arrives byte by byte is whole": {
    setting: ALONE,
    async run(stage) {
      stage.provider("a").mostBytes = 1;
      for (const framing of ["length", "chunked", "close"] as const) {
        for (const isStream of [true, false]) {
          stage.plan("a", { fate: "interim", framing });
          const one = await stage.ask({ isStream });
          assert.equal(one.ending, "complete");
        }
      }
    },
  },
  "a response with a head of nine kilobytes is read": {
    setting: ALONE,
    async run(stage) {
      for (const mostBytes of [100, 3000, Infinity]) {
        stage.provider("a").mostBytes = mostBytes;
        stage.provider("a").closeIdle();
        await stage.sleep(200);
        stage.plan("a", { fate: "answer", hasLongHead: true });
        assert.deepEqual(await stage.served(), ["a"], "in one attempt");
      }
    },
  },
  "a long answer outlasts the deadline of its first byte": {
    setting: () => ({
      ...{ ...ALONE(), family: "B" },
      file: { timeouts: { first_byte: 4000, first_output: 0 } },
    }),
    async run(stage) {
      stage.plan("a", { fate: "answer", isSlowToSpeak: true });
      const one = await stage.ask({ protocol: "messages", isStream: true });
      assert.equal(one.ending, "complete");
      assert.deepEqual(stage.route(one), ["a"]);
    },
  },
  "an odd response is read as the HTTP rules say, or rejected": {
    judgesAlone: true,
    setting: () => ({ family: "A" }),
    async run(stage) {
      const odd = [...ODD_RESPONSES].filter(([, { verdict }]) =>
        typeof verdict === "string" || verdict.body === "hello" &&
          verdict.status === 200
      );
      for (let count = 0; count < 30; count++) {
        const [name, { text, verdict }] = stage.random.pick(odd);
        stage.provider("a").closeIdle();
        // Earlier failures no longer count.
        await stage.sleep(20_000);
        stage.plan("a", { fate: "answer", raw: text });
        const one = await stage.ask({ protocol: "chat", isStream: false });
        assert.equal(one.status, 200, name);
        const isRead = typeof verdict === "object";
        assert.deepEqual(stage.route(one), isRead ? ["a"] : ["a", "b"], name);
        if (isRead) assert.equal(one.text, verdict.body, name);
        assert.deepEqual(await stage.served(), ["a"], `after ${name}`);
      }
    },
  },
};
