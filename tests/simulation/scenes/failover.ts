import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import { type Scene, type Stage } from "./stage.ts";

const ALONE = () => ({ connections: { a: {} } });

/** Failures after which the same connection is tried again. */
const PASSING = [
  "server error",
  "overloaded",
  "reset before",
  "close before",
] as const;

/** Failures after which another connection is tried. */
const FAILING = [
  ...PASSING,
  "unauthorized",
  "garbage",
  "error in 200",
  "early refusal",
] as const;

/** Failures of an answer that has begun. */
const BREAKING = ["reset within", "cut", "cut off", "error in stream"] as const;

/** Returns the duration of a request, in milliseconds. */
function tookMs({ startedMs, endedMs }: {
  readonly startedMs: number;
  readonly endedMs: number | undefined;
}): number {
  return (endedMs ?? Infinity) - startedMs;
}

/** Makes a connection fail until it cools down. */
export async function coolDown(stage: Stage, name: string): Promise<void> {
  for (let count = 0; count < 3; count++) {
    stage.plan(name, "server error", "server error", "server error");
    await stage.ask();
    stage.provider(name).planned.length = 0;
  }
}

/** Scenes of attempts: when another one follows, where, and when none does. */
export const FAILOVER_SCENES: Readonly<Record<string, Scene>> = {
  "another connection serves after a failure": {
    async run(stage) {
      for (const fate of FAILING) {
        // A kept socket may close without a fault of the provider, so its request would be tried again.
        stage.provider("a").closeIdle();
        await stage.sleep(100);
        stage.plan("a", fate);
        const one = await stage.ask({ promptLength: 100_000 });
        assert.equal(one.status, 200);
        assert.deepEqual(stage.route(one), ["a", "b"], fate);
        const { attempts, connection, usage } = stage.line(one);
        assert(Array.isArray(attempts) && attempts.length === 2);
        assert(attempts[0].failure !== undefined, "its failure has a word");
        assert.equal(attempts[1].failure, undefined);
        assert.equal(connection, "b");
        assert(usage !== undefined);
        await stage.sleep(20_000);
        assert.deepEqual(await stage.served(), ["a"], "success clears it");
      }
    },
  },
  "a conversation with another protocol's reasoning continues at its first connection":
    {
      judgesAlone: true,
      async run(stage) {
        const { protocols: [protocol = "chat"] } = stage.provider("a");
        const { protocols: [other = "chat"] } = stage.provider("b");
        const wish = { protocol, isStream: false } as const;
        stage.plan("a", "server error");
        stage.plan("b", { fate: "answer", raw: THOUGHT_IN[other] });
        const first = await stage.ask(wish);
        assert.equal(first.status, 200);
        const said = saidIn(first.text, protocol);
        const sealed = JSON.stringify(said);
        assert.equal(sealed.includes('"mg1.'), protocol !== other, sealed);
        const again = { role: "user", content: "And now?" };
        const second = await stage.ask({ ...wish, said: [...said, again] });
        assert.equal(second.status, 200);
        assert.deepEqual(
          stage.route(second),
          ["a"],
          "its first connection serves",
        );
        const text = JSON.stringify(stage.entries(second)[0]?.body);
        assert(text.includes("It rains") && text.includes("And now?"));
        assert(!text.includes('"mg1.'), text);
      },
    },
  "another connection serves when a dial does not open": {
    async run(stage) {
      const dial = stage.random.pick(["refuse", "hang", "late"] as const);
      stage.provider("a").dials.push(dial);
      const one = await stage.ask();
      assert.equal(one.status, 200);
      assert.deepEqual(stage.route(one), ["b"]);
      assert(tookMs(one) < 15_000, "the dial has its deadline");
      await stage.sleep(70_000);
      const { sockets } = stage.provider("a");
      assert.equal(sockets.size, 0, "a late socket is closed");
    },
  },
  "a request ends when its caller leaves": {
    async run(stage) {
      for (const leavesAfterMs of [1, 30, 700, 3000]) {
        const fate = stage.random.pick(["silence", "stall"] as const);
        stage.plan("a", { fate, stopsAt: "output", afterMs: 100 });
        const one = await stage.ask({ leavesAfterMs, isStream: true });
        const leftMs = one.startedMs + leavesAfterMs;
        await stage.sleep(2500);
        const entries = stage.entries(one);
        assert(entries.length <= 1, "no other provider receives it");
        for (const { endedMs } of entries) {
          assert((endedMs ?? Infinity) <= leftMs + 2200, "its exchange ends");
        }
        assert.equal(stage.gateway.state().inFlight, 0);
        stage.provider("a").planned.length = 0;
      }
      for (let count = 0; count < 3; count++) {
        stage.plan("a", { fate: "silence" });
        await stage.ask({ leavesAfterMs: 2500 });
        await stage.sleep(1000);
      }
      assert.deepEqual(
        await stage.served(),
        ["a"],
        "the connection does not cool down",
      );
    },
  },
  "a refusal whose body stops in its middle counts as a failure": {
    async run(stage) {
      const half = { fate: "server error", isHalf: true } as const;
      stage.plan("a", half);
      const left = await stage.ask({ leavesAfterMs: 2500 });
      await stage.sleep(30_000);
      assert.deepEqual(stage.route(left), ["a"], "no attempt follows");
      stage.plan("a", half);
      const one = await stage.ask();
      assert.equal(one.status, 200);
      assert.deepEqual(stage.route(one), ["a", "b"]);
      assert(tookMs(one) < 60_000);
      const [first] = stage.entries(one);
      assert(first?.endedMs !== undefined, "its connection is closed");
    },
  },
  "a dial ends when its caller leaves": {
    setting: ALONE,
    async run(stage) {
      stage.provider("a").dials.push("hang");
      const one = await stage.ask({ leavesAfterMs: 2200 });
      await stage.sleep(500);
      const [hung] = stage.provider("a").hung;
      assert(hung, "it was dialed");
      assert(hung.endedMs < one.startedMs + 3000, "the dial ends with it");
    },
  },
  "the pause before a repeat ends when the caller leaves": {
    setting: ALONE,
    async run(stage) {
      stage.plan("a", { fate: "rate limit", retryAfter: 4, afterMs: 10 });
      const one = await stage.ask({ leavesAfterMs: 2000 });
      await stage.sleep(200);
      assert.equal(stage.gateway.state().inFlight, 0, "the pause ends");
      await stage.sleep(10_000);
      assert.deepEqual(stage.route(one), ["a"], "no attempt follows");
    },
  },
  "the only connection is tried again after a pause": {
    setting: ALONE,
    async run(stage) {
      const count = 1 + stage.random.below(2);
      const fate = stage.random.pick(PASSING);
      stage.plan("a", ...Array.from({ length: count }, () => fate));
      const one = await stage.ask();
      assert.equal(one.status, 200);
      assert.equal(stage.route(one).length, 1 + count);
      const [first, ...later] = stage.entries(one);
      let beforeMs = first?.endedMs ?? 0;
      for (const { receivedMs, endedMs = 0 } of later) {
        assert(receivedMs - beforeMs >= 200, "a pause comes first");
        beforeMs = endedMs;
      }
    },
  },
  "a request waits for a short Retry-After": {
    setting: (random) => random.below(2) === 0 ? ALONE() : {},
    async run(stage) {
      const retryAfter = stage.random.pick([1, 3, 5]);
      stage.plan("a", { fate: "rate limit", retryAfter });
      const one = await stage.ask();
      assert.equal(one.status, 200);
      assert.deepEqual(
        stage.route(one),
        ["a", "a"],
        "the same connection serves",
      );
      const [first, second] = stage.entries(one);
      const waitedMs = (second?.receivedMs ?? 0) - (first?.endedMs ?? 0);
      assert(waitedMs >= 1000 * retryAfter, `it waited ${waitedMs} ms`);
    },
  },
  "a request does not wait for a long Retry-After": {
    setting: (random) => random.below(2) === 0 ? ALONE() : {},
    async run(stage) {
      const retryAfter = stage.random.pick([20, 1000, 100_000]);
      stage.plan("a", { fate: "rate limit", retryAfter });
      const one = await stage.ask();
      assert(tookMs(one) < 10_000);
      if (stage.providers.length > 1) {
        assert.deepEqual(stage.route(one), ["a", "b"]);
        return;
      }
      assert.equal(one.status, 429);
      assert.deepEqual(stage.route(one), ["a"]);
      assert(one.headers?.get("retry-after"), "it has a Retry-After");
      await stage.sleep(3_700_000);
      assert.deepEqual(
        await stage.served(),
        ["a"],
        "the wait is an hour at most",
      );
    },
  },
  "no other connection gets an invalid request": {
    async run(stage) {
      for (let count = 0; count < 4; count++) {
        stage.plan("a", "bad request");
        const one = await stage.ask();
        assert.equal(one.status, 400);
        assert.deepEqual(stage.route(one), ["a"]);
      }
      assert.deepEqual(
        await stage.served(),
        ["a"],
        "the connection does not cool down",
      );
    },
  },
  "a request has three attempts and tries each connection before a repeat": {
    async run(stage) {
      const fate = stage.random.pick(PASSING);
      stage.plan("a", fate, fate);
      stage.plan("b", fate, fate);
      const one = await stage.ask();
      assert(one.status !== 200);
      const route = stage.route(one);
      assert.equal(route.length, 3);
      assert.deepEqual(route.slice(0, 2), ["a", "b"]);
      assert.equal(stage.gateway.state().inFlight, 0);
    },
  },
  "a fallback serves when both connections of the model fail": {
    setting: () => ({
      connections: {
        c: {
          models: [{ id: "model-two", upstream: "model-two-of-c" }],
        },
        ...Object.fromEntries(["a", "b"].map((name) => [name, {
          models: [{
            id: "model-one",
            upstream: `model-one-of-${name}`,
            fallbacks: ["model-two"],
          }],
        }])),
      },
    }),
    async run(stage) {
      const session = "session-fallback-1";
      const ask = { session, protocol: "responses" } as const;
      assert.deepEqual(await stage.served(ask), ["a"]);
      stage.plan("a", "server error");
      stage.plan("b", "server error");
      const one = await stage.ask(ask);
      assert.deepEqual(stage.route(one), ["a", "b", "c"]);
      assert.equal(one.headers?.get("x-gateway-model"), "model-two");
      assert.deepEqual(await stage.served(ask), ["a"], "it does not move");
    },
  },
  "another connection serves when an answer fails before its output": {
    async run(stage) {
      const fate = stage.random.pick(
        ["error in stream", "cut", "reset within", "stall"] as const,
      );
      const stopsAt = stage.random.below(2);
      stage.plan("a", { fate, stopsAt });
      const one = await stage.ask({ isStream: true });
      assert.equal(one.status, 200);
      assert.equal(one.ending, "complete");
      assert.deepEqual(stage.route(one), ["a", "b"]);
      assert(tookMs(one) < 60_000, "the first output has its deadline");
      const [entry] = stage.entries(one);
      assert((entry?.endedMs ?? Infinity) < one.startedMs + 21_000);
    },
  },
  "an attempt at a silent provider ends at its deadline": {
    setting: (random) => ({
      ...random.below(2) === 0 ? ALONE() : {},
      file: {
        timeouts: {
          ...{ connect: 5000, first_byte: random.pick([8000, 60_000]) },
          ...{ first_output: 15_000, idle: 30_000 },
        },
      },
    }),
    async run(stage) {
      const isStream = stage.random.below(2) === 0;
      const { firstByteMs, firstOutputMs } = stage.config.timeouts;
      const mostMs = isStream
        ? Math.min(firstByteMs, firstOutputMs)
        : firstByteMs;
      stage.plan("a", "silence", "silence", "silence");
      const one = await stage.ask({ isStream });
      assert.equal(one.status, stage.providers.length > 1 ? 200 : 504);
      for (const { receivedMs, endedMs = Infinity } of stage.entries(one)) {
        assert(endedMs - receivedMs <= mostMs + 5000, "it ends in time");
      }
      const [first] = stage.entries(one);
      const waitedMs = (first?.endedMs ?? 0) - (first?.receivedMs ?? 0);
      assert(waitedMs > mostMs - 500, "it does not end early");
    },
  },
  "the deadline of the first output includes the time until the headers": {
    async run(stage) {
      stage.plan("a", { fate: "stall", stopsAt: 0, afterMs: 15_000 });
      const one = await stage.ask({ isStream: true });
      const [first] = stage.entries(one);
      assert.deepEqual(stage.route(one), ["a", "b"]);
      assert((first?.endedMs ?? Infinity) < one.startedMs + 21_000);
    },
  },
  "the beginning of an answer is held back only while another connection is left":
    {
      setting: () => ({
        connections: { a: {}, b: {}, c: {}, d: {} },
        file: { timeouts: { first_output: 0, idle: 30_000 } },
      }),
      async run(stage) {
        const native = (name: string) => ({
          protocol: stage.provider(name).protocol,
          isStream: true,
        });
        stage.plan("a", { fate: "error in stream", stopsAt: 0 });
        const first = await stage.ask(native("a"));
        assert.deepEqual(stage.route(first), ["a", "b"]);
        stage.plan("a", "server error");
        stage.plan("b", "server error");
        stage.plan("c", { fate: "stall", stopsAt: 1 });
        const last = await stage.ask(native("c"));
        assert.deepEqual(stage.route(last), ["a", "b", "c"]);
        const waitedMs = (last.outputMs ?? Infinity) - last.startedMs;
        assert(waitedMs < 10_000, "the last attempt's beginning is not held");
      },
    },
  "a repeat opens a new socket": {
    setting: ALONE,
    async run(stage) {
      stage.plan("a", { fate: "reset before", afterMs: 3000 });
      stage.plan("a", { fate: "answer", framing: "length" });
      const one = stage.ask();
      await stage.sleep(500);
      await stage.served({ isStream: false });
      // The network drops the socket that is idle now.
      const [, idle] = stage.provider("a").sockets;
      assert(idle);
      idle.isLost = true;
      const { status, startedMs, endedMs = Infinity } = await one;
      assert.equal(status, 200);
      assert(endedMs - startedMs < 12_000, "it does not use the lost socket");
    },
  },
  "an attempt that does not open is logged without another's status": {
    setting: () => ({ connections: { a: {}, b: {}, c: {} } }),
    async run(stage) {
      stage.plan("a", "server error");
      stage.provider("b").dials.push("refuse");
      const one = await stage.ask();
      assert.equal(one.status, 200);
      const { attempts } = stage.line(one);
      assert(Array.isArray(attempts));
      const [, { status, failure }] = attempts;
      assert.deepEqual([status, failure], [undefined, "unreachable"]);
    },
  },
  "an answer that goes silent ends at its deadline": {
    async run(stage) {
      stage.plan("a", { fate: "stall", stopsAt: "output", afterMs: 10 });
      const one = await stage.ask({ isStream: true, protocol: "messages" });
      assert(one.ending === "broken" || /event: error/.test(one.text));
      assert(tookMs(one) < 60_000);
      const line = stage.line(one);
      assert.equal(line.ended, "upstream_broken");
      assert.equal(line.failure, "silent");
      const [{ endedMs } = { endedMs: undefined }] = stage.entries(one);
      assert(endedMs !== undefined, "its connection is closed");
    },
  },
  "a request whose body stops ends at its deadline": {
    async run(stage) {
      for (const stops of ["silent", "broken"] as const) {
        const one = await stage.ask({ stops });
        assert(tookMs(one) < 61_000);
        if (stops === "silent") assert.equal(one.status, 408);
        assert.deepEqual(stage.route(one), []);
        assert.equal(stage.gateway.state().inFlight, 0);
        assert.equal(stage.gateway.state().bodyMemoryBytes, 0);
        const line = stage.log.entries.at(-1);
        if (stops === "broken") {
          assert.equal(line?.fields.ended, "client_abort");
        }
      }
    },
  },
  "the memory of long bodies is freed": {
    async run(stage) {
      for (const protocol of ["chat", "messages", "responses"] as const) {
        const wish = { protocol, promptLength: 400_000 };
        stage.plan("a", "server error", "answer", "stall", "answer");
        const all = [0, 1, 2, 3].map((at) =>
          stage.ask({
            ...wish,
            isPrompt: at % 2 === 0,
            ...at === 3 ? { leavesAfterMs: 3000 } : {},
          })
        );
        await Promise.all(all);
        await stage.sleep(1000);
        stage.provider("a").planned.length = 0;
        assert.equal(stage.gateway.state().bodyMemoryBytes, 0, protocol);
      }
    },
  },
  "a running request keeps the memory of its body": {
    async run(stage) {
      const { server, ...config } = stage.config;
      stage.replica.configs.swap({
        ...config,
        server: { ...server, maxBodyMemoryBytes: 1_000_000 },
      });
      stage.plan("a", { fate: "answer", afterMs: 5000 });
      const { protocol } = stage.provider("a");
      const running = stage.served({ protocol, promptLength: 600_000 });
      await stage.sleep(1000);
      const wish = { protocol, agent: "bob", promptLength: 500_000 };
      assert.equal((await stage.ask(wish)).status, 503);
      await running;
      assert.deepEqual(await stage.served(wish), ["a"]);
    },
  },
  "the repeats of many requests share a budget": {
    setting: ALONE,
    async run(stage) {
      stage.plan(
        "a",
        ...Array.from({ length: 60 }, () => "overloaded" as const),
      );
      const crowd = await Promise.all(
        Array.from({ length: 20 }, async () => {
          await stage.sleep(stage.random.below(50));
          return await stage.ask({ isStream: false });
        }),
      );
      const repeats = crowd.map((one) =>
        Math.max(0, stage.route(one).length - 1)
      )
        .reduce((sum, one) => sum + one);
      assert(repeats <= 12, `${repeats} repeats`);
      stage.provider("a").planned.length = 0;
      await stage.sleep(40_000);
      assert.deepEqual(await stage.served(), ["a"]);
      stage.plan("a", "overloaded");
      assert.deepEqual(
        await stage.served(),
        ["a", "a"],
        "the budget is renewed",
      );
    },
  },
  "a key in an answer is masked": {
    judgesAlone: true,
    async run(stage) {
      stage.plan("a", { fate: "answer", leaks: true });
      const one = await stage.ask();
      assert.equal(one.status, 200);
      assert(!one.text.includes("sk-secret"), "the key is masked");
    },
  },
  "a deployment cools down after three answers that broke off": {
    async run(stage) {
      for (const framing of ["chunked", "close"] as const) {
        for (const fate of BREAKING) {
          for (let count = 0; count < 3; count++) {
            stage.plan("a", { fate, framing, stopsAt: "output", afterMs: 10 });
            // A native stream of Responses may end with a failure like any other event.
            const protocol = stage.random.pick(["chat", "messages"] as const);
            const one = await stage.ask({ isStream: true, protocol });
            const { ended, attempts } = stage.line(one);
            // A reset may come before the output has been read. On a kept socket, it does not count as a failure.
            const [, second] = stage.route(one);
            if (second !== undefined) {
              const isLost = Array.isArray(attempts) &&
                attempts[0].failure === "unreachable";
              if (second === "a") count = -1;
              else if (isLost) count--;
              continue;
            }
            assert.equal(ended, "upstream_broken", `${fate}, ${framing}`);
          }
          assert.deepEqual(await stage.served(), ["b"]);
          await stage.sleep(20_000);
          assert.deepEqual(await stage.served(), ["a"], "the cool-down ends");
        }
      }
    },
  },
  "a translated stream shows the pings of a slow provider": {
    setting: () => ({ family: "B" }),
    async run(stage) {
      stage.plan("a", { fate: "answer", isSlowToSpeak: true });
      const one = await stage.ask({ protocol: "messages", isStream: true });
      assert.equal(one.ending, "complete");
      assert((one.outputMs ?? Infinity) - one.startedMs < 5000);
    },
  },
  "a whole answer counts as complete although its caller leaves": {
    async run(stage) {
      for (let count = 0; count < 4; count++) {
        stage.plan("a", { fate: "linger", afterMs: 10 });
        const one = await stage.ask({ isStream: true, leavesAfterMs: 4000 });
        // The socket has this time for the end of its answer.
        await stage.sleep(1000);
        assert.equal(stage.line(one).ended, "complete");
        const [{ endedMs } = { endedMs: undefined }] = stage.entries(one);
        assert(endedMs !== undefined, "its connection is closed");
      }
      for (const protocol of ["chat", "messages", "responses"] as const) {
        stage.plan("a", { fate: "linger", afterMs: 10 });
        const wish = { isStream: true, leavesAtEnd: true, protocol };
        const one = await stage.ask(wish);
        await stage.sleep(100);
        assert.equal(stage.line(one).ended, "complete", protocol);
      }
      assert.deepEqual(
        await stage.served(),
        ["a"],
        "the connection does not cool down",
      );
    },
  },
};

/** A whole answer with reasoning, in each protocol. */
const THOUGHT_IN: Readonly<Record<Protocol, string>> = {
  chat: whole({
    ...{ id: "chatcmpl-1", object: "chat.completion", created: 1, model: "m" },
    choices: [{
      ...{ index: 0, finish_reason: "stop" },
      message: {
        ...{ role: "assistant", content: "It rains", reasoning: "Rain?" },
        reasoning_details: [{ type: "reasoning.encrypted", data: "sig-1" }],
      },
    }],
    usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 },
  }),
  messages: whole({
    ...{ id: "msg_1", type: "message", role: "assistant", model: "m" },
    content: [
      { type: "thinking", thinking: "Rain?", signature: "sig-1" },
      { type: "text", text: "It rains" },
    ],
    ...{ stop_reason: "end_turn", stop_sequence: null },
    usage: { input_tokens: 10, output_tokens: 10 },
  }),
  responses: whole({
    ...{ id: "resp_1", object: "response", status: "completed", model: "m" },
    output: [
      {
        ...{ id: "rs_1", type: "reasoning", encrypted_content: "sig-1" },
        summary: [{ type: "summary_text", text: "Rain?" }],
      },
      {
        ...{ id: "msg_1", type: "message", role: "assistant" },
        ...{ status: "completed" },
        content: [{ type: "output_text", text: "It rains", annotations: [] }],
      },
    ],
    usage: { input_tokens: 10, output_tokens: 10, total_tokens: 20 },
  }),
};

/** Returns the messages of an answer that a client sends back. */
function saidIn(answer: string, protocol: Protocol): JsonObject[] {
  const body = JSON.parse(answer);
  switch (protocol) {
    case "chat":
      return [body.choices[0].message];
    case "messages":
      return [{ role: "assistant", content: body.content }];
    case "responses":
      return body.output;
  }
}

/** Returns the bytes of a whole response. */
function whole(body: object): string {
  const text = JSON.stringify(body);
  return `HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
}
