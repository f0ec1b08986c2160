import assert from "node:assert/strict";
import { createGateway } from "../../src/app.ts";
import { createConfigStore } from "../../src/config/store.ts";
import { systemClock } from "../../src/core/clock.ts";
import { randomIds } from "../../src/core/ids.ts";
import type { Family } from "../../src/core/protocol.ts";
import { isThinkingModel, modelsOf } from "../../src/demo/models.ts";
import {
  BASE_PATH,
  type Provider,
  PROVIDERS,
} from "../../src/demo/providers.ts";
import { createDemoUpstream } from "../../src/demo/upstream.ts";
import { estimateTokens } from "../../src/demo/usage.ts";
import { createLog } from "../../src/observe/log.ts";
import {
  createAnthropic,
  createOpenAI,
  createOpenAICompatible,
  generateText,
  isStepCount,
  jsonSchema,
  type LanguageModel,
  type StepResult,
  streamText,
  tool,
} from "../support/ai_sdk.ts";
import {
  ALICE_TOKEN,
  connectionFile,
  minimalConfig,
} from "../support/config.ts";

/** The one endpoint that each family has here, so that every other protocol is translated. */
const ENDPOINTS = { A: "chat", B: "messages", C: "responses" } as const;

type Handler = ReturnType<typeof createGateway>["handler"];

/** A gateway in front of the demo, whose providers speak one protocol each. */
async function demoHandler(): Promise<Handler> {
  const config = await minimalConfig({
    connections: PROVIDERS.map(connectionOf),
  });
  const { handler } = createGateway({
    store: createConfigStore(config),
    fetch: createDemoUpstream({
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
    endpoints: { [ENDPOINTS[family]]: `https://${host}${BASE_PATH}` },
    auth: { scheme: family === "B" ? "x-api-key" : "bearer", key },
    models: modelsOf(family),
  });
}

/** What every provider of the SDK is told of the gateway. */
function settings(handler: Handler) {
  return {
    baseURL: "http://gateway.test/v1",
    apiKey: ALICE_TOKEN,
    fetch: (input: URL | RequestInfo, init?: RequestInit) =>
      handler(new Request(input, init)),
  };
}

/** A provider of the SDK, and the families that the gateway translates for it. */
interface Client {
  readonly name: string;
  readonly families: readonly Family[];
  /** Whether it hands on the reasoning that the gateway tells it. */
  readonly showsReasoning: boolean;
  readonly modelOf: (handler: Handler, id: string) => LanguageModel;
}

const CLIENTS: readonly Client[] = [
  {
    name: "OpenAI-compatible chat",
    families: ["B", "C"],
    showsReasoning: true,
    modelOf: (handler, id) =>
      createOpenAICompatible({
        name: "gateway",
        includeUsage: true,
        ...settings(handler),
      })(id),
  },
  {
    name: "OpenAI chat",
    families: ["B", "C"],
    showsReasoning: false,
    modelOf: (handler, id) => createOpenAI(settings(handler)).chat(id),
  },
  {
    name: "OpenAI Responses",
    families: ["A"],
    showsReasoning: true,
    modelOf: (handler, id) => createOpenAI(settings(handler)).responses(id),
  },
  {
    name: "Anthropic Messages",
    families: ["A"],
    showsReasoning: true,
    modelOf: (handler, id) => createAnthropic(settings(handler))(id),
  },
];

const TOOLS = {
  get_weather: tool({
    description: "Tells the weather",
    inputSchema: jsonSchema<{ city: string; days: number }>({
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer" } },
      required: ["city", "days"],
    }),
    execute: ({ city, days }) => `Rain in ${city} for ${days} days`,
  }),
};

/** What every provider is asked: to answer, call the tools that it wants, and answer once more. */
function question(model: LanguageModel, prompt: string) {
  return {
    model,
    prompt,
    tools: TOOLS,
    stopWhen: isStepCount(2),
    maxOutputTokens: 1000,
    maxRetries: 0,
    // The gateway keeps no answers, so the SDK must send the conversation itself.
    providerOptions: { openai: { store: false } },
  };
}

/** What the caller learns from one answer. */
interface Facts {
  readonly text: string;
  readonly reasoning: string | undefined;
  readonly calls: readonly unknown[];
  readonly finish: string;
  /** Tokens. */
  readonly usage: Readonly<Record<string, number | undefined>>;
  /** What the SDK had to leave out or did not understand. */
  readonly warnings: readonly unknown[];
}

/** The facts of an answer; without ids, which are new in every answer. */
function factsOf(step: StepResult<typeof TOOLS>): Facts {
  const { usage } = step;
  return {
    text: step.text,
    reasoning: step.reasoningText,
    calls: step.toolCalls.map(({ toolName, input }) => ({ toolName, input })),
    finish: step.finishReason,
    usage: {
      input: usage.inputTokens,
      cached: usage.inputTokenDetails.cacheReadTokens,
      output: usage.outputTokens,
      reasoning: usage.outputTokenDetails.reasoningTokens,
    },
    warnings: step.warnings ?? [],
  };
}

async function whole(model: LanguageModel, prompt: string): Promise<Facts[]> {
  const { steps } = await generateText(question(model, prompt));
  return steps.map(factsOf);
}

async function streamed(
  model: LanguageModel,
  prompt: string,
): Promise<Facts[]> {
  const errors: unknown[] = [];
  const result = streamText({
    ...question(model, prompt),
    onError: ({ error }) => {
      errors.push(error);
    },
  });
  let text = "";
  for await (const delta of result.textStream) text += delta;
  assert.deepEqual(errors, []);
  const steps = (await result.steps).map(factsOf);
  assert.equal(text, steps.map((step) => step.text).join(""));
  return steps;
}

/** A client in front of a model that is not of its protocol. */
interface Route {
  readonly client: Client;
  readonly family: Family;
  readonly id: string;
}

const ROUTES: readonly Route[] = CLIENTS.flatMap((client) =>
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

/** What the demo ends each text with. */
function signature({ family, id }: Route): string {
  return `This is ${id} of the simulated family ${family}, answering over ${
    PROTOCOL_NAMES[family]
  }; no real model was asked.`;
}

/** The facts of an answer of the demo, which thinks `thought` where its model thinks at all. */
function expectedFacts(
  { client, family, id }: Route,
  said: {
    readonly thought: string;
    readonly input: number;
    readonly cached?: number;
    readonly text?: string;
    readonly call?: { readonly toolName: string; readonly input: object };
  },
): Facts {
  const { text = "", call } = said;
  const thought = isThinkingModel(id) ? said.thought : "";
  const spoken = call ? call.toolName + JSON.stringify(call.input) : text;
  return {
    text,
    reasoning: client.showsReasoning && thought !== "" ? thought : undefined,
    calls: call ? [call] : [],
    finish: call ? "tool-calls" : "stop",
    usage: {
      input: said.input,
      cached: said.cached ?? 0,
      output: estimateTokens(spoken) + estimateTokens(thought),
      // The Messages protocol of the demo counts reasoning as output and does not tell it apart.
      reasoning: family === "B" ? 0 : estimateTokens(thought),
    },
    warnings: [],
  };
}

for (const route of ROUTES) {
  const { client, family, id } = route;
  const name = `${client.name} of the AI SDK, asking ${id} over ${
    ENDPOINTS[family]
  },`;

  Deno.test(`${name} reads the same text, finish reason and usage streamed and whole`, async () => {
    const model = client.modelOf(await demoHandler(), id);
    const prompt = "Hello there";
    const facts = await whole(model, prompt);
    assert.deepEqual(facts, [expectedFacts(route, {
      thought: `The user said: "${prompt}". I answer with what I know.`,
      input: 41,
      text: `You said: "${prompt}". ${signature(route)}`,
    })]);
    assert.deepEqual(await streamed(model, prompt), facts);
  });

  Deno.test(`${name} calls the same tool streamed and whole and is answered with its result`, async () => {
    const model = client.modelOf(await demoHandler(), id);
    const input = { city: "Cologne", days: 3 };
    const prompt = `Call get_weather with ${JSON.stringify(input)}`;
    const facts = await whole(model, prompt);
    const heard = `The user said: "${prompt}".`;
    assert.deepEqual(facts, [
      expectedFacts(route, {
        thought: `${heard} I call the tool get_weather.`,
        input: 51,
        call: { toolName: "get_weather", input },
      }),
      expectedFacts(route, {
        thought: `${heard} I answer with what I know.`,
        input: 67,
        cached: 16,
        text: `The tool get_weather returned: Rain in Cologne for 3 days. ${
          signature(route)
        }`,
      }),
    ]);
    assert.deepEqual(await streamed(model, prompt), facts);
  });
}
