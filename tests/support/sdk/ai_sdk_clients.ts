import type { Family } from "../../../src/base/protocol.ts";
import type { createGateway } from "../../../src/gateway/app.ts";
import {
  createAnthropic,
  createOpenAI,
  createOpenAICompatible,
  type LanguageModel,
} from "./ai_sdk.ts";
import { ALICE_TOKEN } from "../gateway/config.ts";

/** The request handler of the gateway. */
export type Handler = ReturnType<typeof createGateway>["handler"];

/** A provider of the AI SDK, and the families that the gateway translates for it. */
export interface AiSdkClient {
  readonly name: string;
  readonly families: readonly Family[];
  /** True when it shows the reasoning of the gateway's answer. */
  readonly showsReasoning: boolean;
  /** True when it shows the number of tokens written to a cache. */
  readonly showsCacheWrites: boolean;
  readonly modelOf: (handler: Handler, id: string) => LanguageModel;
}

/** Every provider of the SDK with a protocol of the gateway. */
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

/** Returns the settings of every provider of the SDK. */
function settings(handler: Handler) {
  return {
    baseURL: "http://gateway.test/v1",
    apiKey: ALICE_TOKEN,
    fetch: (input: URL | RequestInfo, init?: RequestInit) =>
      handler(new Request(input, init)),
  };
}
