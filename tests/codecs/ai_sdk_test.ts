import assert from "node:assert/strict";
import { createGateway } from "../../src/gateway/app.ts";
import { createLiveConfig } from "../../src/gateway/config/live_config.ts";
import { systemClock } from "../../src/base/time/timers.ts";
import { randomIds } from "../../src/base/ids.ts";
import type { Family, Protocol } from "../../src/base/protocol.ts";
import { estimateTokens } from "../../src/tools/demo/answers.ts";
import {
  BASE_PATH,
  isThinkingModel,
  modelsOf,
  type Provider,
  PROVIDERS,
} from "../../src/tools/demo/providers.ts";
import { createStrictProvider } from "../support/upstream/strict_provider/mod.ts";
import { createLog } from "../../src/gateway/observe/log.ts";
import { jsonSchema, tool } from "../support/sdk/ai_sdk.ts";
import {
  type AiSdkFacts,
  askStreamed,
  askWhole,
} from "../support/sdk/ai_sdk_ask.ts";
import {
  AI_SDK_CLIENTS,
  type AiSdkClient,
  type Handler,
} from "../support/sdk/ai_sdk_clients.ts";
import {
  configOf,
  connectionFile,
  loadFile,
  minimalConfig,
} from "../support/gateway/config.ts";
import { pairsFile, PROTOCOL_BY_FAMILY } from "../support/dialects/pairs.ts";
import {
  loadExchanges,
  type RecordedExchange,
} from "../support/recorded/exchanges.ts";
import { hurriedTimers } from "../support/fakes/hurried_timers.ts";
import {
  type RecordedAnswer,
  recordedAnswer,
} from "../support/recorded/recorded_answer.ts";
import type { RecordedCall } from "../support/recorded/recorded_words.ts";
import { inputOf, squeeze } from "../support/sdk/sdk_answers.ts";
import { testNeeding } from "../support/ignored.ts";

/** Creates a gateway in front of the demo, whose providers have one protocol each. */
async function demoHandler(): Promise<Handler> {
  const config = await minimalConfig({
    connections: PROVIDERS.map(connectionOf),
  });
  const { handler } = createGateway({
    liveConfig: createLiveConfig(config),
    fetch: createStrictProvider({
      clock: systemClock,
      ids: randomIds,
      wordMs: 0,
    }),
    log: createLog({ format: "json", now: Date.now, sink: () => {} }),
  });
  return handler;
}

function connectionOf({ family, name, host, key }: Provider): object {
  return connectionFile({
    name,
    family,
    endpoints: { [PROTOCOL_BY_FAMILY[family]]: `https://${host}${BASE_PATH}` },
    auth: { scheme: family === "B" ? "x-api-key" : "bearer", key },
    models: modelsOf(family),
  });
}

const TOOLS = {
  get_weather: tool({
    description: "Reports the weather",
    inputSchema: jsonSchema<{ city: string; days: number }>({
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer" } },
      required: ["city", "days"],
    }),
    execute: ({ city, days }) => `Rain in ${city} for ${days} days`,
  }),
};

/** A client in front of a model with another protocol. */
interface Route {
  readonly client: AiSdkClient;
  readonly family: Family;
  readonly id: string;
}

const ROUTES: readonly Route[] = AI_SDK_CLIENTS.flatMap((client) =>
  client.families.flatMap((family) => {
    const plain = `demo-${family.toLowerCase()}`;
    return [plain, `${plain}-think`].map((id) => ({ client, family, id }));
  })
);

const PROTOCOL_NAMES = {
  A: "Chat Completions",
  B: "Messages",
  C: "Responses",
} as const;

/** Returns the end of each text of the demo. */
function signature({ family, id }: Route): string {
  return `This is ${id} of the simulated family ${family}, answering over ${
    PROTOCOL_NAMES[family]
  }; no real model was asked.`;
}

/**
 * Returns the facts of an answer of the demo, with the reasoning `thought` for models that reason.
 */
function expectedFacts(
  { client, family, id }: Route,
  said: {
    readonly thought: string;
    readonly input: number;
    readonly cached?: number;
    readonly text?: string;
    readonly call?: { readonly name: string; readonly input: object };
  },
): AiSdkFacts {
  const { text = "", call } = said;
  const thought = isThinkingModel(id) ? said.thought : "";
  const spoken = call ? call.name + JSON.stringify(call.input) : text;
  return {
    text,
    reasoning: client.showsReasoning && thought !== "" ? thought : undefined,
    calls: call ? [call] : [],
    finish: call ? "tool-calls" : "stop",
    usage: {
      input: said.input,
      cached: said.cached ?? 0,
      // Only the demo's Messages protocol counts them. A Messages caller always reads a number, and so does a Responses
      // caller of a translated answer.
      written: client.showsCacheWrites &&
          (family === "B" || client.name === "Anthropic Messages" ||
            client.name === "OpenAI Responses" && family !== "C")
        ? 0
        : undefined,
      output: estimateTokens(spoken) + estimateTokens(thought),
      // The Messages protocol of the demo counts reasoning as output, without a count of its own.
      reasoning: family === "B" ? 0 : estimateTokens(thought),
    },
    warnings: [],
  };
}

for (const route of ROUTES) {
  const { client, family, id } = route;
  const name = `${client.name} of the AI SDK, asking ${id} over ${
    PROTOCOL_BY_FAMILY[family]
  },`;

  Deno.test(`${name} reads the same text, finish reason and usage from a stream and from JSON`, async () => {
    const model = client.modelOf(await demoHandler(), id);
    const prompt = "Hello there";
    const facts = await askWhole({ model, prompt, tools: TOOLS });
    assert.deepEqual(facts, [expectedFacts(route, {
      thought: `The user said: "${prompt}". I answer with what I know.`,
      input: 41,
      text: `You said: "${prompt}". ${signature(route)}`,
    })]);
    assert.deepEqual(await askStreamed({ model, prompt, tools: TOOLS }), facts);
  });

  Deno.test(`${name} reads the same tool call from a stream and from JSON, and sends its result`, async () => {
    const model = client.modelOf(await demoHandler(), id);
    const input = { city: "Cologne", days: 3 };
    const prompt = `Call get_weather with ${JSON.stringify(input)}`;
    const facts = await askWhole({ model, prompt, tools: TOOLS });
    const heard = `The user said: "${prompt}".`;
    assert.deepEqual(facts, [
      expectedFacts(route, {
        thought: `${heard} I call the tool get_weather.`,
        input: 51,
        call: { name: "get_weather", input },
      }),
      expectedFacts(route, {
        thought: `${heard} I answer with what I know.`,
        input: 67,
        cached: 51,
        text: `The tool get_weather returned: Rain in Cologne for 3 days. ${
          signature(route)
        }`,
      }),
    ]);
    assert.deepEqual(await askStreamed({ model, prompt, tools: TOOLS }), facts);
  });
}

// The gateway sends every recorded answer to each provider of Vercel's AI SDK with another protocol. The tests compare
// the SDK's result with the recording, which they read without the gateway's codecs.

/** The compared facts. White space is left out, since protocols join texts differently. */
type Facts = Omit<AiSdkFacts, "usage"> & {
  /** `undefined` when the recording has no usage: the SDK's value is then an estimate. */
  readonly usage: Readonly<Record<string, unknown>> | undefined;
};

/** A recording that a client reads differently, or cannot read. */
interface Exception {
  /** The folder of the recording. */
  readonly recording: string;
  /** The name of the client; default: every client. */
  readonly client?: string;
  readonly reason: string;
  /** The facts that the client reads instead, or the error that it reports. */
  readonly instead: RegExp | ((meant: Facts) => Partial<Facts>);
}

const EXCEPTIONS: readonly Exception[] = [
  {
    recording: "messages/bedrock-anthropic-invoke",
    reason: "it is an answer of the protocol that Messages has replaced",
    instead: /response is not an answer/,
  },
  {
    recording: "responses/openai-gpt-4.1-mini-cancancelbackgroundresponses",
    reason: "the answer has not begun: it was to be fetched later",
    instead: /an answer that is queued/,
  },
  {
    recording: "responses/openai-gpt-5-response-custom-tool-call",
    reason:
      "the SDK's Chat providers know function tools alone, and offer no other",
    instead: /Invalid JSON response/,
  },
  {
    recording: "responses/xai-grok-4-fast-reasoning-x-search-streaming",
    reason:
      "xAI sends its own search as a call of a custom tool, which the SDK's Chat providers do not know",
    instead: /Type validation failed/,
  },
  {
    recording: "responses/openai-gpt-5.2-shell-container.1-2",
    reason: "its deltas say another text than its end, and what is said counts",
    instead: ({ text }) => ({ text: text.replace(/fully.*/, "fully.") }),
  },
  {
    recording:
      "chat/deepseek-v4-flash-truncation-matrix-blocking-reasoner-truncated-call-keeps-the-reasoning",
    client: "Anthropic Messages",
    reason:
      "arguments that break off are no object, which Messages wants: the call is left out of an answer that was cut",
    instead: () => ({ calls: [] }),
  },
];

/** The SDK's names of each protocol's stop reasons. The other reasons are `stop`. */
const FINISHES: Readonly<Record<Protocol, Readonly<Record<string, string>>>> = {
  chat: {
    tool_calls: "tool-calls",
    tool_call: "tool-calls",
    function_call: "tool-calls",
    length: "length",
    content_filter: "content-filter",
  },
  messages: {
    tool_use: "tool-calls",
    max_tokens: "length",
    refusal: "content-filter",
  },
  responses: { max_output_tokens: "length", content_filter: "content-filter" },
};

const answers = (await loadExchanges()).filter(({ name, operation }) =>
  !name.startsWith("errors/") &&
  ["chat_completions", "messages", "responses"].includes(operation)
);
const ignore = answers.length === 0;

for (const client of AI_SDK_CLIENTS) {
  for (const family of client.families) {
    const protocol = PROTOCOL_BY_FAMILY[family];
    const model = `model-${family.toLowerCase()}`;
    testNeeding(
      `${client.name} of the AI SDK reads the recorded facts from ${protocol} answers`,
      ignore && "there are no recordings here",
      async (t) => {
        for (const answer of answers.filter((one) => isOf(one, protocol))) {
          await t.step(answer.name, () => judge(answer, { client, model }));
        }
      },
    );
  }
}

testNeeding(
  "every exception of the AI SDK names an existing recording",
  ignore && "there are no recordings here",
  () => {
    const names = new Set(answers.map(({ name }) => name));
    for (const { recording } of EXCEPTIONS) {
      assert.ok(names.has(recording), recording);
    }
  },
);

function isOf(answer: RecordedExchange, protocol: Protocol): boolean {
  return answer.protocol === protocol;
}

interface Asking {
  readonly client: AiSdkClient;
  /** The model that the caller requests. */
  readonly model: string;
}

async function judge(answer: RecordedExchange, asking: Asking): Promise<void> {
  const { streamed, protocol } = answer;
  const text = new TextDecoder().decode(answer.answer);
  const recorded = recordedAnswer({ text, streamed }, protocol);
  const exception = EXCEPTIONS.find(({ recording, client }) =>
    recording === answer.name && client === (client && asking.client.name)
  );
  const understood = () => understand(answer, recorded, asking);
  if (exception?.instead instanceof RegExp) {
    return await assert.rejects(understood(), exception.instead);
  }
  assert.ok(recorded !== undefined, "the recording holds an answer");
  const meant = meantFacts(recorded, protocol, asking.client);
  const instead = exception?.instead(meant) ?? {};
  for (const [name, value] of Object.entries(instead)) {
    assert.notDeepEqual(value, Reflect.get(meant, name), "it is no exception");
  }
  assert.deepEqual(await understood(), { ...meant, ...instead });
}

/** Returns the client's reading of an answer that the gateway receives from its upstream. */
async function understand(
  answer: RecordedExchange,
  recorded: RecordedAnswer | undefined,
  { client, model }: Asking,
): Promise<Facts> {
  const names = recorded?.calls.map(({ name }) => name) ?? [];
  const question = {
    model: client.modelOf(await handlerOf(answer), model),
    prompt: "Hi",
    tools: Object.fromEntries(names.map((name) => [name, ANY_TOOL])),
  };
  // The SDK reports an unreadable call to the model, and gets the same answer again.
  const [facts] = answer.streamed
    ? await askStreamed(question)
    : await askWhole(question);
  assert.ok(facts !== undefined, "there is an answer");
  const { text, reasoning = "", usage } = facts;
  return {
    ...facts,
    text: squeeze(text),
    reasoning: squeeze(reasoning),
    usage: recorded?.usage && {
      input: usage.input,
      cached: usage.cached ?? 0,
      written: usage.written ?? 0,
      output: usage.output,
      reasoning: usage.reasoning ?? 0,
    },
  };
}

/** A tool that the caller runs itself. */
const ANY_TOOL = { inputSchema: jsonSchema<never>({ type: "object" }) };

/**
 * Creates a gateway whose upstreams answer with a recording, each in the protocol of its family.
 */
async function handlerOf(
  { answer, contentType }: RecordedExchange,
): Promise<Handler> {
  const file = pairsFile("http://upstream.test");
  const headers = { "content-type": contentType };
  return createGateway({
    liveConfig: createLiveConfig(configOf(await loadFile(file))),
    fetch: () => Promise.resolve(new Response(answer, { headers })),
    log: createLog({ format: "json", now: Date.now, sink: () => {} }),
    timers: hurriedTimers,
  }).handler;
}

/** Returns the expected facts. */
function meantFacts(
  { text, refusal, reasoning, calls, finish, usage }: RecordedAnswer,
  protocol: Protocol,
  client: AiSdkClient,
): Facts {
  return {
    // The SDK has no refusals: their message is text.
    text: squeeze(text + refusal),
    reasoning: client.showsReasoning ? squeeze(reasoning) : "",
    calls: calls.map((call) => ({
      name: call.name,
      input: meantInput(call, client),
    })),
    finish: refusal === ""
      ? meantFinish(FINISHES[protocol][finish] ?? "stop", calls.length > 0)
      : "content-filter",
    usage: usage && {
      input: usage.input_tokens,
      cached: usage.cached_input_tokens ?? 0,
      written: client.showsCacheWrites ? usage.cache_write_tokens ?? 0 : 0,
      output: usage.output_tokens,
      reasoning: usage.reasoning_tokens ?? 0,
    },
    warnings: [],
  };
}

/** A client would loop or stall if the stop reason did not match the calls. */
function meantFinish(finish: string, hasCalls: boolean): string {
  if (finish === "stop" && hasCalls) return "tool-calls";
  return finish === "tool-calls" && !hasCalls ? "stop" : finish;
}

/** Free text becomes the one field of an object when the caller's protocol knows only objects. */
function meantInput({ input, isCustom }: RecordedCall, client: AiSdkClient) {
  if (!isCustom) return inputOf(input);
  return client.name === "OpenAI Responses" ? input : { input };
}
