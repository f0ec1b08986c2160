import assert from "node:assert/strict";
import { createGateway } from "../../src/app.ts";
import { createLiveConfig } from "../../src/config/live_config.ts";
import { systemClock } from "../../src/core/time/timers.ts";
import { randomIds } from "../../src/core/ids.ts";
import type { Family } from "../../src/core/protocol.ts";
import { estimateTokens } from "../../src/demo/answers.ts";
import {
  BASE_PATH,
  isThinkingModel,
  modelsOf,
  type Provider,
  PROVIDERS,
} from "../../src/demo/providers.ts";
import { createStrictProvider } from "../support/upstream/strict_provider/mod.ts";
import { createLog } from "../../src/observe/log.ts";
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
import { connectionFile, minimalConfig } from "../support/gateway/config.ts";
import { PROTOCOL_BY_FAMILY } from "../support/dialects/pairs.ts";

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
      // Only the demo's Messages protocol counts them; a Messages caller always reads a number.
      written: client.showsCacheWrites &&
          (family === "B" || client.name === "Anthropic Messages")
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

  Deno.test(`${name} reads the same text, finish reason and usage streamed and whole`, async () => {
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

  Deno.test(`${name} calls the same tool streamed and whole and is answered with its result`, async () => {
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
        cached: 16,
        text: `The tool get_weather returned: Rain in Cologne for 3 days. ${
          signature(route)
        }`,
      }),
    ]);
    assert.deepEqual(await askStreamed({ model, prompt, tools: TOOLS }), facts);
  });
}
