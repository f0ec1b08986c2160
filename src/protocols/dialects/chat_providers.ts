import {
  type ChatRules,
  COMPATIBLE_CHAT,
  OPENAI_CHAT,
  OPENCODE_SOURCE,
} from "./chat_rules.ts";
import {
  CEREBRAS_MODELS,
  COHERE_MODELS,
  DOUBAO_MODELS,
  GEMINI_MODELS,
  GROQ_MODELS,
  MISTRAL_MODELS,
  NVIDIA_MODELS,
  XAI_MODELS,
} from "./effort_models.ts";
import { PATTERN_SOURCES } from "./openai_models.ts";
import {
  DEEPSEEK_MODELS,
  GLM_MODELS,
  KIMI_MODELS,
  MINIMAX_MODELS,
  QWEN_MODELS,
} from "./thinking_models.ts";

/** One row of the table. */
interface ChatProvider {
  readonly services: readonly string[];
  readonly sources: readonly string[];
  readonly rules: ChatRules;
  /** The rules of models that are not OpenAI's, where they differ. */
  readonly otherModels?: ChatRules;
}

/** The kinds of service with their own rules. */
export const CHAT_PROVIDERS: readonly ChatProvider[] = [
  {
    services: ["openai", "openai-chat"],
    sources: [
      "https://developers.openai.com/api/reference/resources/chat",
      ...PATTERN_SOURCES,
    ],
    rules: OPENAI_CHAT,
  },
  {
    // Another gateway adjusts the request to its own upstream.
    services: ["gateway"],
    sources: ["https://developers.openai.com/api/reference/resources/chat"],
    rules: {
      ...OPENAI_CHAT,
      compilesPatterns: false,
      reasoningField: "reasoning_content",
      cache: "cache_control",
      topK: true,
      fitsModel: true,
    },
  },
  {
    services: ["openrouter"],
    sources: [
      "https://openrouter.ai/docs/api-reference/parameters",
      "https://openrouter.ai/docs/guides/best-practices/reasoning-tokens",
    ],
    rules: {
      ...COMPATIBLE_CHAT,
      textParts: true,
      reasoning: "router",
      reasoningField: "reasoning",
      topK: true,
      cache: "cache_control",
      fitsModel: true,
    },
  },
  {
    services: ["zai", "bigmodel"],
    sources: [
      "https://docs.z.ai/api-reference/llm/chat-completion",
      "https://docs.z.ai/guides/capabilities/struct-output",
      // "this error occur when sending a completion request with zero `user` role messages in it"
      "https://github.com/anomalyco/opencode/issues/2557",
    ],
    rules: {
      ...COMPATIBLE_CHAT,
      schemas: false,
      reasoning: "switch",
      models: GLM_MODELS,
      demandsUser: true,
    },
  },
  {
    services: ["kimi", "moonshot"],
    sources: [
      "https://platform.kimi.ai/docs/api/chat",
      "https://platform.kimi.ai/docs/api/partial",
      // "when using anyOf, type should be defined in anyOf items instead of the parent schema"
      "https://github.com/MoonshotAI/kimi-cli/issues/1595",
    ],
    rules: {
      ...COMPATIBLE_CHAT,
      moonshotSchemas: true,
      reasoning: "switch",
      models: KIMI_MODELS,
      reasoningOnAll: true,
      continueField: "partial",
    },
  },
  {
    services: ["deepseek"],
    sources: [
      "https://api-docs.deepseek.com/api/create-chat-completion",
      "https://api-docs.deepseek.com/guides/json_mode",
    ],
    rules: {
      ...COMPATIBLE_CHAT,
      schemas: false,
      reasoning: "switch",
      models: DEEPSEEK_MODELS,
      reasoningOnAll: true,
    },
  },
  {
    services: ["minimax"],
    sources: ["https://platform.minimax.io/docs/api-reference/text-openai-api"],
    rules: {
      ...COMPATIBLE_CHAT,
      reasoning: "switch",
      models: MINIMAX_MODELS,
    },
  },
  {
    services: ["groq"],
    sources: [
      "https://console.groq.com/docs/reasoning",
      // "json mode cannot be combined with tool/function calling"
      "https://github.com/vercel/ai/issues/10023",
      // "property 'reasoning_content' is unsupported"
      "https://console.groq.com/docs/api-reference",
    ],
    rules: {
      ...COMPATIBLE_CHAT,
      formatsWithTools: false,
      effortModels: GROQ_MODELS,
      reasoningField: "reasoning",
    },
  },
  {
    services: ["cerebras"],
    sources: [
      "https://inference-docs.cerebras.ai/capabilities/reasoning",
      // '"tools" is incompatible with "response_format"', and `reasoning_content` is rejected.
      "https://github.com/anomalyco/opencode/pull/26763",
    ],
    rules: {
      ...COMPATIBLE_CHAT,
      limitField: "max_completion_tokens",
      formatsWithTools: false,
      effortModels: CEREBRAS_MODELS,
      reasoningField: undefined,
    },
  },
  {
    services: ["mistral"],
    sources: [
      "https://docs.mistral.ai/api",
      // "extra_forbidden" for `reasoning_content`
      "https://github.com/BerriAI/litellm/issues/30835",
      OPENCODE_SOURCE,
    ],
    rules: {
      ...COMPATIBLE_CHAT,
      effortModels: MISTRAL_MODELS,
      reasoningField: undefined,
      userAfterTool: false,
      shortCallIds: true,
      continueField: "prefix",
      streamOptions: false,
      refusesUser: true,
      seedField: "random_seed",
    },
  },
  {
    services: ["siliconflow"],
    sources: [
      "https://docs.siliconflow.com/en/api-reference/chat-completions/chat-completions",
    ],
    rules: COMPATIBLE_CHAT,
  },
  {
    services: ["synthetic"],
    sources: ["https://dev.synthetic.new/docs/api/overview"],
    rules: COMPATIBLE_CHAT,
  },
  {
    // The v1 API of Azure documents no cache breakpoints. Each model has its own settings.
    services: ["azure", "azure-chat"],
    sources: [
      "https://learn.microsoft.com/en-us/azure/ai-foundry/openai/latest",
      // "Unrecognized request argument supplied: prompt_cache_key", for DeepSeek
      "https://github.com/vectorize-io/hindsight/issues/3518",
      // Its efforts, and `reasoning_content`
      "https://github.com/earendil-works/pi/issues/9645",
      ...PATTERN_SOURCES,
    ],
    rules: { ...OPENAI_CHAT, cache: undefined },
    otherModels: COMPATIBLE_CHAT,
  },
  {
    services: ["bedrock"],
    sources: [
      "https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-openai.html",
      // "The 'max_tokens' parameter is not supported, use 'max_completion_tokens' instead"
      "https://github.com/CherryHQ/cherry-studio/issues/9655",
    ],
    rules: { ...COMPATIBLE_CHAT, limitField: "max_completion_tokens" },
  },
  {
    services: ["gemini", "vertex"],
    sources: [
      "https://ai.google.dev/gemini-api/docs/openai",
      "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/examples",
      // "function_response.name: Name cannot be empty"
      "https://github.com/vectorize-io/hindsight/pull/187",
      // Unknown name "seed": Cannot find field
      "https://github.com/Vali-98/ChatterUI/issues/227",
    ],
    rules: {
      ...COMPATIBLE_CHAT,
      effortModels: GEMINI_MODELS,
      reasoningField: undefined,
      namesResults: true,
    },
  },
  {
    services: ["xai"],
    sources: [
      "https://docs.x.ai/developers/model-capabilities/text/reasoning",
      // "fix(xai): drop unsupported `stop` parameter"
      "https://github.com/langchain-ai/langchain/pull/38335",
      // "Model xxx does not support parameter presencePenalty"
      "https://github.com/miaoxworld/NativeTavern/issues/83",
    ],
    rules: { ...COMPATIBLE_CHAT, effortModels: XAI_MODELS, stops: false },
  },
  {
    services: ["cohere"],
    sources: [
      // The supported parameters, and the unsupported ones.
      "https://docs.cohere.com/docs/compatibility-api",
      // "we now support logprogs, max_completion_tokens, and stream_options"
      "https://github.com/cohere-ai/cohere-developer-experience/pull/606",
    ],
    rules: {
      ...COMPATIBLE_CHAT,
      schemas: false,
      effortModels: COHERE_MODELS,
      reasoningField: undefined,
      refusesUser: true,
    },
  },
  {
    services: ["dashscope"],
    sources: [
      "https://www.alibabacloud.com/help/en/model-studio/deep-thinking",
      // "tool_choice parameter does not support being set to required or object in thinking mode"
      "https://github.com/cloudwego/eino/issues/994",
      // "Json mode response is not supported when enable_thinking is true"
      "https://github.com/presenton/presenton/issues/184",
    ],
    rules: {
      ...COMPATIBLE_CHAT,
      formats: false,
      reasoning: "switch",
      models: QWEN_MODELS,
    },
  },
  {
    services: ["volcengine"],
    sources: ["https://docs.byteplus.com/zh-TW/docs/Byteplus_LAS/Chat_API"],
    rules: { ...COMPATIBLE_CHAT, effortModels: DOUBAO_MODELS, stops: false },
  },
  {
    services: ["nvidia"],
    sources: [
      "https://docs.api.nvidia.com/nim/reference/llm-apis",
      // The efforts that the endpoint accepts, by model.
      "https://github.com/anomalyco/models.dev/pull/2111",
    ],
    rules: { ...COMPATIBLE_CHAT, effortModels: NVIDIA_MODELS },
  },
  {
    services: ["together"],
    sources: [
      "https://docs.together.ai/docs/inference/openai-compatibility",
    ],
    rules: COMPATIBLE_CHAT,
  },
  {
    services: ["fireworks"],
    sources: ["https://docs.fireworks.ai/tools-sdks/openai-compatibility"],
    rules: COMPATIBLE_CHAT,
  },
  {
    services: ["huggingface"],
    sources: [
      "https://huggingface.co/changelog/inference-providers-openai-compatible",
    ],
    rules: COMPATIBLE_CHAT,
  },
  {
    services: ["ollama", "vllm", "sglang", "llamacpp", "lmstudio"],
    sources: [
      "https://docs.ollama.com/api/openai-compatibility",
      "https://docs.vllm.ai/en/latest/serving/openai_compatible_server",
      "https://docs.sglang.io/docs/basic_usage/openai_api_completions",
      "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
      "https://lmstudio.ai/docs/developer/openai-compat",
    ],
    rules: COMPATIBLE_CHAT,
  },
  {
    services: ["litellm"],
    sources: ["https://docs.litellm.ai/docs/proxy/user_keys"],
    rules: COMPATIBLE_CHAT,
  },
];
