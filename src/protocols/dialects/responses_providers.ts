import { PATTERN_SOURCES } from "./openai_models.ts";

/** How a provider's Responses deviates from OpenAI's. */
export interface ResponsesRules {
  /** Whether custom tools and namespaces exist. */
  readonly fullToolset: boolean;
  /** Whether `system` is a role; else `developer` stands for it. */
  readonly systemRole: boolean;
  /** Whether a request without `instructions` is refused. */
  readonly demandsInstructions: boolean;
  /** Whether the length of the answer and the sampling may be set. */
  readonly limits: boolean;
  /** Least output limit, in tokens. */
  readonly minOutputTokens: number;
  /** Whether users, metadata and every service tier exist; else only the tier `priority`. */
  readonly records: boolean;
  /** Where the caller's own user is named. */
  readonly userField: "safety_identifier" | "user";
  /** Whether content parts take cache marks, of models that know them. */
  readonly cacheMarks: boolean;
  /** Whether every model reasons and shows summaries. */
  readonly alwaysReasons: boolean;
  /** Whether every model is OpenAI's, so that an unknown name is a new one. */
  readonly openAiOnly: boolean;
  /** Whether the provider itself fits effort and sampling to the model. */
  readonly fitsModel: boolean;
  /** Whether patterns of schemas are compiled, by an engine that knows less than JavaScript's, whatever the model. */
  readonly compilesPatterns: boolean;
  /** Whether the provider searches the web and tells log probabilities. */
  readonly hostedTools: boolean;
}

/** One row of the table. */
export interface ResponsesProvider {
  readonly service: string;
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
  compilesPatterns: true,
  hostedTools: true,
};

/** What servers that imitate the protocol understand. */
export const COMPATIBLE_RESPONSES: ResponsesRules = {
  ...OPENAI,
  fullToolset: false,
  minOutputTokens: 1,
  userField: "user",
  cacheMarks: false,
  openAiOnly: false,
  compilesPatterns: false,
  hostedTools: false,
};

/** The kinds of service with rules of their own. */
export const RESPONSES_PROVIDERS: readonly ResponsesProvider[] = [
  {
    service: "openai",
    sources: [
      "https://developers.openai.com/api/reference/resources/responses",
      ...PATTERN_SOURCES,
    ],
    rules: OPENAI,
  },
  {
    // The back end of ChatGPT subscriptions: refuses every setting that Codex itself never sends.
    service: "codex",
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
    // Another gateway, which fits the request to its own upstream.
    service: "gateway",
    sources: [
      "https://developers.openai.com/api/reference/resources/responses",
    ],
    rules: {
      ...OPENAI,
      minOutputTokens: 1,
      openAiOnly: false,
      fitsModel: true,
      compilesPatterns: false,
    },
  },
  {
    service: "openrouter",
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
    service: "moonshot",
    sources: ["https://platform.kimi.ai/docs/api/overview"],
    rules: COMPATIBLE_RESPONSES,
  },
  {
    service: "minimax",
    sources: ["https://platform.minimax.io/docs"],
    rules: COMPATIBLE_RESPONSES,
  },
];
