import assert from "node:assert/strict";
import type { Asked } from "../world/caller.ts";
import type { Random } from "../../support/fakes/random.ts";
import type { Scene, Setting, Stage } from "./stage.ts";

/** The deadline of a silent provider in these scenes, in milliseconds. */
const SILENCE_MS = 60_000;

/** The longest time for dials, pauses and answers besides the silence, in milliseconds. */
const WAY_MS = 3000;

const MODELS = ["model-one", "model-two"] as const;

/** Returns the entry of a connection that serves the model, with a fallback. */
function own(name: string, hasFallback = true): Setting["connections"] {
  return {
    [name]: {
      models: [{
        ...{ id: MODELS[0], upstream: `${MODELS[0]}-of-${name}` },
        ...hasFallback ? { fallbacks: [MODELS[1]] } : {},
      }],
    },
  };
}

/** The connection that serves the fallback. */
const FALLBACK = {
  z: { models: [{ id: MODELS[1], upstream: `${MODELS[1]}-of-z` }] },
};

/** Returns deadlines: the silence ends at that of the headers, or at that of a stream's first output. */
function timeouts(random: Random): NonNullable<Setting["file"]> {
  const first_output = random.pick([0, SILENCE_MS, 90_000]);
  return { timeouts: { connect: 5000, first_byte: SILENCE_MS, first_output } };
}

/** Serves a request. The seed decides whether its socket stays open; returns true if it does. */
async function keepOrNot(
  stage: Stage,
  { name = "a", ...wish }: { name?: string; session?: string } = {},
): Promise<boolean> {
  const isKept = stage.random.below(3) > 0;
  stage.plan(name, {
    ...{ fate: "answer", framing: "length" },
    ...isKept ? {} : { endsConnection: true },
  });
  assert.deepEqual(await stage.served({ ...wish, isStream: false }), [name]);
  await stage.sleep(500);
  return isKept;
}

/** Returns the time until a caller's first output, in milliseconds. */
function waitedMs({ startedMs, outputMs = Infinity }: Asked): number {
  return outputMs - startedMs;
}

function assertOnce(one: Asked): void {
  assert.equal(one.status, 200);
  const ms = waitedMs(one);
  assert(ms < SILENCE_MS + WAY_MS, `the silence is waited for once: ${ms} ms`);
}

/** Scenes of providers that do not respond. */
export const SILENCE_SCENES: Readonly<Record<string, Scene>> = {
  "a request waits once for a silent provider, then the fallback serves": {
    setting: (random) => ({
      connections: { ...own("a"), ...FALLBACK },
      file: timeouts(random),
    }),
    async run(stage) {
      for (let count = 0; count < 2; count++) {
        await keepOrNot(stage);
        stage.plan("a", "silence", "silence");
        const one = await stage.ask();
        stage.provider("a").planned.length = 0;
        assert.deepEqual(stage.route(one), ["a", "z"]);
        assertOnce(one);
        assert.equal(one.headers?.get("x-gateway-model"), "model-two");
      }
    },
  },
  "a healthy connection serves before the fallback and a second try of a silent one":
    {
      setting: (random) => ({
        connections: { ...own("a"), ...own("b"), ...FALLBACK },
        file: timeouts(random),
      }),
      async run(stage) {
        for (let count = 0; count < 2; count++) {
          await keepOrNot(stage);
          stage.plan("a", "silence", "silence");
          const one = await stage.ask();
          stage.provider("a").planned.length = 0;
          assert.deepEqual(stage.route(one), ["a", "b"]);
          assertOnce(one);
        }
        await keepOrNot(stage);
        stage.plan("a", "silence");
        stage.plan("b", stage.random.pick(["server error", "close before"]));
        const last = await stage.ask();
        assert.deepEqual(stage.route(last), ["a", "b", "z"]);
        assertOnce(last);
      },
    },
  "a conversation moves from its silent connection although requests may queue":
    {
      setting: (random) => ({
        connections: { ...own("a"), ...own("b"), ...FALLBACK },
        file: {
          ...timeouts(random),
          defaults: { queue: { max_wait: 60_000 } },
        },
      }),
      async run(stage) {
        const session = "session-of-silence-1";
        await keepOrNot(stage, { session });
        stage.plan("a", "silence");
        const one = await stage.ask({ session });
        assert.deepEqual(stage.route(one), ["a", "b"]);
        assertOnce(one);
        assert.equal(stage.line(one).moved_for, "silent");
        assert.deepEqual(await stage.served({ session }), ["b"]);
      },
    },
  "a request waits for a slot of another connection instead of a silent one": {
    setting: (random) => ({
      connections: {
        ...own("a", false),
        b: { ...own("b", false)?.b, max_concurrent: 1 },
      },
      file: {
        ...timeouts(random),
        defaults: { queue: { max_wait: 60_000 } },
      },
    }),
    async run(stage) {
      stage.plan("a", { fate: "answer", framing: "length" });
      await stage.served({ isStream: false });
      stage.plan("a", "silence", "server error");
      const one = stage.ask();
      await stage.sleep(SILENCE_MS / 2);
      stage.plan("b", { fate: "answer", afterMs: SILENCE_MS - 5000 });
      const running = stage.ask({ agent: "bob", isStream: false });
      assert.deepEqual(stage.route(await one), ["a", "b"]);
      assert.deepEqual(stage.route(await running), ["a", "b"]);
      assert(Number(stage.line(await one).waited_ms) > 3000);
    },
  },
  "the only connection gets a second attempt after its kept socket was silent":
    {
      setting: (random) => ({
        connections: own("a", false) ?? {},
        file: {
          timeouts: {
            ...{ connect: 5000, first_byte: SILENCE_MS, idle: 30_000 },
            first_output: random.pick([0, 90_000]),
          },
        },
      }),
      async run(stage) {
        stage.plan("a", { fate: "answer", framing: "length" });
        await stage.served({ isStream: false });
        stage.plan("a", "silence");
        const one = await stage.ask();
        assert.deepEqual(stage.route(one), ["a", "a"]);
        assertOnce(one);
        stage.plan("a", { fate: "answer", framing: "length" });
        await stage.served({ isStream: false });
        stage.plan("a", "silence", "silence");
        const last = await stage.ask();
        assert.equal(last.status, 504);
        assert.deepEqual(stage.route(last), ["a", "a"]);
      },
    },
  "the only connection gets no second attempt after the deadline of the first output":
    {
      setting: () => ({
        connections: own("a", false) ?? {},
        file: {
          timeouts: {
            ...{ connect: 5000, first_byte: 300_000, idle: 30_000 },
            first_output: SILENCE_MS,
          },
        },
      }),
      async run(stage) {
        stage.plan("a", { fate: "answer", framing: "length" });
        await stage.served({ isStream: false });
        stage.plan("a", "silence");
        const one = await stage.ask({ isStream: true });
        assert.equal(one.status, 504);
        assert.deepEqual(stage.route(one), ["a"]);
        const { startedMs, endedMs = Infinity } = one;
        assert(endedMs - startedMs < SILENCE_MS + WAY_MS);
        assert.deepEqual(
          await stage.served(),
          ["a"],
          "the connection does not cool down",
        );
      },
    },
  "a silent connection gets a second attempt when the other cannot be dialed": {
    setting: (random) => ({
      connections: {
        ...own("a", false),
        ...random.below(2) === 0 ? own("b", false) : {},
        ...FALLBACK,
      },
      file: { timeouts: { connect: 5000, first_byte: SILENCE_MS } },
    }),
    async run(stage) {
      const { random } = stage;
      stage.plan("a", { fate: "answer", framing: "length" });
      await stage.served({ isStream: false });
      stage.plan("a", "silence");
      const hasOther = stage.providers.some(({ name }) => name === "b");
      if (hasOther) {
        stage.provider("b").dials.push(random.pick(["refuse", "hang"]));
      }
      const one = await stage.ask();
      assert.deepEqual(stage.route(one), ["a", "a"]);
      assert.equal(one.status, 200);
      assert(waitedMs(one) < SILENCE_MS + 5000 + WAY_MS);
    },
  },
  "no second lost socket is used when all kept sockets are lost at once": {
    setting: () => ({
      connections: { ...own("a", false), ...own("b", false) },
      file: { timeouts: { connect: 5000, first_byte: 8000 } },
    }),
    async run(stage) {
      const keeping = { fate: "answer", framing: "length" } as const;
      stage.plan("a", "server error", keeping);
      stage.plan("b", keeping);
      assert.deepEqual(await stage.served({ isStream: false }), ["a", "b"]);
      assert.deepEqual(await stage.served({ isStream: false }), ["a"]);
      // Before the idle sockets close.
      for (const { name } of stage.providers) {
        stage.provider(name).breakSockets(true);
      }
      const one = await stage.ask();
      assert(waitedMs(one) < 8000 + WAY_MS, "no other lost socket is used");
      assert.deepEqual(
        stage.route(one),
        ["b"],
        "the first attempt never arrived",
      );
      assert.deepEqual(
        await stage.served(),
        ["a"],
        "the connection does not cool down",
      );
    },
  },
  "a request waits once for each of two silent providers": {
    setting: (random) => ({
      connections: { ...own("a", false), ...own("b", false) },
      file: timeouts(random),
    }),
    async run(stage) {
      await keepOrNot(stage);
      stage.plan("a", "silence", "silence");
      stage.plan("b", "silence");
      const one = await stage.ask();
      assert.equal(one.status, 504);
      assert.deepEqual(stage.route(one), ["a", "b"]);
    },
  },
  "the fallback serves when a connection closes after a long silence": {
    setting: () => ({
      connections: { ...own("a"), ...FALLBACK },
      file: { timeouts: { connect: 5000, first_byte: 90_000 } },
    }),
    async run(stage) {
      for (const fate of ["reset before", "close before"] as const) {
        await keepOrNot(stage);
        stage.plan("a", { fate, afterMs: SILENCE_MS });
        const one = await stage.ask();
        assert.deepEqual(stage.route(one), ["a", "z"]);
        assertOnce(one);
      }
    },
  },
  "another connection serves instead of a second wait for Retry-After": {
    async run(stage) {
      const limited = { fate: "rate limit", retryAfter: 4 } as const;
      stage.plan("a", limited, limited, limited);
      const one = await stage.ask();
      assert.equal(one.status, 200);
      assert.deepEqual(stage.route(one), ["a", "a", "b"]);
      assert(waitedMs(one) < 4400 + WAY_MS);
    },
  },
};
