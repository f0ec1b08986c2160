import { wordList } from "@gateway/base/collections";
import type { EffortRules, ModelRow } from "./effort.ts";
import { XAI_MODELS } from "./effort_models.ts";

/** A provider's dialect of Responses, compared with OpenAI's. */
export interface ResponsesRules {
  /** True when custom tools and namespaces exist. */
  readonly fullToolset: boolean;
  /** True when `system` is a role; if false, `developer` replaces it. */
  readonly systemRole: boolean;
  /** True when the provider rejects a request without `instructions`. */
  readonly demandsInstructions: boolean;
  /** True when a request may set the output limit and the sampling. */
  readonly limits: boolean;
  /** The lowest output limit, in tokens. */
  readonly minOutputTokens: number;
  /** True when users, metadata and all service tiers exist; if false, only the tier `priority` does. */
  readonly records: boolean;
  /** The field for the caller's own user. */
  readonly userField: "safety_identifier" | "user";
  /** True when content parts accept cache marks, if the model knows them. */
  readonly cacheMarks: boolean;
  /** True when all models reason and return summaries. */
  readonly alwaysReasons: boolean;
  /** True when all models are OpenAI's, so that an unknown id is a new model. */
  readonly openAiOnly: boolean;
  /** True when the provider itself adjusts effort and sampling to the model. */
  readonly fitsModel: boolean;
  /** True when the provider searches the web and returns log probabilities. */
  readonly hostedTools: boolean;
  /** The models with efforts of their own, and the efforts of each. */
  readonly effortModels: readonly ModelRow<EffortRules>[];
  /** The most tools of a request; `Infinity` when no limit is known. */
  readonly maxTools: number;
}

interface ResponsesProvider {
  readonly services: readonly string[];
  readonly sources: readonly string[];
  readonly rules: ResponsesRules;
}

const OPENAI: ResponsesRules = {
  fullToolset: true,
  systemRole: true,
  demandsInstructions: false,
  limits: true,
  minOutputTokens: 16,
  records: true,
  userField: "safety_identifier",
  cacheMarks: true,
  alwaysReasons: false,
  openAiOnly: true,
  fitsModel: false,
  hostedTools: true,
  effortModels: [],
  // No limit is published: 138 tools pass, and 256 fail with "server_error" (https://github.com/Spshulem/openAGI/pull/53).
  maxTools: Infinity,
};

export const COMPATIBLE_RESPONSES: ResponsesRules = {
  ...OPENAI,
  fullToolset: false,
  minOutputTokens: 1,
  userField: "user",
  cacheMarks: false,
  openAiOnly: false,
  hostedTools: false,
};

/** "219 tools have been provided but the maximum is 200." */
export const XAI_TOOLS_SOURCE =
  "https://github.com/anomalyco/opencode/issues/28911";
export const XAI_MAX_TOOLS = 200;

/** The kinds of service with their own rules. */
export const RESPONSES_PROVIDERS: readonly ResponsesProvider[] = [
  {
    services: ["openai", "openai-chat"],
    sources: [
      "https://developers.openai.com/api/reference/resources/responses",
    ],
    rules: OPENAI,
  },
  {
    // The backend of ChatGPT subscriptions rejects all settings that Codex itself never sends.
    services: ["codex"],
    sources: [
      "https://github.com/askalf/dario/issues/1009",
      "https://github.com/router-for-me/CLIProxyAPI",
    ],
    rules: {
      ...OPENAI,
      systemRole: false,
      demandsInstructions: true,
      limits: false,
      records: false,
      cacheMarks: false,
      alwaysReasons: true,
    },
  },
  {
    // Another gateway adjusts the request to its own upstream.
    services: ["gateway"],
    sources: [
      "https://developers.openai.com/api/reference/resources/responses",
    ],
    rules: {
      ...OPENAI,
      minOutputTokens: 1,
      openAiOnly: false,
      fitsModel: true,
    },
  },
  {
    services: ["openrouter"],
    sources: [
      "https://openrouter.ai/docs/guides/best-practices/reasoning-tokens",
      "https://openrouter.ai/docs/cookbook/evaluate-and-optimize/model-migrations/gpt-5-6",
    ],
    rules: {
      ...COMPATIBLE_RESPONSES,
      cacheMarks: true,
      fitsModel: true,
      hostedTools: true,
    },
  },
  {
    // "Not currently supported: The web search tool"
    services: ["azure", "azure-chat"],
    sources: [
      "https://learn.microsoft.com/en-us/azure/ai-foundry/openai/how-to/responses",
    ],
    rules: { ...OPENAI, cacheMarks: false, hostedTools: false },
  },
  {
    // On bedrock-runtime, "server-side tools aren't available".
    services: ["bedrock-responses"],
    sources: [
      "https://docs.aws.amazon.com/bedrock/latest/userguide/inference-responses-api.html",
      "https://help.openai.com/en/articles/20001254-responses-api-support-on-amazon-bedrock",
    ],
    rules: { ...COMPATIBLE_RESPONSES, minOutputTokens: 16 },
  },
  {
    services: ["xai"],
    sources: [
      "https://docs.x.ai/developers/model-capabilities/text/comparison",
      XAI_TOOLS_SOURCE,
    ],
    rules: {
      ...COMPATIBLE_RESPONSES,
      effortModels: XAI_MODELS,
      maxTools: XAI_MAX_TOOLS,
    },
  },
  {
    // Servers without a known difference.
    services: wordList(
      "moonshot minimax ollama vllm llamacpp lmstudio litellm",
    ),
    sources: [
      "https://platform.kimi.ai/docs/api/overview",
      "https://platform.minimax.io/docs",
      "https://docs.ollama.com/api/openai-compatibility",
      "https://docs.vllm.ai/en/latest/serving/openai_compatible_server",
      "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
      "https://lmstudio.ai/docs/developer/openai-compat",
      "https://docs.litellm.ai/docs/proxy/user_keys",
    ],
    rules: COMPATIBLE_RESPONSES,
  },
];
