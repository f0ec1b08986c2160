import type { EffortRules, ModelRow } from "./effort.ts";
import type { ThinkingRules } from "./thinking_models.ts";

/** The code with which a widely used client adapts histories to Mistral's models. */
export const OPENCODE_SOURCE =
  "https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/provider/transform.ts";

/** A provider's field for cache marks. */
export type CacheSpelling = "cache_control" | "prompt_cache_breakpoint";

/** A provider's dialect of Chat Completions, compared with OpenAI's. */
export interface ChatRules {
  /** The field for the output limit. */
  readonly limitField: "max_completion_tokens" | "max_tokens";
  /** True when system and developer messages keep their roles at any position. */
  readonly systemAnywhere: boolean;
  /** True when text may have parts; if false, it must be one string. */
  readonly textParts: boolean;
  /** True when custom tools, `allowed_tools` and `refusal` exist. */
  readonly fullToolset: boolean;
  /** The `response_format` for JSON without a schema: a format of its own, a schema of any object, or none. */
  readonly json: "object" | "schema" | "none";
  /** True when `response_format` accepts a schema; if false, an instruction in the prompt replaces it. */
  readonly schemas: boolean;
  /** True when `response_format` is allowed with tools; if false, an instruction in the prompt replaces it. */
  readonly formatsWithTools: boolean;
  /** True when `strict` may differ between the tools of a request. */
  readonly mixedStrict: boolean;
  /** True when `tool_choice` may name a tool; if false, the request offers that tool alone, and demands a call. */
  readonly namedChoice: boolean;
  /** The setting for reasoning: an effort, a switch (see the model's row), or a router's `reasoning`. */
  readonly reasoning: "effort" | "switch" | "router";
  /**
   * The highest output limit, in tokens, of a request for a JSON answer; -1 when the provider only streams. Above it,
   * the gateway requests a stream and gathers it.
   */
  readonly maxWholeTokens: number;
  /** The part for a file: OpenAI's `file`, or `document_url` with a `data:` URL. */
  readonly filePart: "file" | "document_url";
  /**
   * True when pictures and files of a tool's result may follow the result in a user message; if false, a text names
   * each picture and file.
   */
  readonly mediaOfResults: boolean;
  /** The models of a provider with a switch. */
  readonly models: readonly ModelRow<ThinkingRules>[];
  /** The models of a provider with an effort, and the efforts of each. */
  readonly effortModels: readonly ModelRow<EffortRules>[];
  /** The highest effort of models without a row. */
  readonly maxEffort: "high" | "max";
  /** The field of an assistant message for earlier reasoning; `undefined` when the provider accepts none. */
  readonly reasoningField: "reasoning_content" | "reasoning" | undefined;
  /** The field for the signatures that Gemini 3 demands of earlier calls; `undefined` when nothing replaces lost ones. */
  readonly signatures: "extra_content" | "reasoning_details" | undefined;
  /** True when all assistant messages need the field for reasoning as soon as one has it. */
  readonly reasoningOnAll: boolean;
  /** True when the provider rejects a request without a user message. */
  readonly demandsUser: boolean;
  /** True when a user message may follow the result of a tool. */
  readonly userAfterTool: boolean;
  /** True when the result of a tool must name the tool. */
  readonly namesResults: boolean;
  /** The field that makes the model continue the last assistant message; `undefined` when none is needed. */
  readonly continueField: "partial" | "prefix" | undefined;
  /** True when ids of tool calls must be nine letters and digits. */
  readonly shortCallIds: boolean;
  /** True when `stream_options` asks for the usage of a stream; false when the provider rejects the field. */
  readonly streamOptions: boolean;
  /** True when the provider rejects `user`. */
  readonly refusesUser: boolean;
  readonly seedField: "seed" | "random_seed";
  /** True when OpenAI's own settings exist: service tiers, metadata, verbosity, cache keys, user ids. */
  readonly openaiSettings: boolean;
  readonly topK: boolean;
  readonly cache: CacheSpelling | undefined;
  /**
   * The most stop strings; `Infinity` when no limit is known. The gateway cuts the answer at any further stop strings.
   */
  readonly maxStops: number;
  /** The most tools of a request; `Infinity` when no limit is known. */
  readonly maxTools: number;
  /** True when the provider itself adjusts effort and sampling to the model. */
  readonly fitsModel: boolean;
}

/** The restrictions of a model's chat template, which apply at every provider. */
type TemplateRules = Pick<ChatRules, "userAfterTool" | "shortCallIds">;

/** The models with restrictions in their chat template. */
export const TEMPLATE_MODELS: readonly ModelRow<TemplateRules>[] = [
  {
    models:
      /(?:^|-)(?:mistral|mixtral|ministral|magistral|codestral|devstral|pixtral)/,
    examples: ["mistral-large-latest", "open-mixtral-8x22b", "devstral-2512"],
    sources: [
      // "Unexpected role 'user' after role 'tool'"
      OPENCODE_SOURCE,
      // "must be a-z, A-Z, 0-9, with a length of 9"
      "https://github.com/jundot/omlx/issues/1997",
    ],
    rules: { userAfterTool: false, shortCallIds: true },
  },
];

export const OPENAI_CHAT: ChatRules = {
  limitField: "max_completion_tokens",
  systemAnywhere: true,
  textParts: true,
  fullToolset: true,
  json: "object",
  schemas: true,
  formatsWithTools: true,
  mixedStrict: true,
  namedChoice: true,
  reasoning: "effort",
  maxWholeTokens: Infinity,
  filePart: "file",
  mediaOfResults: true,
  models: [],
  effortModels: [],
  maxEffort: "max",
  reasoningField: undefined,
  signatures: undefined,
  reasoningOnAll: false,
  demandsUser: false,
  userAfterTool: true,
  namesResults: false,
  continueField: undefined,
  shortCallIds: false,
  streamOptions: true,
  refusesUser: false,
  seedField: "seed",
  openaiSettings: true,
  topK: false,
  cache: "prompt_cache_breakpoint",
  maxStops: 4,
  maxTools: 128,
  fitsModel: false,
};

/** The rules that nearly all compatible servers share. */
export const COMPATIBLE_CHAT: ChatRules = {
  ...OPENAI_CHAT,
  limitField: "max_tokens",
  systemAnywhere: false,
  textParts: false,
  fullToolset: false,
  maxEffort: "high",
  reasoningField: "reasoning_content",
  openaiSettings: false,
  cache: undefined,
  maxStops: Infinity,
  maxTools: Infinity,
};

/** Kinds of service with the same rules, and the sources of the rules. */
export interface ChatProvider {
  readonly services: readonly string[];
  readonly sources: readonly string[];
  readonly rules: ChatRules;
  /** The rules of other makers' models, if they differ from `rules`. */
  readonly otherModels?: ChatRules;
  /** The rules of single models that differ from `rules`. */
  readonly models?: readonly ModelRow<Partial<ChatRules>>[];
}
