import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/base/json.ts";
import {
  ALICE_TOKEN,
  connectionFile,
  minimalFile,
} from "../../support/gateway/config.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import { ask, hello, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import { Anthropic, OpenAI } from "../../support/sdk/sdks.ts";
import {
  type ScriptedUpstream,
  startUpstream,
} from "../../support/upstream/scripted_upstream.ts";
import { sseBytes } from "../../support/wire/sse_bytes.ts";
import { hurriedTimers } from "../../support/fakes/hurried_timers.ts";
import { steps } from "../../support/steps.ts";

// Tool calls from a provider of Chat Completions to the official SDKs, and back.

const NAME = "21st-magic";

const PARAMETERS = { type: "object" as const, properties: {} };

/** Returns a configuration with a model at each of these providers, in their order. */
function fileOf(...urls: readonly string[]): Record<string, unknown> {
  return minimalFile({
    connections: urls.map((url, index) =>
      connectionFile({
        name: `provider ${index}`,
        family: "A",
        endpoints: { chat: `${url}/v1` },
        models: ["qwen3-32b"],
        paths: ["messages", "responses"],
      })
    ),
  });
}

/** Plays an answer in the form that the request selects. */
function play(
  upstream: ScriptedUpstream,
  answer: (request: JsonObject, turn: number) => {
    readonly message: JsonObject;
    readonly reason: string;
  },
): JsonObject[] {
  const seen: JsonObject[] = [];
  upstream.play(({ text }) => {
    const request: JsonObject = JSON.parse(text());
    seen.push(request);
    const { message, reason } = answer(request, seen.length - 1);
    const head = { id: "c", model: "m", created: 1 };
    if (request.stream !== true) {
      return Response.json({
        ...head,
        choices: [{ index: 0, message, finish_reason: reason }],
      });
    }
    const calls = Array.isArray(message.tool_calls) ? message.tool_calls : [];
    const delta = {
      ...message,
      tool_calls: calls.map((call, index) => ({ index, ...Object(call) })),
    };
    return new Response(
      sseBytes(
        { ...head, choices: [{ index: 0, delta }] },
        { ...head, choices: [{ index: 0, delta: {}, finish_reason: reason }] },
        "[DONE]",
      ),
      { headers: { "content-type": "text/event-stream" } },
    );
  });
  return seen;
}

/** Calls the first offered tool twice for two turns, with the same ids, and then ends. */
function countingAnswer(request: JsonObject, turn: number) {
  const [tool] = request.tools as JsonObject[];
  const name = (tool?.function as JsonObject).name ?? "";
  return turn === 2
    ? { message: { role: "assistant", content: "Done" }, reason: "stop" }
    : {
      message: {
        role: "assistant",
        content: null,
        tool_calls: [0, 1].map((position) => ({
          id: `call_${position}`,
          type: "function",
          function: { name, arguments: `{"turn":${turn}}` },
        })),
      },
      reason: "tool_calls",
    };
}

/** Returns the ids of the calls and those of the results in a request. */
function idsIn({ messages }: JsonObject): readonly (readonly unknown[])[] {
  const list = messages as JsonObject[];
  return [
    list.flatMap(({ tool_calls }) =>
      ((tool_calls ?? []) as JsonObject[]).map(({ id }) => id)
    ),
    list.filter(({ role }) => role === "tool").map((one) => one.tool_call_id),
  ];
}

function checkSession(seen: readonly JsonObject[], ids: readonly string[]) {
  assert.equal(seen.length, 3);
  assert.equal(ids.length, 4);
  assert.equal(new Set(ids).size, 4);
  const own = ["call_0", "call_1", "call_0", "call_1"];
  assert.deepEqual(idsIn(seen[2] ?? {}), [own, own]);
  for (const { tools } of seen) {
    assert.doesNotMatch(JSON.stringify(tools), new RegExp(`"${NAME}"`));
  }
}

Deno.test("Anthropic's SDK gets different ids for the tool calls of a session, even if the provider repeats ids", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileOf(upstream.url));
  const sdk = new Anthropic({
    baseURL: gateway.url,
    apiKey: ALICE_TOKEN,
    fetch: gateway.fetch,
    maxRetries: 0,
  });
  await steps(
    t,
    [["whole", false], ["streamed", true]],
    async ([, isStream]) => {
      const seen = play(upstream, countingAnswer);
      const ids: string[] = [];
      const messages: Anthropic.MessageParam[] = [{
        role: "user",
        content: "Go",
      }];
      for (let turn = 0; turn < 3; turn++) {
        const body = {
          model: "qwen3-32b",
          max_tokens: 100,
          messages,
          tools: [{ name: NAME, input_schema: PARAMETERS }],
          tool_choice: { type: "tool" as const, name: NAME },
        };
        const answer = isStream
          ? await sdk.messages.stream(body).finalMessage()
          : await sdk.messages.create(body);
        const calls = answer.content.filter((block) =>
          block.type === "tool_use"
        );
        for (const { name, input } of calls) {
          assert.deepEqual([name, input], [NAME, { turn }]);
        }
        if (calls.length === 0) break;
        ids.push(...calls.map(({ id }) => id));
        messages.push({ role: "assistant", content: answer.content }, {
          role: "user",
          content: calls.map(({ id }) => ({
            type: "tool_result" as const,
            tool_use_id: id,
            content: "seen",
          })),
        });
      }
      checkSession(seen, ids);
    },
  );
});

Deno.test("OpenAI's SDK gets different ids for the tool calls of a session, even if the provider repeats ids", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileOf(upstream.url));
  const sdk = new OpenAI({
    baseURL: `${gateway.url}/v1`,
    apiKey: ALICE_TOKEN,
    fetch: gateway.fetch,
    maxRetries: 0,
  });
  await steps(
    t,
    [["whole", false], ["streamed", true]],
    async ([, isStream]) => {
      const seen = play(upstream, countingAnswer);
      const ids: string[] = [];
      const input: OpenAI.Responses.ResponseInputItem[] = [
        { role: "user", content: "Go" },
      ];
      for (let turn = 0; turn < 3; turn++) {
        const body = {
          model: "qwen3-32b",
          input,
          tools: [{
            type: "function" as const,
            name: NAME,
            parameters: PARAMETERS,
            strict: false,
          }],
          tool_choice: { type: "function" as const, name: NAME },
        };
        const answer: OpenAI.Responses.Response = isStream
          ? await sdk.responses.stream(body).finalResponse()
          : await sdk.responses.create(body);
        const calls = answer.output.filter((item) =>
          item.type === "function_call"
        );
        for (const call of calls) {
          assert.deepEqual([call.name, call.arguments], [
            NAME,
            `{"turn":${turn}}`,
          ]);
        }
        if (calls.length === 0) break;
        ids.push(...calls.map((call) => call.call_id));
        input.push(
          ...calls.map(({ call_id, name, arguments: text }) => ({
            type: "function_call" as const,
            call_id,
            name,
            arguments: text,
          })),
          ...calls.map(({ call_id }) => ({
            type: "function_call_output" as const,
            call_id,
            output: "seen",
          })),
        );
      }
      checkSession(seen, ids);
    },
  );
});

/** Answers that announce a tool call but have none that a client could run. */
const BROKEN: Readonly<Record<string, JsonObject>> = {
  "no call": { role: "assistant", content: null },
  "an empty list of calls": {
    role: "assistant",
    content: "",
    tool_calls: [],
  },
  "a call without a name": {
    role: "assistant",
    content: null,
    tool_calls: [{
      id: "call_0",
      type: "function",
      function: { name: null, arguments: "{}" },
    }],
  },
};

const CALLERS = PROTOCOLS.filter((protocol) => protocol !== "chat");

function askFor(
  gateway: RunningGateway,
  protocol: "messages" | "responses",
  stream: boolean,
) {
  const body = hello(protocol, { model: "qwen3-32b", stream });
  return gateway.call(PATHS[protocol], ask(protocol, body));
}

Deno.test("another provider answers when the first announces a tool call but sends none", async (t) => {
  await using bad = startUpstream();
  await using good = startUpstream();
  await using gateway = await startGateway(fileOf(bad.url, good.url));
  await steps(t, Object.entries(BROKEN), async ([, message]) => {
    play(bad, () => ({ message, reason: "tool_calls" }));
    play(good, () => ({
      message: { role: "assistant", content: "Here I am" },
      reason: "stop",
    }));
    for (const protocol of CALLERS) {
      for (const stream of [false, true]) {
        const response = await askFor(gateway, protocol, stream);
        assert.equal(response.status, 200);
        assert.match(await response.text(), /Here I am/);
      }
    }
  });
});

Deno.test("a caller gets an error when the only provider announces a tool call but sends none", async (t) => {
  await using bad = startUpstream();
  const cases = Object.entries(BROKEN).flatMap(([name, message]) =>
    CALLERS.map((protocol) =>
      [`${name}: ${protocol}`, protocol, message] as const
    )
  );
  await steps(t, cases, async ([, protocol, message]) => {
    // Each gateway is new, because the connection cools down after several broken answers.
    const start = () =>
      startGateway(fileOf(bad.url), { timers: hurriedTimers });
    for (const stream of [false, true]) {
      await using gateway = await start();
      play(bad, () => ({ message, reason: "tool_calls" }));
      const early = await askFor(gateway, protocol, stream);
      assert.equal(early.status, 502);
      assert.ok(Object(await early.json()).error);
    }
    await using gateway = await start();
    play(bad, () => ({
      message: { ...message, reasoning_content: "I must look." },
      reason: "tool_calls",
    }));
    const late = await askFor(gateway, protocol, true);
    assert.equal(late.status, 200);
    const text = await late.text();
    assert.match(text, /event: (?:error|response\.failed)\n/);
    assert.doesNotMatch(text, /event: (?:message_stop|response\.completed)/);
  });
});
