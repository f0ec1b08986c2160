import assert from "node:assert/strict";
import { createGateway } from "../../../src/gateway/app.ts";
import {
  isServiceName,
  type ServiceName,
  SERVICES,
} from "../../../src/services/services.ts";
import { starterFile } from "../../../src/services/starter.ts";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../src/base/json.ts";
import {
  FAMILIES,
  MAIN_OPERATIONS,
  OPERATIONS,
} from "../../../src/base/protocol.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { createLog } from "../../../src/gateway/observe/log.ts";
import {
  ALICE_TOKEN,
  configOf,
  loadText,
} from "../../support/gateway/config.ts";
import { answerAt } from "../../support/upstream/fake_answers.ts";
import {
  FAKE_KEY,
  FAKE_PROVIDERS,
  type FakeOperation,
  type FakeProvider,
  refusalOf,
} from "../../support/upstream/fake_providers.ts";
import { HARD } from "./hard_requests.ts";
import type { FakeRequest } from "../../support/upstream/refusals.ts";
import { steps } from "../../support/steps.ts";

// The file of `init`, unchanged, in front of a fake of each provider that refuses what the real one refuses.

/** The file of tokens that the file of `init` includes. */
const TOKENS = `tokens:
  - { name: alice, sha256: ${sha256Hex(ALICE_TOKEN)}, connections: ["*"] }
`;

/** A gateway in front of one fake provider. */
async function gatewayFor(service: ServiceName, provider: FakeProvider) {
  const text = starterFile([service])
    .replace(/( +)# headers_drop/, "$1headers_drop")
    .replace(/(?<=models:\n +- )\S+/, provider.model ?? "$&");
  const config = configOf(
    await loadText(text, {
      readFile: (path) =>
        Promise.resolve(path.startsWith("keys/") ? FAKE_KEY : TOKENS),
      listFiles: () => Promise.resolve(["tokens.d/staff.yaml"]),
    }),
  );
  const received: (FakeRequest & { readonly text: string })[] = [];
  const lines: string[] = [];
  const { handler } = createGateway({
    liveConfig: createLiveConfig(config),
    async fetch(url, init) {
      const request = new Request(url, init);
      const text = await request.text();
      const body: unknown = JSON.parse(text);
      assert.ok(isJsonObject(body));
      const fake = { url, headers: request.headers, body };
      received.push({ ...fake, text });
      const refusal = refusalOf(provider, fake);
      return refusal === undefined
        ? Response.json(answerAt(url))
        : Response.json({ error: { message: refusal, type: "invalid" } }, {
          status: 400,
        });
    },
    log: createLog({
      format: "json",
      now: Date.now,
      sink: (line) => lines.push(line),
    }),
  });
  const [connection] = config.connections;
  assert.ok(connection);
  const model = connection.models[0]?.id ?? "";

  async function ask(
    operation: FakeOperation,
    body: JsonObject,
    headers: Readonly<Record<string, string>> = {},
  ) {
    const sent = JSON.stringify({ model, ...body });
    const answer = await handler(
      new Request(`http://gateway.test/v1${OPERATIONS[operation].path}`, {
        method: "POST",
        headers: {
          "authorization": `Bearer ${ALICE_TOKEN}`,
          "content-type": "application/json",
          "anthropic-version": "2023-06-01",
          ...headers,
        },
        body: sent,
      }),
    );
    return {
      sent,
      status: answer.status,
      dropped: answer.headers.get("x-gateway-dropped"),
      text: await answer.text(),
    };
  }
  return { model, received, lines, ask };
}

const SHORT: Readonly<Record<FakeOperation, JsonObject>> = {
  chat_completions: { messages: [{ role: "user", content: "Hello" }] },
  messages: { max_tokens: 9, messages: [{ role: "user", content: "Hello" }] },
  responses: { input: "Hello" },
  completions: { prompt: "Hello" },
};

const SCHEMA: JsonObject = {
  type: "object",
  properties: { a: { type: "string" } },
  required: ["a"],
  additionalProperties: false,
};

/** Requests with all fields of agents and SDKs that a translation has to fit to the provider. */
const RICH: Readonly<Record<FakeOperation, JsonObject>> = {
  chat_completions: {
    max_completion_tokens: 2000,
    temperature: 0.5,
    stop: ["END"],
    reasoning_effort: "medium",
    parallel_tool_calls: false,
    user: "u-1",
    tools: [{
      type: "function",
      function: { name: "look", parameters: SCHEMA },
    }],
    messages: [
      { role: "system", content: "Be short." },
      { role: "user", content: "Look." },
      {
        role: "assistant",
        tool_calls: [{
          id: "call_1",
          type: "function",
          function: { name: "look", arguments: '{"a":"b"}' },
        }],
      },
      { role: "tool", tool_call_id: "call_1", content: "Seen." },
    ],
  },
  messages: {
    max_tokens: 20_000,
    system: "Be short.",
    stop_sequences: ["END"],
    thinking: { type: "enabled", budget_tokens: 10_000 },
    metadata: { user_id: "u-1" },
    tools: [{ name: "look", input_schema: SCHEMA }],
    tool_choice: { type: "auto", disable_parallel_tool_use: true },
    messages: [
      { role: "user", content: "Look." },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm.", signature: "" },
          { type: "tool_use", id: "toolu_1", name: "look", input: { a: "b" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "toolu_1", content: "Seen." },
        ],
      },
    ],
  },
  responses: {
    instructions: "Be short.",
    max_output_tokens: 2000,
    temperature: 0.5,
    reasoning: { effort: "minimal" },
    safety_identifier: "u-1",
    parallel_tool_calls: false,
    text: { format: { type: "json_schema", name: "n", schema: SCHEMA } },
    tools: [{
      type: "function",
      name: "look",
      parameters: SCHEMA,
      strict: true,
    }],
    tool_choice: "required",
    input: [
      { role: "user", content: "Look." },
      {
        type: "function_call",
        call_id: "call_1",
        name: "look",
        arguments: '{"a":"b"}',
      },
      { type: "function_call_output", call_id: "call_1", output: "Seen." },
    ],
  },
  completions: {
    prompt: "Hello",
    max_tokens: 50,
    seed: 7,
    stop: ["END"],
    frequency_penalty: 0.1,
    presence_penalty: 0.1,
  },
};

const OPERATIONS_ASKED: readonly FakeOperation[] = [
  "chat_completions",
  "messages",
  "responses",
  "completions",
];

for (
  const [name, provider] of Object.entries<FakeProvider>(FAKE_PROVIDERS)
) {
  assert.ok(isServiceName(name));
  const urls: FakeProvider["urls"] = provider.urls;

  Deno.test(`${name} gets native requests at its own address, with its credential and unchanged bytes`, async () => {
    const { nativeText = (text) => text } = provider;
    const { received, ask } = await gatewayFor(name, provider);
    for (const operation of OPERATIONS_ASKED) {
      if (urls[operation] === undefined) continue;
      const { status, text, sent } = await ask(operation, SHORT[operation]);
      assert.equal(status, 200, text);
      assert.deepEqual(
        { url: received.at(-1)?.url, text: received.at(-1)?.text },
        { url: urls[operation], text: nativeText(sent) },
      );
    }
    assert.equal(received.length, Object.keys(urls).length);
  });

  const { family } = SERVICES[name];
  assert.ok(family !== undefined);
  const { serves, protocol } = FAMILIES[family];
  const main = OPERATIONS_ASKED.find((operation) =>
    operation === MAIN_OPERATIONS[protocol]
  );
  assert.ok(main !== undefined);
  const translated = OPERATIONS_ASKED.filter((operation) =>
    serves[operation] !== "none" && urls[operation] === undefined
  );
  if (translated.length === 0) continue;
  Deno.test(`${name} gets translated requests that it does not refuse`, async (t) => {
    const { received, ask } = await gatewayFor(name, provider);
    await steps(t, translated, async (operation) => {
      const before = received.length;
      const { status, text } = await ask(operation, RICH[operation]);
      assert.equal(status, 200, `${text}\n${received.at(-1)?.text}`);
      // The gateway would learn from a refusal, and so hide a missing row of the tables.
      assert.equal(received.length, before + 1, received.at(-2)?.text);
      const { translatedTo = main } = provider;
      assert.equal(received.at(-1)?.url, urls[translatedTo]);
      const hard = await ask(operation, HARD[operation] ?? RICH[operation]);
      assert.equal(hard.status, 200, `${hard.text}\n${received.at(-1)?.text}`);
    });
  });
}

/** The request of {@linkcode RICH} in Chat Completions, as most servers take it. */
const PLAIN_CHAT: JsonObject = {
  messages: [
    { role: "system", content: "Be short." },
    { role: "user", content: "Look." },
    {
      role: "assistant",
      reasoning_content: "Hm.",
      content: null,
      tool_calls: [{
        id: "toolu_1",
        type: "function",
        function: { name: "look", arguments: '{"a":"b"}' },
      }],
    },
    { role: "tool", tool_call_id: "toolu_1", content: "Seen." },
  ],
  tools: [{ type: "function", function: { name: "look", parameters: SCHEMA } }],
  tool_choice: "auto",
  parallel_tool_calls: false,
  max_tokens: 20_000,
  stop: ["END"],
  reasoning_effort: "medium",
  user: "u-1",
};

/** The differences of each provider's body from that; `undefined` is a field that the provider does not get. */
const DIFFERENCES: Readonly<
  Partial<Record<ServiceName, Readonly<Record<string, JsonValue | undefined>>>>
> = {
  bedrock: { max_tokens: undefined, max_completion_tokens: 20_000 },
  gemini: { messages: withoutSignature(withNamedResult()) },
  vertex: { messages: withNamedResult() },
  xai: { stop: undefined },
  volcengine: { stop: undefined },
  cohere: {
    messages: withoutReasoning(),
    parallel_tool_calls: undefined,
    reasoning_effort: undefined,
    user: undefined,
  },
  nvidia: {},
  together: {},
  huggingface: {},
  "azure-chat": {
    messages: withoutReasoning(),
    max_tokens: undefined,
    max_completion_tokens: 20_000,
    stop: undefined,
  },
};

function withoutReasoning(): JsonObject[] {
  assert.ok(Array.isArray(PLAIN_CHAT.messages));
  return PLAIN_CHAT.messages.filter(isJsonObject)
    .map(({ reasoning_content: _, ...message }) => message);
}

/** Marks the first call as one whose signature is lost. */
function withoutSignature(messages: readonly JsonObject[]): JsonObject[] {
  const google = { thought_signature: "skip_thought_signature_validator" };
  return messages.map((message) =>
    Array.isArray(message.tool_calls)
      ? {
        ...message,
        tool_calls: message.tool_calls.map((call, index) =>
          index === 0 && isJsonObject(call)
            ? { ...call, extra_content: { google } }
            : call
        ),
      }
      : message
  );
}

function withNamedResult(): JsonObject[] {
  return withoutReasoning().map((message) =>
    message.role === "tool" ? { ...message, name: "look" } : message
  );
}

for (const [name, differences] of Object.entries(DIFFERENCES)) {
  Deno.test(`${name} gets every field of a Messages request in its dialect`, async () => {
    assert.ok(isServiceName(name) && isFaked(name));
    const { received, ask, model } = await gatewayFor(
      name,
      FAKE_PROVIDERS[name],
    );
    await ask("messages", RICH.messages);
    const whole = { model, ...PLAIN_CHAT, ...differences };
    const wanted = Object.entries(whole)
      .filter(([, value]) => value !== undefined);
    assert.deepEqual(received.at(-1)?.body, Object.fromEntries(wanted));
  });
}

function isFaked(name: ServiceName): name is keyof typeof FAKE_PROVIDERS {
  return Object.hasOwn(FAKE_PROVIDERS, name);
}

Deno.test("dashscope gets a format and a tool choice as instructions, because it rejects their fields while it thinks", async () => {
  const { received, ask } = await gatewayFor(
    "dashscope",
    FAKE_PROVIDERS.dashscope,
  );
  const { dropped } = await ask("responses", RICH.responses);
  const { tool_choice, response_format, reasoning_effort, messages } =
    received[0]?.body ?? {};
  assert.deepEqual(
    { tool_choice, response_format, reasoning_effort },
    {
      tool_choice: "auto",
      response_format: undefined,
      reasoning_effort: "low",
    },
  );
  assert.match(JSON.stringify(messages), /Answer by calling one of the tools/);
  assert.match(JSON.stringify(messages), /It must match this JSON schema/);
  assert.equal(dropped, "tool_choice,reasoning,text.format");
});

Deno.test("the gateway itself ends an answer of xai at the caller's stop string, because xai rejects that field", async () => {
  const { ask } = await gatewayFor("xai", FAKE_PROVIDERS.xai);
  const { text } = await ask("messages", RICH.messages);
  assert.match(text, /"text":"Hi\. "/);
  assert.match(text, /"stop_sequence":"END"/);
});

Deno.test("bedrock-claude gets the betas in order, except the betas in headers_drop", async () => {
  const { received, lines, ask } = await gatewayFor(
    "bedrock-claude",
    FAKE_PROVIDERS["bedrock-claude"],
  );
  const beta =
    "claude-code-20250219,oauth-2025-04-20, interleaved-thinking-2025-05-14";
  const { status } = await ask("messages", SHORT.messages, {
    "anthropic-beta": beta,
  });
  assert.equal(status, 200);
  assert.equal(
    received[0]?.headers.get("anthropic-beta"),
    "claude-code-20250219,interleaved-thinking-2025-05-14",
  );
  const refused = await ask("messages", SHORT.messages, {
    "anthropic-beta": "fast-mode-2026-02-01",
  });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /invalid beta flag/);
  assert.match(
    lines.at(-1) ?? "",
    /"reason":"the provider refuses a beta [^"]*headers_drop: \{ anthropic-beta: \[[^"]*fast-mode-2026-02-01\] \}, without /,
  );
});
