import assert from "node:assert/strict";
import { coolDown } from "./failover.ts";
import { ODD_RESPONSES } from "../../http1/client/odd_responses.ts";
import type { Scene, Stage } from "./stage.ts";

const ALONE = () => ({ connections: { a: {} } });

/** Answers that leave their connection open. */
const KEEPING = { fate: "answer", framing: "length" } as const;

/** Is served over a connection that is kept. */
async function keep(stage: Stage): Promise<void> {
  stage.plan("a", KEEPING);
  await stage.served({ isStream: false });
}

/** Opens some connections that are then idle. */
async function warm(stage: Stage, count: number): Promise<void> {
  const slow = { ...KEEPING, afterMs: 1000 };
  stage.plan("a", ...Array.from({ length: count }, () => slow));
  await Promise.all(
    Array.from({ length: count }, () => stage.served({ isStream: false })),
  );
}

/** Scenes of kept connections, and of bytes in unlucky pieces. */
export const POOL_SCENES: Readonly<Record<string, Scene>> = {
  "a connection closes at the moment of its reuse": {
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
  "a pool falls silent": {
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
      assert(stage.time.elapsedMs() - nextMs < 6000, "the others are gone");
      const line = stage.line(one);
      assert.notEqual(line.moved_for, "silent");
    },
  },
  "lost connections blame nobody": {
    async run(stage) {
      for (let count = 0; count < 4; count++) {
        await keep(stage);
        await stage.sleep(100);
        stage.provider("a").breakSockets(true);
        // Nobody waits for it twice while another one can serve.
        assert.deepEqual(await stage.served(), ["b"]);
      }
      assert.deepEqual(await stage.served(), ["a"], "no cool-down");
    },
  },
  "a head that breaks off is a failure, even over a kept connection": {
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
  "an idle connection closes after half a minute": {
    setting: ALONE,
    async run(stage) {
      await warm(stage, 3);
      await stage.sleep(20_000);
      const open = () =>
        [...stage.provider("a").sockets].filter(({ isOver }) => !isOver).length;
      const before = open();
      await stage.served();
      await stage.sleep(11_000);
      assert(open() <= 1, "those that were not used are closed");
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
      assert(old.every((one) => !now.has(one)), "none is older");
    },
  },
  "a long answer does not end with its connection's idle time": {
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
  "a request of which nothing was sent takes a new connection": {
    setting: ALONE,
    async run(stage) {
      await keep(stage);
      for (const socket of stage.provider("a").sockets) socket.breakUnseen();
      const one = await stage.ask();
      assert.equal(one.status, 200);
      assert.equal(stage.line(one).attempts, undefined, "as one attempt");
      await keep(stage);
      for (const socket of stage.provider("a").sockets) socket.goodWrites = 1;
      const part = await stage.ask({ promptLength: 300_000 });
      assert.equal(part.status, 200);
      assert(stage.line(part).attempts !== undefined, "a part was sent");
    },
  },
  "surplus bytes and odd framing mix up nobody": {
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
  "surplus bytes are no answer to the next who waits": {
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
  "a caller that leaves in an answer closes its connection": {
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
      assert.deepEqual(await stage.served(), ["a"], "it blames nobody");
    },
  },
  "a request that reached its provider is sent again only as an attempt": {
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
  "a connection that its provider will end serves no more": {
    setting: ALONE,
    async run(stage) {
      for (let count = 0; count < 4; count++) {
        stage.plan("a", {
          ...{ fate: "answer", framing: "length", endsConnection: true },
        });
        await stage.served({ isStream: false });
        const one = await stage.ask();
        assert.equal(one.status, 200);
        assert.equal(stage.line(one).attempts, undefined, "at once");
        await stage.sleep(500);
      }
    },
  },
  "a connection is closed before its provider closes it": {
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
  "refusals keep their connection": {
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
  "a probe takes no connection that was kept": {
    async run(stage) {
      await coolDown(stage, "a");
      stage.provider("a").breakSockets(true);
      await stage.sleep(1100);
      const startedMs = stage.time.elapsedMs();
      assert.deepEqual(await stage.served(), ["a"]);
      assert(stage.time.elapsedMs() - startedMs < 5000);
    },
  },
  "an answer arrives byte by byte": {
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
  "an answer with a long head": {
    setting: ALONE,
    async run(stage) {
      for (const mostBytes of [100, 3000, Infinity]) {
        stage.provider("a").mostBytes = mostBytes;
        stage.provider("a").closeIdle();
        await stage.sleep(200);
        stage.plan("a", { fate: "answer", hasLongHead: true });
        assert.deepEqual(await stage.served(), ["a"], "it is read at once");
      }
    },
  },
  "a long answer outlives the deadline of its first byte": {
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
  "an odd response is read by the rules, or not at all": {
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
        // Beside a failure of long ago, this one is the first.
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
