import { wordList } from "@gateway/base/collections";
import {
  type Ability,
  type AbilityRow,
  withRows,
} from "../canonical/request/ability.ts";
import { CHAT, type ChatRow } from "./chat_rules.ts";
import type { ModelRow } from "./model_rows.ts";
import { XAI_MODELS } from "./effort_models.ts";

/** The spelling of a provider's Responses. */
export interface ResponsesSpelling {
  /** True when messages may have the role `system`. If false, the role `developer` replaces it. */
  readonly systemRole: boolean;
  /** True when the provider rejects a request without `instructions`. */
  readonly demandsInstructions: boolean;
  /** The field that names the caller's own user. */
  readonly userField: "safety_identifier" | "user";
  /** True when the only accepted value of `service_tier` is `priority`. */
  readonly priorityOnly: boolean;
  /** True when all models of the provider reason and return summaries. */
  readonly alwaysReasons: boolean;
}

/** A group of services with the same rows, and the sources of the rows. */
interface ResponsesProvider {
  readonly services: readonly string[];
  readonly sources: readonly string[];
  /** The differences of the services from OpenAI's Responses. */
  readonly rows: readonly AbilityRow[];
  readonly spelling?: Partial<ResponsesSpelling>;
  /** True when all models of the services are OpenAI's, so that an unknown id is a new model; absent: false. */
  readonly openAiOnly?: boolean;
  /** True when the provider itself adjusts effort and sampling to the model; absent: false. */
  readonly fitsModel?: boolean;
  /** The generations of the provider's models. The generation decides about efforts. */
  readonly families?: readonly ModelRow<ChatRow>[];
}

/**
 * The default abilities of the Responses protocol, as OpenAI defines them. They apply to models that have no row of
 * their own.
 */
export const RESPONSES: Ability = withRows({ ...CHAT, protocol: "responses" }, {
  reasoning: { efforts: undefined, least: undefined },
  tools: { webSearch: true },
  // No limit of tools is published: 138 pass, and 256 fail with "server_error" (https://github.com/Spshulem/openAGI/pull/53).
  limits: { leastOutputTokens: 16, mostStops: 0, mostTools: Infinity },
  settings: { seed: false, frequencyPenalty: false, presencePenalty: false },
  names: false,
});

export const OPENAI_RESPONSES: ResponsesSpelling = {
  systemRole: true,
  demandsInstructions: false,
  userField: "safety_identifier",
  priorityOnly: false,
  alwaysReasons: false,
};

/** The row that nearly all compatible servers share. */
export const COMPATIBLE_RESPONSES: AbilityRow = {
  tools: { full: false, webSearch: false },
  schemas: { enforces: "any" },
  limits: { leastOutputTokens: 1 },
  settings: {
    logprobs: false,
    webSearch: false,
    cacheOptions: false,
    safetyIdentifier: false,
  },
  cacheMarks: "none",
};

export const COMPATIBLE_SPELLING: Partial<ResponsesSpelling> = {
  userField: "user",
};

/** "219 tools have been provided but the maximum is 200." */
export const XAI_TOOLS_SOURCE =
  "https://github.com/anomalyco/opencode/issues/28911";
export const XAI_MAX_TOOLS = 200;

/** The providers of Responses, each with the rules of its services. */
export const RESPONSES_PROVIDERS: readonly ResponsesProvider[] = [
  {
    services: ["openai", "openai-chat"],
    sources: [
      "https://developers.openai.com/api/reference/resources/responses",
    ],
    rows: [],
    openAiOnly: true,
  },
  {
    // The backend of ChatGPT subscriptions rejects all settings that Codex itself never sends.
    services: ["codex"],
    sources: [
      "https://github.com/askalf/dario/issues/1009",
      "https://github.com/router-for-me/CLIProxyAPI",
    ],
    rows: [{
      settings: {
        temperature: false,
        topP: false,
        maxOutputTokens: false,
        user: false,
        metadata: false,
        logprobs: false,
        cacheOptions: false,
        cacheRetention: false,
        safetyIdentifier: false,
      },
      tiers: ["auto", "standard", "priority"],
      cacheMarks: "none",
    }],
    spelling: {
      systemRole: false,
      demandsInstructions: true,
      priorityOnly: true,
      alwaysReasons: true,
    },
    openAiOnly: true,
  },
  {
    // Another gateway adjusts the request to its own upstream.
    services: ["gateway"],
    sources: [
      "https://developers.openai.com/api/reference/resources/responses",
    ],
    rows: [{ limits: { leastOutputTokens: 1 } }],
    fitsModel: true,
  },
  {
    services: ["openrouter"],
    sources: [
      "https://openrouter.ai/docs/guides/best-practices/reasoning-tokens",
      "https://openrouter.ai/docs/cookbook/evaluate-and-optimize/model-migrations/gpt-5-6",
    ],
    rows: [COMPATIBLE_RESPONSES, {
      tools: { webSearch: true },
      settings: { logprobs: true, webSearch: true, cacheOptions: true },
      cacheMarks: "content",
    }],
    spelling: COMPATIBLE_SPELLING,
    fitsModel: true,
  },
  {
    // "Not currently supported: The web search tool"
    services: ["azure", "azure-chat"],
    sources: [
      "https://learn.microsoft.com/en-us/azure/ai-foundry/openai/how-to/responses",
    ],
    rows: [{
      tools: { webSearch: false },
      settings: { logprobs: false, webSearch: false, cacheOptions: false },
      cacheMarks: "none",
    }],
    openAiOnly: true,
  },
  {
    // On bedrock-runtime, "server-side tools aren't available".
    services: ["bedrock-responses"],
    sources: [
      "https://docs.aws.amazon.com/bedrock/latest/userguide/inference-responses-api.html",
      "https://help.openai.com/en/articles/20001254-responses-api-support-on-amazon-bedrock",
    ],
    rows: [COMPATIBLE_RESPONSES, { limits: { leastOutputTokens: 16 } }],
    spelling: COMPATIBLE_SPELLING,
  },
  {
    services: ["xai"],
    sources: [
      "https://docs.x.ai/developers/model-capabilities/text/comparison",
      XAI_TOOLS_SOURCE,
    ],
    rows: [COMPATIBLE_RESPONSES, { limits: { mostTools: XAI_MAX_TOOLS } }],
    spelling: COMPATIBLE_SPELLING,
    families: XAI_MODELS,
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
    rows: [COMPATIBLE_RESPONSES],
    spelling: COMPATIBLE_SPELLING,
  },
];
