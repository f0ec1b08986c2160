import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../src/base/json.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { JSON_HEADERS, SSE_HEADERS } from "../../support/wire/answers.ts";
import {
  ALICE_TOKEN,
  minimalFile,
  tokenFile,
} from "../../support/gateway/config.ts";
import { familyConnection } from "../../support/gateway/families.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import {
  type SeenRequest,
  startUpstream,
} from "../../support/upstream/scripted_upstream.ts";
import { Anthropic, OpenAI } from "../../support/sdk/sdks.ts";

// Gemini 3 rejects the next request of a tool loop unless the first call of every step has its
// signature (ai.google.dev/gemini-api/docs/thought-signatures). Messages and Responses have no
// field for it.

/** A call of the model, with its signature. */
interface SignedCall {
  /** Absent when the provider sends none. */
  readonly id?: string;
  readonly city: string;
  readonly signature?: string;
  /** True when the signature is in its own chunk, after the call. */
  readonly isLate?: boolean;
}

/** The calls of each step. After the last step, the model answers with text. */
const STEPS: readonly (readonly SignedCall[])[] = [
  [{ id: "call_a", city: "Köln", signature: "sig-1" }, {
    id: "call_b",
    city: "Bonn",
  }],
  [{ city: "Aachen", signature: "sig-2", isLate: true }],
  [{ id: "bad id:0", city: "Trier", signature: "sig-3" }],
];

const TEXT_SIGNATURE = "sig-text";

function extraOf(signature: string): JsonObject {
  return { google: { thought_signature: signature } };
}

/** Returns Gemini's next step, or a refusal when a signature is missing or unknown. */
function gemini(seen: SeenRequest): Response {
  const body = parseJson(seen.text());
  assert.ok(isJsonObject(body) && Array.isArray(body.messages));
  const answers = body.messages.filter(isJsonObject)
    .filter(({ role }) => role === "assistant");
  const steps = answers.filter(({ tool_calls }) => Array.isArray(tool_calls));
  for (const [position, answer] of steps.entries()) {
    if (!isSigned(answer, STEPS[position] ?? [])) return refusal();
  }
  const isStream = body.stream === true;
  const isOver = answers.length > STEPS.length;
  if (isOver && answers.at(-1)?.extra_content === undefined) return refusal();
  return answerWith(isOver ? [] : STEPS[steps.length] ?? [], isStream);
}

function isSigned(answer: JsonObject, step: readonly SignedCall[]): boolean {
  const calls = Array.isArray(answer.tool_calls) ? answer.tool_calls : [];
  const extras = calls.map((call) =>
    isJsonObject(call) ? call.extra_content ?? null : null
  );
  return JSON.stringify(extras) === JSON.stringify(
    step.map(({ signature }) =>
      signature === undefined ? null : extraOf(signature)
    ),
  );
}

function refusal(): Response {
  return Response.json([{
    error: {
      code: 400,
      message: "Function call is missing a thought_signature",
      status: "INVALID_ARGUMENT",
    },
  }], { status: 400 });
}

function answerWith(step: readonly SignedCall[], isStream: boolean): Response {
  const calls = step.map(({ id, city, signature, isLate }) => ({
    ...(id === undefined ? {} : { id }),
    type: "function",
    function: { name: "get_weather", arguments: JSON.stringify({ city }) },
    ...(signature === undefined || isStream && isLate
      ? {}
      : { extra_content: extraOf(signature) }),
  }));
  const late = step.flatMap(({ signature, isLate }) =>
    signature !== undefined && isLate
      ? [{ tool_calls: [{ extra_content: extraOf(signature) }] }]
      : []
  );
  const message = step.length === 0
    ? { content: "Rain", extra_content: extraOf(TEXT_SIGNATURE) }
    : { content: null, tool_calls: calls };
  const deltas = step.length === 0
    ? [{ content: "Rain" }, {
      content: "",
      extra_content: message.extra_content,
    }]
    : [...calls.map((call) => ({ tool_calls: [call] })), ...late];
  const finish_reason = step.length === 0 ? "stop" : "tool_calls";
  const head = { id: "g-1", created: 1_700_000_000, model: "gemini-3" };
  if (!isStream) {
    const choices = [{
      index: 0,
      message: { role: "assistant", ...message },
      finish_reason,
    }];
    const body = { ...head, object: "chat.completion", choices };
    return new Response(JSON.stringify(body), { headers: JSON_HEADERS });
  }
  const chunks = [
    ...deltas.map((delta) => ({ index: 0, delta, finish_reason: null })),
    { index: 0, delta: {}, finish_reason },
  ].map((choice) => ({
    ...head,
    object: "chat.completion.chunk",
    choices: [choice],
  }));
  const text = [...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"]
    .map((data) => `data: ${data}\n\n`).join("");
  return new Response(text, { headers: SSE_HEADERS });
}

/**
 * Starts a gateway in front of two Geminis, the second for failover. Each refuses the other's
 * signatures.
 */
async function startScene() {
  const upstream = startUpstream(gemini);
  const connectionTo = (name: string, model: string) =>
    familyConnection("A", upstream.url, {
      name,
      endpoints: { chat: `${upstream.url}/v1` },
      models: [model],
    });
  const gateway = await startGateway(minimalFile({
    connections: [
      connectionTo("Gemini", "gemini-3"),
      connectionTo("Another", "gemini-3-other"),
    ],
    tokens: [
      tokenFile(),
      tokenFile({ name: "bob", sha256: sha256Hex("mg_bob") }),
    ],
  }));
  return {
    upstream,
    gateway,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

const SCHEMA = {
  type: "object" as const,
  properties: { city: { type: "string" } },
};

/**
 * A conversation of a client. Each `step` sends the history and returns the cities of the next
 * calls.
 */
interface Loop {
  step(): Promise<string[]>;
  /** Adds a message of the user. */
  say(text: string): void;
  /** Continues the same conversation with another caller or model. */
  goOnAs(options: LoopOptions): Loop;
}

interface LoopOptions {
  readonly isStream: boolean;
  readonly token?: string;
  readonly model?: string;
}

function messagesLoop(
  gateway: RunningGateway,
  options: LoopOptions,
  messages: Anthropic.MessageParam[] = [
    { role: "user", content: "How is the weather?" },
  ],
): Loop {
  const { isStream, token = ALICE_TOKEN } = options;
  const sdk = new Anthropic({
    apiKey: token,
    baseURL: gateway.url,
    fetch: gateway.fetch,
    maxRetries: 0,
  });
  return {
    say: (content) => messages.push({ role: "user", content }),
    goOnAs: (other) => messagesLoop(gateway, other, [...messages]),
    async step() {
      const body = {
        model: options.model ?? "gemini-3",
        max_tokens: 1000,
        messages,
        tools: [{ name: "get_weather", input_schema: SCHEMA }],
      };
      const answer = isStream
        ? await sdk.messages.stream(body).finalMessage()
        : await sdk.messages.create(body);
      messages.push({ role: "assistant", content: answer.content });
      const calls = answer.content.filter((block) => block.type === "tool_use");
      if (calls.length > 0) {
        messages.push({
          role: "user",
          content: calls.map(({ id }) => ({
            type: "tool_result",
            tool_use_id: id,
            content: "rain",
          })),
        });
      }
      return calls.map(({ input }) => cityOf(JSON.stringify(input)));
    },
  };
}

function responsesLoop(
  gateway: RunningGateway,
  options: LoopOptions,
  input: OpenAI.Responses.ResponseInputItem[] = [
    { role: "user", content: "How is the weather?" },
  ],
): Loop {
  const { isStream, token = ALICE_TOKEN } = options;
  const sdk = openai(gateway, token);
  return {
    say: (content) => input.push({ role: "user", content }),
    goOnAs: (other) => responsesLoop(gateway, other, [...input]),
    async step() {
      const body = {
        model: options.model ?? "gemini-3",
        input,
        tools: [{
          type: "function" as const,
          name: "get_weather",
          parameters: SCHEMA,
          strict: false,
        }],
      };
      const { output }: { output: OpenAI.Responses.ResponseOutputItem[] } =
        isStream
          ? await sdk.responses.stream(body).finalResponse()
          : await sdk.responses.create(body);
      // Codex sends back the fields of each item that it knows.
      const items = JSON.parse(JSON.stringify(output));
      input.push(...items);
      const calls = output.filter((item) => item.type === "function_call");
      for (const { call_id } of calls) {
        input.push({ type: "function_call_output", call_id, output: "rain" });
      }
      return calls.map((call) => cityOf(call.arguments));
    },
  };
}

/** Chat callers send the signatures themselves, when they return a message unchanged. */
function chatLoop(gateway: RunningGateway): () => Promise<string[]> {
  const sdk = openai(gateway, ALICE_TOKEN);
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: "user", content: "How is the weather?" },
  ];
  return async () => {
    const { choices: [choice] } = await sdk.chat.completions.create({
      model: "gemini-3",
      messages,
      tools: [{
        type: "function",
        function: { name: "get_weather", parameters: SCHEMA },
      }],
    });
    assert.ok(choice);
    messages.push(choice.message);
    const calls = (choice.message.tool_calls ?? []).filter((call) =>
      call.type === "function"
    );
    for (const { id } of calls) {
      messages.push({ role: "tool", tool_call_id: id ?? "", content: "rain" });
    }
    return calls.map((call) => cityOf(call.function.arguments));
  };
}

function openai(gateway: RunningGateway, token: string): OpenAI {
  return new OpenAI({
    apiKey: token,
    baseURL: `${gateway.url}/v1`,
    fetch: gateway.fetch,
    maxRetries: 0,
  });
}

function cityOf(json: string): string {
  const value = parseJson(json);
  return isJsonObject(value) ? String(value.city) : "";
}

const LOOPS = { messages: messagesLoop, responses: responsesLoop };

for (const [name, startLoop] of Object.entries(LOOPS)) {
  for (const isStream of [true, false]) {
    const how = isStream ? "streamed" : "whole";
    Deno.test(`a ${name} caller can finish a tool loop with Gemini 3, ${how}`, async () => {
      await using scene = await startScene();
      const loop = startLoop(scene.gateway, { isStream });
      assert.deepEqual(await loop.step(), ["Köln", "Bonn"]);
      assert.deepEqual(await loop.step(), ["Aachen"]);
      assert.deepEqual(await loop.step(), ["Trier"]);
      assert.deepEqual(await loop.step(), []);
      // The signature of the text is sent back, too.
      loop.say("And tomorrow?");
      assert.deepEqual(await loop.step(), []);
    });
  }

  const strangers = {
    "another caller": { isStream: true, token: "mg_bob" },
    "another connection": { isStream: true, model: "gemini-3-other" },
  };
  for (const [stranger, options] of Object.entries(strangers)) {
    Deno.test(`a ${name} caller's signatures are not sent to ${stranger}`, async () => {
      await using scene = await startScene();
      const loop = startLoop(scene.gateway, { isStream: true });
      await loop.step();
      const asked: string[] = [];
      scene.upstream.play((seen) => {
        asked.push(seen.text());
        return answerWith([], true);
      });
      await loop.goOnAs(options).step();
      await loop.step();
      const [strange, own] = asked;
      assert.match(strange ?? "", /"tool_calls"/);
      assert.doesNotMatch(strange ?? "", /sig-1/);
      assert.match(own ?? "", /sig-1/);
    });
  }
}

Deno.test("a chat caller returns Gemini 3's signatures itself in a tool loop", async () => {
  await using scene = await startScene();
  const step = chatLoop(scene.gateway);
  assert.deepEqual(await step(), ["Köln", "Bonn"]);
  assert.deepEqual(await step(), ["Aachen"]);
  assert.deepEqual(await step(), ["Trier"]);
});
