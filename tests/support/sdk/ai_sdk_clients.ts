import type { Family } from "../../../src/core/protocol.ts";
import type { createGateway } from "../../../src/app.ts";
import {
  createAnthropic,
  createOpenAI,
  createOpenAICompatible,
  type LanguageModel,
} from "./ai_sdk.ts";
import { ALICE_TOKEN } from "../gateway/config.ts";

/** What serves the requests of a client. */
export type Handler = ReturnType<typeof createGateway>["handler"];

/** A provider of the AI SDK, and the families that the gateway translates for it. */
export interface AiSdkClient {
  readonly name: string;
  readonly families: readonly Family[];
  /** Whether it hands on the reasoning that the gateway tells it. */
  readonly showsReasoning: boolean;
  /** Whether it hands on how many tokens were written to a cache. */
  readonly showsCacheWrites: boolean;
  readonly modelOf: (handler: Handler, id: string) => LanguageModel;
}

/** Every provider that speaks a protocol of the gateway. */
export const AI_SDK_CLIENTS: readonly AiSdkClient[] = [
  {
    name: "OpenAI-compatible chat",
    families: ["B", "C"],
    showsReasoning: true,
    showsCacheWrites: false,
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
    showsCacheWrites: true,
    modelOf: (handler, id) => createOpenAI(settings(handler)).chat(id),
  },
  {
    name: "OpenAI Responses",
    families: ["A"],
    showsReasoning: true,
    showsCacheWrites: true,
    modelOf: (handler, id) => createOpenAI(settings(handler)).responses(id),
  },
  {
    name: "Anthropic Messages",
    families: ["A"],
    showsReasoning: true,
    showsCacheWrites: true,
    modelOf: (handler, id) => createAnthropic(settings(handler))(id),
  },
];

/** What every provider of the SDK is told of the gateway. */
function settings(handler: Handler) {
  return {
    baseURL: "http://gateway.test/v1",
    apiKey: ALICE_TOKEN,
    fetch: (input: URL | RequestInfo, init?: RequestInit) =>
      handler(new Request(input, init)),
  };
}
