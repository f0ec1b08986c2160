import { isJsonObject } from "../../../src/base/json.ts";
import type { Operation } from "../../../src/base/protocol.ts";
import type { ServiceName } from "../../../src/services/services.ts";
import {
  answerSchemas,
  at,
  chatToolsBesideReasoning,
  claudeSchemas,
  efforts,
  type FakeRequest,
  fields,
  firstOf,
  foreignParts,
  GEMINI,
  hostedTools,
  jsonObjects,
  longCallIds,
  longWhole,
  mixedStrict,
  namedChoice,
  namelessResults,
  openAiSchemas,
  parts,
  type Refusal,
  stops,
  unknownBeta,
  version,
  withoutUser,
} from "./refusals.ts";

/** The value of every key in the tests of presets. */
export const FAKE_KEY = "key-of-the-fake";

/** An operation that a fake provider may serve. */
export type FakeOperation = Extract<
  Operation,
  "chat_completions" | "messages" | "responses" | "completions"
>;

/** A provider with the addresses, the credential and the refusals of the real one. */
export interface FakeProvider {
  /** The whole URL of each operation that it serves. */
  readonly urls: Readonly<Partial<Record<FakeOperation, string>>>;
  /** The header with the key, and its value; by default, a bearer token; `null` for a server without keys. */
  readonly credential?: readonly [name: string, value: string] | null;
  /** Returns the real provider's error for a request that it refuses. */
  readonly refuse?: Refusal;
  /** Returns the native request that it receives, if that differs from the caller's. */
  readonly nativeText?: (text: string) => string;
  /** The operation of translated requests, if it is not the family's main one. */
  readonly translatedTo?: FakeOperation;
  /** The model to ask; default: that of the service's first configuration. */
  readonly model?: string;
}

const BEARER = ["authorization", `Bearer ${FAKE_KEY}`] as const;
const API_KEY = ["api-key", FAKE_KEY] as const;

/** Returns a local server without a key. */
const inHouse = (port: number): FakeProvider => ({
  credential: null,
  urls: {
    chat_completions: `http://127.0.0.1:${port}/v1/chat/completions`,
    messages: `http://127.0.0.1:${port}/v1/messages`,
    responses: `http://127.0.0.1:${port}/v1/responses`,
    completions: `http://127.0.0.1:${port}/v1/completions`,
  },
});

const MESSAGES = "/messages";
const CHAT = "/chat/completions";

/** The two sites of GLM's coding plan. */
const glm = (host: string): FakeProvider => ({
  urls: {
    chat_completions: `${host}/api/coding/paas/v4/chat/completions`,
    messages: `${host}/api/anthropic/v1/messages`,
  },
  // https://github.com/anomalyco/opencode/issues/2557, https://docs.z.ai/guides/capabilities/struct-output
  refuse: firstOf(
    withoutUser,
    answerSchemas,
    stops(1),
    at(CHAT, fields("reasoning_effort")),
    at(MESSAGES, version),
  ),
});

/** The fakes of the services, except of `codex`, which needs a stream, and of custom servers. */
export const FAKE_PROVIDERS = {
  zai: glm("https://api.z.ai"),
  bigmodel: glm("https://open.bigmodel.cn"),
  anthropic: {
    urls: { messages: "https://api.anthropic.com/v1/messages" },
    credential: ["x-api-key", FAKE_KEY],
    refuse: firstOf(version, claudeSchemas),
  },
  openai: {
    urls: { responses: "https://api.openai.com/v1/responses" },
    // "Unsupported parameter: 'temperature' is not supported with this model."
    refuse: firstOf(fields("temperature", "max_tokens", "stop"), openAiSchemas),
  },
  openrouter: {
    urls: {
      chat_completions: "https://openrouter.ai/api/v1/chat/completions",
      messages: "https://openrouter.ai/api/v1/messages",
      responses: "https://openrouter.ai/api/v1/responses",
      completions: "https://openrouter.ai/api/v1/completions",
    },
  },
  kimi: {
    urls: {
      chat_completions: "https://api.kimi.com/coding/v1/chat/completions",
      messages: "https://api.kimi.com/coding/v1/messages",
    },
  },
  moonshot: {
    urls: {
      chat_completions: "https://api.moonshot.ai/v1/chat/completions",
      messages: "https://api.moonshot.ai/anthropic/v1/messages",
      responses: "https://api.moonshot.ai/v1/responses",
    },
  },
  minimax: {
    urls: {
      chat_completions: "https://api.minimax.io/v1/chat/completions",
      messages: "https://api.minimax.io/anthropic/v1/messages",
      responses: "https://api.minimax.io/v1/responses",
    },
    // https://github.com/cisco-ai-defense/skill-scanner/pull/115
    refuse: at(CHAT, answerSchemas),
  },
  deepseek: {
    urls: {
      chat_completions: "https://api.deepseek.com/chat/completions",
      messages: "https://api.deepseek.com/anthropic/v1/messages",
      completions: "https://api.deepseek.com/beta/completions",
    },
    // https://api-docs.deepseek.com/guides/json_mode, https://github.com/nesquena/hermes-webui/issues/2297
    refuse: firstOf(answerSchemas, at(CHAT, parts("image_url")), stops(16)),
  },
  groq: {
    urls: {
      chat_completions: "https://api.groq.com/openai/v1/chat/completions",
    },
    // https://console.groq.com/docs/openai, https://github.com/vercel/ai/issues/10023
    refuse: firstOf(
      fields("logprobs", "logit_bias", "top_logprobs"),
      foreignParts,
      stops(4),
      ({ body }) =>
        body.tools !== undefined && body.response_format !== undefined
          ? "json mode cannot be combined with tool/function calling"
          : undefined,
      efforts("low", "medium", "high"),
    ),
  },
  siliconflow: {
    urls: {
      chat_completions: "https://api.siliconflow.com/v1/chat/completions",
    },
  },
  synthetic: {
    urls: {
      chat_completions: "https://api.synthetic.new/openai/v1/chat/completions",
      messages: "https://api.synthetic.new/anthropic/v1/messages",
      completions: "https://api.synthetic.new/openai/v1/completions",
    },
  },
  "openai-chat": {
    urls: {
      chat_completions: "https://api.openai.com/v1/chat/completions",
      responses: "https://api.openai.com/v1/responses",
    },
    // "Unsupported parameter: 'max_tokens' is not supported with this model."
    refuse: firstOf(
      fields("max_tokens", "temperature"),
      chatToolsBesideReasoning,
      openAiSchemas,
    ),
    translatedTo: "responses",
    model: "gpt-6.1-sol",
  },
  azure: {
    urls: {
      responses: "https://my-resource.openai.azure.com/openai/v1/responses",
    },
    credential: API_KEY,
    refuse: firstOf(
      hostedTools,
      fields("temperature", "max_tokens"),
      openAiSchemas,
    ),
  },
  "azure-chat": {
    urls: {
      chat_completions:
        "https://my-resource.openai.azure.com/openai/v1/chat/completions",
      responses: "https://my-resource.openai.azure.com/openai/v1/responses",
    },
    credential: API_KEY,
    refuse: firstOf(
      fields("max_tokens", "temperature", "prompt_cache_breakpoint"),
      openAiSchemas,
      stops(4),
    ),
  },
  "azure-claude": {
    urls: {
      messages:
        "https://my-resource.services.ai.azure.com/anthropic/v1/messages",
    },
    credential: API_KEY,
    refuse: firstOf(version, claudeSchemas),
  },
  "aws-claude": {
    urls: {
      messages: "https://aws-external-anthropic.us-west-2.api.aws/v1/messages",
    },
    credential: ["x-api-key", FAKE_KEY],
    refuse: firstOf(
      version,
      ({ headers }) =>
        headers.get("anthropic-workspace-id") === "wrkspc_01AbCdEf"
          ? undefined
          : "anthropic-workspace-id: header is required",
    ),
  },
  bedrock: {
    urls: {
      chat_completions:
        "https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1/chat/completions",
    },
    // https://github.com/CherryHQ/cherry-studio/issues/9655
    refuse: fields("max_tokens"),
  },
  "bedrock-responses": {
    urls: {
      responses:
        "https://bedrock-runtime.us-east-2.amazonaws.com/openai/v1/responses",
    },
    refuse: firstOf(hostedTools, fields("temperature")),
  },
  "bedrock-claude": {
    urls: {
      messages:
        "https://bedrock-mantle.us-west-2.api.aws/anthropic/v1/messages",
    },
    credential: ["x-api-key", FAKE_KEY],
    refuse: firstOf(version, unknownBeta, claudeSchemas),
  },
  vertex: {
    urls: {
      chat_completions:
        "https://europe-west1-aiplatform.googleapis.com/v1/projects/my-project/locations/europe-west1/endpoints/openapi/chat/completions",
    },
    // A parameter that it does not know is ignored.
    refuse: firstOf(
      namelessResults,
      efforts("none", "low", "medium", "high"),
      stops(5),
    ),
  },
  "vertex-claude": {
    urls: {
      messages:
        "https://europe-west1-aiplatform.googleapis.com/v1/projects/my-project/locations/europe-west1/publishers/anthropic/models/claude-sonnet-4-6:rawPredict",
    },
    nativeText: (text) =>
      text.replace(
        '"model":"claude-sonnet-4-6"',
        '"anthropic_version":"vertex-2023-10-16"',
      ),
    refuse: firstOf(fields("model"), claudeSchemas),
  },
  gemini: {
    urls: {
      chat_completions:
        "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
    },
    refuse: GEMINI,
  },
  xai: {
    urls: {
      chat_completions: "https://api.x.ai/v1/chat/completions",
      responses: "https://api.x.ai/v1/responses",
    },
    refuse: firstOf(
      // https://github.com/miaoxworld/NativeTavern/issues/83, https://github.com/langchain-ai/langchain/pull/38335
      fields("frequency_penalty", "presence_penalty", "stop"),
      efforts("low", "medium", "high", "xhigh"),
    ),
  },
  mistral: {
    urls: {
      chat_completions: "https://api.mistral.ai/v1/chat/completions",
    },
    // "extra_forbidden": https://github.com/BerriAI/litellm/issues/30835
    refuse: firstOf(
      fields("user", "stream_options", "seed", "max_completion_tokens"),
      foreignParts,
      longCallIds,
      parts("file"),
      efforts("none", "high"),
    ),
  },
  cerebras: {
    urls: {
      chat_completions: "https://api.cerebras.ai/v1/chat/completions",
    },
    // https://github.com/anomalyco/opencode/pull/26763, https://hexdocs.pm/req_llm/cerebras.html
    refuse: firstOf(
      fields("frequency_penalty", "presence_penalty", "logit_bias"),
      fields("service_tier"),
      ({ body }) =>
        body.tools !== undefined && body.response_format !== undefined
          ? '"tools" is incompatible with "response_format"'
          : undefined,
      mixedStrict,
      foreignParts,
      efforts("low", "medium", "high"),
    ),
  },
  cohere: {
    urls: {
      chat_completions:
        "https://api.cohere.ai/compatibility/v1/chat/completions",
    },
    // https://docs.cohere.com/docs/compatibility-api#unsupported-parameters,
    // https://github.com/cohere-ai/cohere-developer-experience/pull/606
    refuse: firstOf(
      fields("store", "metadata", "logit_bias", "top_logprobs", "n"),
      fields("modalities", "prediction", "audio", "service_tier"),
      fields("parallel_tool_calls", "user"),
      stops(5),
      efforts("none", "high"),
    ),
  },
  dashscope: {
    urls: {
      chat_completions:
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions",
      messages:
        "https://dashscope-intl.aliyuncs.com/apps/anthropic/v1/messages",
    },
    refuse: firstOf(
      ({ body }) =>
        body.tool_choice === "required" || isJsonObject(body.tool_choice)
          ? "The tool_choice parameter does not support being set to required or object in thinking mode"
          : undefined,
      ({ body }) =>
        body.response_format === undefined
          ? undefined
          : "Json mode response is not supported when enable_thinking is true",
    ),
  },
  volcengine: {
    urls: {
      chat_completions:
        "https://ark.cn-beijing.volces.com/api/v3/chat/completions",
    },
    refuse: firstOf(
      fields("stop"),
      efforts("minimal", "low", "medium", "high"),
    ),
  },
  together: {
    urls: {
      chat_completions: "https://api.together.ai/v1/chat/completions",
      completions: "https://api.together.ai/v1/completions",
    },
  },
  fireworks: {
    urls: {
      chat_completions:
        "https://api.fireworks.ai/inference/v1/chat/completions",
      messages: "https://api.fireworks.ai/inference/v1/messages",
      completions: "https://api.fireworks.ai/inference/v1/completions",
    },
    refuse: longWhole,
  },
  nvidia: {
    urls: {
      chat_completions: "https://integrate.api.nvidia.com/v1/chat/completions",
    },
    refuse: efforts("low", "medium", "high"),
  },
  huggingface: {
    urls: {
      chat_completions: "https://router.huggingface.co/v1/chat/completions",
    },
  },
  ollama: inHouse(11434),
  vllm: inHouse(8000),
  sglang: {
    credential: null,
    urls: {
      chat_completions: "http://127.0.0.1:30000/v1/chat/completions",
      messages: "http://127.0.0.1:30000/v1/messages",
      completions: "http://127.0.0.1:30000/v1/completions",
    },
  },
  llamacpp: inHouse(8080),
  // https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/189 and /670
  lmstudio: {
    ...inHouse(1234),
    refuse: at(CHAT, firstOf(namedChoice, jsonObjects)),
  },
  litellm: { ...inHouse(4000), credential: BEARER },
} as const satisfies Readonly<Partial<Record<ServiceName, FakeProvider>>>;

const CREDENTIALS = ["authorization", "x-api-key", "api-key"];

/** Returns the reason of a provider to refuse a request, in its own words if known; `undefined` to serve it. */
export function refusalOf(
  { urls, credential = BEARER, refuse }: FakeProvider,
  request: FakeRequest,
): string | undefined {
  // Claude on Vertex AI has another method for a stream.
  const url = request.url.replace(/:streamRawPredict$/, ":rawPredict");
  if (!Object.values(urls).includes(url)) {
    return `There is nothing at ${request.url}.`;
  }
  for (const name of CREDENTIALS) {
    const wanted = credential?.[0] === name ? credential[1] : null;
    if (request.headers.get(name) !== wanted) return `Wrong ${name} header.`;
  }
  return refuse?.(request);
}
