import assert from "node:assert/strict";
import { Anthropic, Anthropic0 } from "./sdks.ts";

/** The settings of both generations of the SDK for a server. */
export interface ClientOptions {
  readonly baseURL: string;
  readonly apiKey: string;
  readonly fetch: typeof fetch;
  readonly maxRetries: number;
}

/** A block of a conversation, in the form that both generations of the SDK accept. */
export type Block =
  | { type: "text"; text: string }
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "tool_use"; id: string; name: string; input: unknown }
  | { type: "tool_result"; tool_use_id: string; content: string };

export interface Body {
  model: string;
  max_tokens: number;
  thinking?: { type: "enabled"; budget_tokens: number };
  messages: { role: "user" | "assistant"; content: string | Block[] }[];
  tools?: {
    name: string;
    input_schema: { type: "object"; properties: object; required: string[] };
  }[];
}

export interface Answer {
  content: readonly { type: string }[];
  usage: { input_tokens: number; output_tokens: number };
  stop_reason: string | null;
}

/** The functions of an SDK that the tests use; the types of the two generations do not mix. */
export interface Sdk {
  create(body: Body): Promise<Answer>;
  /**
   * @param onText Called with every chunk of text.
   * @param signal Ends the stream.
   */
  stream(
    body: Body,
    onText?: (text: string) => void,
    signal?: AbortSignal,
  ): Promise<Answer>;
  countTokens(body: Omit<Body, "max_tokens">): Promise<number>;
  modelIds(): Promise<string[]>;
  modelId(id: string): Promise<string>;
}

/** 1.x, which sends its key as a bearer token and the version of 2026. */
export function createSdk1(options: ClientOptions): Sdk {
  const { messages, models } = new Anthropic(options);
  return {
    create: (body) => messages.create(body),
    stream: (body, onText = () => {}, signal) =>
      messages.stream(body, signal && { signal }).on("text", onText)
        .finalMessage(),
    countTokens: async (body) =>
      (await messages.countTokens(body)).input_tokens,
    modelIds: () => idsOf(models.list()),
    modelId: async (id) => (await models.retrieve(id)).id,
  };
}

/** 0.x, which sends its key as `x-api-key` and the version of 2023. */
export function createSdk0(options: ClientOptions): Sdk {
  const { messages, models } = new Anthropic0(options);
  return {
    create: (body) => messages.create(body),
    stream: (body, onText = () => {}, signal) =>
      messages.stream(body, signal && { signal }).on("text", onText)
        .finalMessage(),
    countTokens: async (body) =>
      (await messages.countTokens(body)).input_tokens,
    modelIds: () => idsOf(models.list()),
    modelId: async (id) => (await models.retrieve(id)).id,
  };
}

async function idsOf(
  models: AsyncIterable<{ readonly id: string }>,
): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of models) ids.push(id);
  return ids;
}

/** A tool that the demo calls when the prompt mentions it. */
export const TOOL = {
  name: "get_weather",
  input_schema: {
    type: "object" as const,
    properties: { city: { type: "string" } },
    required: ["city"],
  },
};

/** Returns the smallest request for a model. */
export function helloTo(model: string): Body {
  return {
    model,
    max_tokens: 500,
    messages: [{ role: "user", content: "Hello, ünïcode 🙂" }],
  };
}

/** Makes the demo reason and call the tool, sends its whole answer back with a result, and returns the next answer. */
export async function handBackToolResult(
  sdk: Sdk,
  more: Partial<Body> = {},
): Promise<string> {
  const question = {
    role: "user" as const,
    content: "Please use get_weather.",
  };
  const body = { ...helloTo("demo-b-think"), tools: [TOOL], ...more };
  const first = await sdk.stream({ ...body, messages: [question] });
  assert.equal(first.stop_reason, "tool_use");
  const content: Block[] = JSON.parse(JSON.stringify(first.content));
  const call = content.find((block) => block.type === "tool_use");
  assert.deepEqual(call?.input, { city: "demo" });
  let text = "";
  await sdk.stream({
    ...body,
    messages: [question, { role: "assistant", content }, {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: call.id, content: "rain" }],
    }],
  }, (delta) => text += delta);
  return text;
}
