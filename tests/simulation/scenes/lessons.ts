import assert from "node:assert/strict";
import type { Asked } from "../world/caller.ts";
import type { Scene } from "./stage.ts";

const DAY_MS = 24 * 3600_000;

/** A request whose translation to Chat Completions has a field that some providers reject. */
const WARM = { protocol: "messages", fields: { temperature: 0.5 } } as const;

/** A strict tool with an optional property. Its name has the text of two refusals. */
const HOSTILE_TOOL = {
  name: "f",
  strict: true,
  input_schema: {
    type: "object",
    properties: {
      "x Unsupported parameter: strict Unsupported parameter: temperature": {
        type: "string",
      },
    },
    required: [],
    additionalProperties: false,
  },
};

/** Scenes of fields that a provider refuses in translated requests. */
export const LESSON_SCENES: Readonly<Record<string, Scene>> = {
  "a request that is sent again after a lesson has a new deadline": {
    judgesAlone: true,
    setting: () => ({
      ...{ connections: { a: {} }, family: "A" },
      file: { timeouts: { first_byte: 60_000, first_output: 60_000 } },
    }),
    async run(stage) {
      stage.provider("a").unknownFields.add("temperature");
      // The body of a refusal may take half a minute.
      stage.plan("a", "answer", { fate: "answer", afterMs: 40_000 });
      assert.deepEqual(await stage.served(WARM), ["a", "a"]);
    },
  },
  "a refused field is left out for a day": {
    // The request is sent again after a 400.
    judgesAlone: true,
    setting: (random) => ({
      ...{ connections: { a: {} }, family: "A" },
      ...random.pick([{}, { threads: 2 }, { replicas: 2 }]),
    }),
    async run(stage) {
      const provider = stage.provider("a");
      const last = stage.replicas.length - 1;
      if (stage.hasStore) await stage.sleep(1000);
      provider.unknownFields.add("temperature");
      const one = await stage.ask({ at: 0, ...WARM });
      assert.equal(one.status, 200);
      assert.deepEqual(stage.route(one), ["a", "a"]);
      const [first, second] = stage.entries(one);
      assert.equal(first?.body.temperature, 0.5);
      assert.equal(second?.body.temperature, undefined);
      assert.match(one.headers?.get("x-gateway-dropped") ?? "", /temperature/);
      assert.deepEqual(stage.line(one).attempts, undefined, "it is no attempt");
      assert(stage.line(one).lesson !== undefined);
      const learned = () =>
        stage.log.entries.filter(({ event }) => event === "lesson_learned");
      assert.equal(learned().length, 1);
      await stage.sleep(500);
      assert.deepEqual(await stage.served({ at: last, ...WARM }), ["a"]);
      assert.deepEqual(await stage.served({ at: last }), ["a"]);
      const native = await stage.ask({ ...WARM, protocol: "chat" });
      assert.equal(native.status, 400, "a native request gets the refusal");
      assert.deepEqual(stage.route(native), ["a"]);
      await stage.sleep(DAY_MS - 10_000);
      assert.deepEqual(await stage.served({ at: 0, ...WARM }), ["a"]);
      await stage.sleep(20_000);
      provider.unknownFields.clear();
      const later = await stage.ask({ at: 0, ...WARM });
      assert.deepEqual(
        stage.route(later),
        ["a"],
        "a day later the field is sent",
      );
      assert.equal(stage.entries(later)[0]?.body.temperature, 0.5);
      provider.unknownFields.add("temperature");
      assert.deepEqual(await stage.served({ at: 0, ...WARM }), ["a", "a"]);
      await stage.reload();
      assert.deepEqual(await stage.served({ at: 0, ...WARM }), ["a", "a"]);
    },
  },
  "a refusal of one caller changes only this caller's requests, refusals of two change all":
    {
      judgesAlone: true,
      setting: (random) => ({
        ...{ connections: { a: {} }, family: "A" },
        ...random.pick([{}, { threads: 2 }, { replicas: 2 }]),
      }),
      async run(stage) {
        const last = stage.replicas.length - 1;
        if (stage.hasStore) await stage.sleep(1000);
        stage.provider("a").unknownFields.add("temperature");
        const served = async (agent: string, at: number) => {
          const route = await stage.served({ agent, at, ...WARM });
          await stage.sleep(500);
          return route.length;
        };
        assert.equal(await served("alice", 0), 2);
        assert.equal(await served("alice", last), 1);
        assert.equal(await served("bob", last), 2, "he has not been refused");
        assert.equal(await served("carol", 0), 1, "two have");
        assert.equal(await served("carol", last), 1);
        const offered = stage.log.entries.filter(({ event, fields }) =>
          event === "lesson_learned" && fields.config !== undefined
        );
        assert.equal(offered.length, 1);
      },
    },
  "a name with the text of a refusal teaches no lesson": {
    judgesAlone: true,
    setting: () => ({ connections: { a: {} }, family: "A" }),
    async run(stage) {
      stage.provider("a").quotesNames = true;
      const plain = { ...WARM, agent: "carol" };
      assert.deepEqual(await stage.served(plain), ["a"]);
      for (const agent of ["alice", "bob"]) {
        const one = await stage.ask({
          ...{ agent, protocol: "messages" },
          fields: { temperature: 0.5, tools: [HOSTILE_TOOL] },
        });
        assert.equal(stage.entries(one)[0]?.body.temperature, 0.5);
      }
      const later = await stage.ask(plain);
      assert.deepEqual(stage.route(later), ["a"]);
      assert.equal(stage.entries(later)[0]?.body.temperature, 0.5);
      assert.equal(stage.line(later).lesson, undefined);
    },
  },
  "the caller gets the refusal of a field that cannot be left out": {
    judgesAlone: true,
    setting: () => ({ connections: { a: {} }, family: "A" }),
    async run(stage) {
      stage.provider("a").unknownFields.add("messages");
      for (let count = 0; count < 4; count++) {
        const one = await stage.ask({ protocol: "messages" });
        assert.equal(one.status, 400);
        assert.deepEqual(stage.route(one), ["a"]);
      }
      stage.provider("a").unknownFields.clear();
      assert.deepEqual(
        await stage.served(),
        ["a"],
        "the connection does not cool down",
      );
    },
  },
  "one request learns at most two lessons": {
    judgesAlone: true,
    setting: () => ({ connections: { a: {} }, family: "A" }),
    async run(stage) {
      const { unknownFields } = stage.provider("a");
      const fields = {
        ...{ temperature: 0.5, top_p: 0.5 },
        metadata: { user_id: "u-1" },
      };
      for (const one of ["temperature", "top_p", "user"]) {
        unknownFields.add(one);
      }
      const wish = { protocol: "messages", fields } as const;
      const refused = await stage.ask(wish);
      assert.equal(refused.status, 400);
      assert.deepEqual(stage.route(refused), ["a", "a", "a"]);
      unknownFields.delete("user");
      const again = ["a", "a", "a"];
      assert.deepEqual(await stage.served(wish), again, "no lesson was kept");
      assert.deepEqual(await stage.served(wish), ["a"]);
    },
  },
  "a strict connection learns no lesson": {
    judgesAlone: true,
    setting: () => ({ connections: { a: { strict: true } }, family: "A" }),
    async run(stage) {
      stage.provider("a").unknownFields.add("temperature");
      const one = await stage.ask(WARM);
      assert.equal(one.status, 400);
      assert.deepEqual(stage.route(one), ["a"]);
    },
  },
  "sealed reasoning goes back with its tool call, and only for its caller": {
    judgesAlone: true,
    setting: () => ({ connections: { a: {} }, family: "B" }),
    async run(stage) {
      const fields = { reasoning_effort: "high" };
      const wish = { protocol: "chat", isStream: false, fields } as const;
      const result = { ...wish, toolCalls: 1, callId: "toolu_01Weather" };
      /** Returns the signature of the reasoning that the provider received. */
      const sealed = (one: Asked, at = 0) =>
        /"signature":"([^"]*)"/.exec(
          JSON.stringify(stage.entries(one)[at]?.body),
        )?.[1];
      const think = () =>
        stage.plan("a", { fate: "answer", raw: whole(200, THOUGHT) });
      think();
      const first = await stage.ask(wish);
      assert.equal(first.status, 200);
      const second = await stage.ask(result);
      assert.equal(sealed(second), "sig-1");
      const others = await stage.ask({ ...result, agent: "bob" });
      assert.equal(sealed(others), undefined);
      await stage.sleep(3_500_000);
      assert.equal(sealed(await stage.ask(result)), "sig-1");
      await stage.sleep(3_700_000);
      assert.equal(sealed(await stage.ask(result)), undefined, "it has ended");
      think();
      await stage.ask(wish);
      stage.plan("a", { fate: "answer", raw: whole(400, BAD_SIGNATURE) });
      const refused = await stage.ask(result);
      assert.equal(refused.status, 200);
      assert.deepEqual(stage.route(refused), ["a", "a"]);
      assert.deepEqual([sealed(refused), sealed(refused, 1)], [
        "sig-1",
        undefined,
      ]);
      assert.equal(sealed(await stage.ask(result)), undefined);
    },
  },
};

/** An answer of Messages with reasoning that only its provider can read. */
const THOUGHT = {
  ...{ id: "msg_1", type: "message", role: "assistant", model: "m" },
  content: [
    { type: "thinking", thinking: "Rain?", signature: "sig-1" },
    { type: "tool_use", id: "toolu_01Weather", name: "weather", input: {} },
  ],
  ...{ stop_reason: "tool_use", stop_sequence: null },
  usage: { input_tokens: 10, output_tokens: 10 },
};

const BAD_SIGNATURE = {
  type: "error",
  error: {
    type: "invalid_request_error",
    message: "messages.1.content.0: Invalid `signature` in `thinking` block",
  },
};

/** Returns the bytes of a whole response. */
function whole(status: number, body: object): string {
  const text = JSON.stringify(body);
  return `HTTP/1.1 ${status} X\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
}
