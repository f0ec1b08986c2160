import { wordList } from "@gateway/base/collections";
import {
  type ChatProvider,
  COMPATIBLE_CHAT,
  NO_SCHEMAS,
  OPENCODE_SOURCE,
  SWITCH,
} from "./chat_rules.ts";
import { XAI_MAX_TOOLS, XAI_TOOLS_SOURCE } from "./responses_providers.ts";
import {
  COHERE_MODELS,
  DOUBAO_MODELS,
  GEMINI_MODELS,
  GPT_OSS_MODELS,
  GROQ_MODELS,
  MISTRAL_MODELS,
  XAI_MODELS,
} from "./effort_models.ts";
import {
  DEEPSEEK_MODELS,
  GLM_MODELS,
  KIMI_MODELS,
  MINIMAX_MODELS,
  QWEN_MODELS,
} from "./thinking_models.ts";

/** The providers of Chat Completions, each with the rules of its services. */
export const CHAT_PROVIDERS: readonly ChatProvider[] = [
  {
    services: ["openai", "openai-chat"],
    sources: [
      "https://developers.openai.com/api/reference/resources/chat",
      // "Expected an array with maximum length 128"
      "https://github.com/zed-industries/zed/issues/42393",
    ],
    rows: [],
  },
  {
    // Another gateway adjusts the request to its own upstream.
    services: ["gateway"],
    sources: ["https://developers.openai.com/api/reference/resources/chat"],
    rows: [{
      ability: {
        settings: { topK: true },
        limits: { mostTools: Infinity },
        cacheMarks: "content_and_tools",
      },
      spelling: { reasoningField: "reasoning_content" },
    }],
    fitsModel: true,
  },
  {
    services: ["openrouter"],
    sources: [
      "https://openrouter.ai/docs/api-reference/parameters",
      "https://openrouter.ai/docs/guides/best-practices/reasoning-tokens",
      // Shows what may replace a lost signature of Gemini.
      "https://github.com/RooCodeInc/Roo-Code/blob/main/src/api/providers/openrouter.ts",
    ],
    rows: [COMPATIBLE_CHAT, {
      ability: { settings: { topK: true }, cacheMarks: "content_and_tools" },
      spelling: {
        textParts: true,
        reasoning: "router",
        reasoningField: "reasoning",
        signatures: "reasoning_details",
      },
    }],
    fitsModel: true,
  },
  {
    services: ["zai", "bigmodel"],
    sources: [
      "https://docs.z.ai/api-reference/llm/chat-completion",
      "https://docs.z.ai/guides/capabilities/struct-output",
      // "this error occur when sending a completion request with zero `user` role messages in it"
      "https://github.com/anomalyco/opencode/issues/2557",
    ],
    rows: [COMPATIBLE_CHAT, NO_SCHEMAS, SWITCH, {
      ability: { limits: { mostStops: 1 }, turns: { demandsUser: true } },
    }],
    families: GLM_MODELS,
  },
  {
    services: ["kimi", "moonshot"],
    sources: [
      "https://platform.kimi.ai/docs/api/chat",
      "https://platform.kimi.ai/docs/api/partial",
    ],
    rows: [COMPATIBLE_CHAT, SWITCH, {
      ability: { limits: { mostStops: 5 }, turns: { reasoningOnAll: true } },
      spelling: { continueField: "partial" },
    }],
    families: KIMI_MODELS,
  },
  {
    services: ["deepseek"],
    sources: [
      "https://api-docs.deepseek.com/api/create-chat-completion",
      "https://api-docs.deepseek.com/guides/json_mode",
      // "unknown variant `image_url`, expected `text`"
      "https://github.com/nesquena/hermes-webui/issues/2297",
    ],
    rows: [COMPATIBLE_CHAT, NO_SCHEMAS, SWITCH, {
      ability: {
        limits: { mostStops: 16 },
        turns: { reasoningOnAll: true, mediaOfResults: false },
      },
    }],
    families: DEEPSEEK_MODELS,
    models: [
      {
        models: /vision/,
        examples: ["deepseek-v4-flash-vision-exp"],
        sources: ["https://github.com/proma-ai/Proma/issues/1794"],
        rules: { ability: { turns: { mediaOfResults: true } } },
      },
    ],
  },
  {
    services: ["minimax"],
    sources: [
      "https://platform.minimax.io/docs/api-reference/text-openai-api",
      "https://github.com/cisco-ai-defense/skill-scanner/pull/115",
    ],
    rows: [COMPATIBLE_CHAT, NO_SCHEMAS, SWITCH, {
      spelling: { thinkingWord: "adaptive" },
    }],
    families: MINIMAX_MODELS,
  },
  {
    services: ["groq"],
    sources: [
      "https://console.groq.com/docs/reasoning",
      // "json mode cannot be combined with tool/function calling"
      "https://github.com/vercel/ai/issues/10023",
      // "property 'reasoning_content' is unsupported"
      "https://console.groq.com/docs/api-reference",
      // "len(stop) > 4 is not supported"
      "https://github.com/letta-ai/letta/issues/1272",
      // "'tools' : maximum number of items is 128"
      "https://github.com/gsd-build/gsd-2/issues/4376",
    ],
    rows: [COMPATIBLE_CHAT, {
      ability: {
        limits: { mostTools: 128, mostStops: 4 },
        schemas: { formatsWithTools: false },
      },
      spelling: { reasoningField: "reasoning" },
    }],
    families: GROQ_MODELS,
    models: [
      {
        // "This model does not support response format `json_schema`"
        models: /^(?!gpt-oss|llama-4|kimi-k2|qwen3\.8)/,
        examples: ["llama-3.3-70b-versatile", "qwen/qwen3-32b"],
        sources: [
          "https://console.groq.com/docs/structured-outputs",
          "https://github.com/ItzCrazyKns/Vane/issues/980",
        ],
        rules: NO_SCHEMAS,
      },
    ],
  },
  {
    services: ["cerebras"],
    sources: [
      "https://inference-docs.cerebras.ai/capabilities/reasoning",
      // '"tools" is incompatible with "response_format"', and `reasoning_content` is rejected.
      "https://github.com/anomalyco/opencode/pull/26763",
      // "Tools with mixed values for 'strict' are not allowed."
      "https://github.com/mpfaffenberger/code_puppy/pull/368",
    ],
    rows: [COMPATIBLE_CHAT, {
      ability: {
        schemas: { formatsWithTools: false },
        tools: { mixedStrict: false },
      },
      spelling: {
        limitField: "max_completion_tokens",
        reasoningField: undefined,
      },
    }],
    families: GPT_OSS_MODELS,
  },
  {
    services: ["mistral"],
    sources: [
      "https://docs.mistral.ai/api",
      // "extra_forbidden" for `reasoning_content`
      "https://github.com/BerriAI/litellm/issues/30835",
      // 422 for `file`
      "https://github.com/danny-avila/LibreChat/pull/12144",
      OPENCODE_SOURCE,
    ],
    rows: [COMPATIBLE_CHAT, {
      ability: {
        turns: { userAfterTool: false, shortCallIds: true },
        settings: { user: false },
      },
      spelling: {
        filePart: "document_url",
        reasoningField: undefined,
        continueField: "prefix",
        streamOptions: false,
        seedField: "random_seed",
      },
    }],
    families: MISTRAL_MODELS,
  },
  {
    // The v1 API of Azure documents no cache breakpoints. Each model has its own settings.
    services: ["azure", "azure-chat"],
    sources: [
      "https://learn.microsoft.com/en-us/azure/ai-foundry/openai/latest",
      // "Unrecognized request argument supplied: prompt_cache_key", for DeepSeek
      "https://github.com/vectorize-io/hindsight/issues/3518",
      // DeepSeek's efforts, and `reasoning_content`
      "https://github.com/earendil-works/pi/issues/9645",
    ],
    rows: [{ ability: { cacheMarks: "none" } }],
    otherModels: [COMPATIBLE_CHAT, { spelling: { reasoningField: undefined } }],
    models: [
      {
        // These models think, and need the earlier reasoning of their calls. Models of other makers may refuse the
        // field.
        models: /^(?:fw-)?(?:deepseek|kimi)/,
        examples: ["DeepSeek-V4-Pro", "FW-Kimi-K2.5"],
        sources: [
          "https://github.com/earendil-works/pi/issues/9645",
          // Kimi at Foundry needs `reasoning_content` in turns with calls.
          "https://github.com/BerriAI/litellm/pull/36919",
        ],
        rules: { spelling: { reasoningField: "reasoning_content" } },
      },
    ],
  },
  {
    services: ["bedrock"],
    sources: [
      "https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-openai.html",
      // "The 'max_tokens' parameter is not supported, use 'max_completion_tokens' instead"
      "https://github.com/CherryHQ/cherry-studio/issues/9655",
    ],
    rows: [COMPATIBLE_CHAT, {
      spelling: { limitField: "max_completion_tokens" },
    }],
  },
  {
    services: ["gemini", "vertex"],
    sources: [
      "https://ai.google.dev/gemini-api/docs/openai",
      "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/examples",
      // "function_response.name: Name cannot be empty"
      "https://github.com/vectorize-io/hindsight/pull/187",
      // "the number of stop_sequences must not exceed 5"
      "https://github.com/continuedev/continue/issues/2702",
      // "stopSequences value of 10 but the supported range is from 1 (inclusive) to 6 (exclusive)"
      "https://github.com/continuedev/continue/issues/7849",
      // Unknown name "seed": Cannot find field
      "https://github.com/Vali-98/ChatterUI/issues/227",
      // "At most 512 function declarations can be specified."
      "https://github.com/google-gemini/gemini-cli/issues/19083",
    ],
    rows: [COMPATIBLE_CHAT, {
      ability: {
        limits: { mostTools: 512, mostStops: 5 },
        turns: { namesResults: true },
      },
      spelling: { reasoningField: undefined, signatures: "extra_content" },
    }],
    families: GEMINI_MODELS,
    models: [
      {
        // "Function calling with a response mime type: 'application/json' is unsupported"
        models: /^gemini-(?:1|2)(?!\d)/,
        examples: ["gemini-2.5-flash", "google/gemini-2.0-flash-001"],
        sources: [
          "https://github.com/symfony/ai/issues/1777",
          "https://github.com/openai/openai-agents-python/issues/656",
          // Gemini 3 accepts tools together with a format.
          "https://github.com/simstudioai/sim/pull/4184",
        ],
        rules: { ability: { schemas: { formatsWithTools: false } } },
      },
    ],
  },
  {
    services: ["xai"],
    sources: [
      "https://docs.x.ai/developers/model-capabilities/text/reasoning",
      // "fix(xai): drop unsupported `stop` parameter"
      "https://github.com/langchain-ai/langchain/pull/38335",
      // "Model xxx does not support parameter presencePenalty"
      "https://github.com/miaoxworld/NativeTavern/issues/83",
      XAI_TOOLS_SOURCE,
    ],
    rows: [COMPATIBLE_CHAT, {
      ability: { limits: { mostStops: 0, mostTools: XAI_MAX_TOOLS } },
    }],
    families: XAI_MODELS,
  },
  {
    services: ["cohere"],
    sources: [
      // The supported parameters, and the unsupported ones.
      "https://docs.cohere.com/docs/compatibility-api",
      // "we now support logprogs, max_completion_tokens, and stream_options"
      "https://github.com/cohere-ai/cohere-developer-experience/pull/606",
    ],
    rows: [COMPATIBLE_CHAT, {
      ability: {
        schemas: { formatSchemas: false },
        limits: { mostStops: 5 },
        settings: { user: false },
      },
      spelling: { reasoningField: undefined },
    }],
    families: COHERE_MODELS,
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

    // Some models of DashScope answer only with a stream, and all models can stream.
    rows: [COMPATIBLE_CHAT, {
      ability: {
        limits: { mostWholeTokens: -1 },
        schemas: { json: "none", formatSchemas: false },
      },
      spelling: { reasoning: "switch" },
    }],
    families: QWEN_MODELS,
  },
  {
    services: ["volcengine"],
    sources: ["https://docs.byteplus.com/zh-TW/docs/Byteplus_LAS/Chat_API"],
    rows: [COMPATIBLE_CHAT, { ability: { limits: { mostStops: 0 } } }],
    families: DOUBAO_MODELS,
  },
  {
    services: ["nvidia"],
    sources: [
      "https://docs.api.nvidia.com/nim/reference/llm-apis",
      // The efforts that the endpoint accepts, by model.
      "https://github.com/anomalyco/models.dev/pull/2111",
    ],
    rows: [COMPATIBLE_CHAT],
    families: GPT_OSS_MODELS,
  },
  {
    services: ["fireworks"],
    sources: [
      "https://docs.fireworks.ai/tools-sdks/openai-compatibility",
      // "Requests with max_tokens > 4096 must have stream=true"
      "https://github.com/nullclaw/nullclaw/pull/231",
    ],
    rows: [COMPATIBLE_CHAT, { ability: { limits: { mostWholeTokens: 4096 } } }],
  },
  {
    services: ["lmstudio"],
    sources: [
      "https://lmstudio.ai/docs/developer/openai-compat",
      // "'response_format.type' must be 'json_schema' or 'text'"
      "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/189",
      // "Invalid tool_choice type: 'object'. Supported string values: none, auto, required"
      "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/670",
    ],
    rows: [COMPATIBLE_CHAT, {
      ability: { schemas: { json: "schema" }, tools: { force: "any" } },
    }],
  },
  {
    // Servers without a known difference.
    services: wordList(`
      siliconflow synthetic together huggingface ollama vllm sglang llamacpp
      litellm
    `),
    sources: [
      "https://docs.siliconflow.com/en/api-reference/chat-completions/chat-completions",
      "https://dev.synthetic.new/docs/api/overview",
      "https://docs.together.ai/docs/inference/openai-compatibility",
      "https://huggingface.co/changelog/inference-providers-openai-compatible",
      "https://docs.ollama.com/api/openai-compatibility",
      "https://docs.vllm.ai/en/latest/serving/openai_compatible_server",
      "https://docs.sglang.io/docs/basic_usage/openai_api_completions",
      "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
      "https://docs.litellm.ai/docs/proxy/user_keys",
    ],
    rows: [COMPATIBLE_CHAT],
  },
];
