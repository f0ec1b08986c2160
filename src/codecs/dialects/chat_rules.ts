import {
  type Ability,
  type AbilityRow,
  ALL_SETTINGS,
  SAMPLING_SETTINGS,
} from "../canonical/request/ability.ts";
import { ALL_EFFORTS, type EffortWord } from "../canonical/request/effort.ts";
import { ALL_SCHEMAS } from "../canonical/schema/schema_subset.ts";
import { commonEfforts, type ModelRow } from "./model_rows.ts";

/** The code with which a widely used client adapts histories to Mistral's models. */
export const OPENCODE_SOURCE =
  "https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/provider/transform.ts";

/** The spelling of a provider's Chat Completions. */
export interface ChatSpelling {
  /** The field for the output limit. */
  readonly limitField: "max_completion_tokens" | "max_tokens";
  /** True when a text may be a list of parts. If false, a text must be one string. */
  readonly textParts: boolean;
  /** The setting for reasoning: an effort, a switch (`thinking`), or a router's `reasoning`. */
  readonly reasoning: "effort" | "switch" | "router";
  /** The `thinking.type` that turns thinking on. */
  readonly thinkingWord: "enabled" | "adaptive";
  /** The names that the provider has for efforts, where they differ from the usual names. */
  readonly effortWords: Readonly<Partial<Record<EffortWord, string>>>;
  /** The type of the part for a file: OpenAI's `file`, or `document_url` with a `data:` URL. */
  readonly filePart: "file" | "document_url";
  /**
   * The field of an assistant message for earlier reasoning; `undefined` if the provider accepts no earlier reasoning.
   */
  readonly reasoningField: "reasoning_content" | "reasoning" | undefined;
  /**
   * The field for the signatures of earlier calls that Gemini 3 demands; `undefined` if no text may replace a lost
   * signature.
   */
  readonly signatures: "extra_content" | "reasoning_details" | undefined;
  /**
   * The field that makes the model continue the last assistant message; `undefined` if the provider needs no such
   * field.
   */
  readonly continueField: "partial" | "prefix" | undefined;
  /** True when `stream_options` asks for the usage of a stream; false when the provider rejects the field. */
  readonly streamOptions: boolean;
  readonly seedField: "seed" | "random_seed";
}

/** The differences of a service or model from OpenAI's Chat Completions. */
export interface ChatRow {
  readonly ability?: AbilityRow;
  readonly spelling?: Partial<ChatSpelling>;
}

/** The models whose chat template restricts the conversation. These restrictions apply at every provider. */
export const TEMPLATE_MODELS: readonly ModelRow<ChatRow>[] = [
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
    rules: {
      ability: { turns: { userAfterTool: false, shortCallIds: true } },
    },
  },
];

/**
 * The default abilities of Chat Completions, as OpenAI defines them. They apply to models that have no row of their
 * own.
 */
export const CHAT: Ability = {
  protocol: "chat",
  // The model may not reason at all. Such a model refuses an effort of `none`.
  reasoning: {
    byDefault: undefined,
    modes: [],
    efforts: ALL_EFFORTS,
    least: "low",
  },
  tools: {
    full: true,
    force: "named",
    forbid: true,
    webSearch: false,
    mixedStrict: true,
    parallel: true,
  },
  schemas: {
    subset: ALL_SCHEMAS,
    enforces: "openai",
    json: "object",
    formatSchemas: true,
    formatsWithTools: true,
  },
  sampling: {
    free: "always",
    fixed: SAMPLING_SETTINGS,
    both: true,
    mostTemperature: Infinity,
  },
  limits: {
    leastOutputTokens: 0,
    mostOutputTokens: Infinity,
    usualOutputTokens: undefined,
    mostWholeTokens: Infinity,
    mostStops: 4,
    blankStops: true,
    mostCacheMarks: Infinity,
    mostTools: 128,
    mostNameCharacters: 64,
  },
  turns: {
    systemAnywhere: true,
    unsignedReasoning: true,
    reasoningOfCalls: false,
    reasoningOnAll: false,
    mediaOfResults: true,
    ownAudio: true,
    demandsUser: false,
    userAfterTool: true,
    namesResults: false,
    shortCallIds: false,
  },
  settings: { ...ALL_SETTINGS, topK: false },
  tiers: ["auto", "standard", "flex", "priority"],
  cacheMarks: "content",
  continues: false,
  names: true,
  citations: false,
};

export const OPENAI_SPELLING: ChatSpelling = {
  limitField: "max_completion_tokens",
  textParts: true,
  reasoning: "effort",
  thinkingWord: "enabled",
  effortWords: {},
  filePart: "file",
  reasoningField: undefined,
  signatures: undefined,
  continueField: undefined,
  streamOptions: true,
  seedField: "seed",
};

/** The row that nearly all compatible servers share. */
export const COMPATIBLE_CHAT: ChatRow = {
  ability: {
    reasoning: { efforts: ["low", "medium", "high"], least: undefined },
    tools: { full: false },
    schemas: { enforces: "any" },
    limits: { mostStops: Infinity, mostTools: Infinity },
    turns: { systemAnywhere: false, ownAudio: false },
    settings: {
      verbosity: false,
      cacheKey: false,
      metadata: false,
      webSearch: false,
      cacheOptions: false,
      cacheRetention: false,
      safetyIdentifier: false,
    },
    tiers: [],
    cacheMarks: "none",
    continues: true,
  },
  spelling: {
    limitField: "max_tokens",
    textParts: false,
    reasoningField: "reasoning_content",
  },
};

/** The row of providers that enforce no schema of an output format. */
export const NO_SCHEMAS: ChatRow = {
  ability: { schemas: { formatSchemas: false } },
};

/** The row of providers with a switch for thinking. */
export const SWITCH: ChatRow = { spelling: { reasoning: "switch" } };

/**
 * Returns the row of a model that accepts these efforts, from low to high. Without arguments, the model accepts no
 * effort.
 */
export function efforts(...words: readonly EffortWord[]): ChatRow {
  const alwaysReasons = words.length > 0 && !words.includes("none");
  return {
    ability: {
      reasoning: {
        byDefault: alwaysReasons || undefined,
        modes: [],
        efforts: words,
        least: words[0],
      },
    },
  };
}

/**
 * Joins the rows of a maker to one row with the efforts that all rows accept. This is the `strictest` for {@linkcode
 * rulesFor}.
 */
export function strictestEffort(rows: readonly ChatRow[]): ChatRow {
  return efforts(
    ...commonEfforts(
      rows.map(({ ability }) => ability?.reasoning?.efforts ?? []),
    ),
  );
}

/** A group of services with the same rows, and the sources of the rows. */
export interface ChatProvider {
  readonly services: readonly string[];
  readonly sources: readonly string[];
  readonly rows: readonly ChatRow[];
  /** The rows for models of makers other than OpenAI, if these rows differ from `rows`. */
  readonly otherModels?: readonly ChatRow[];
  /** The generations of the provider's models. The generation decides about reasoning. */
  readonly families?: readonly ModelRow<ChatRow>[];
  /** The rows of single models that differ from `rows`. */
  readonly models?: readonly ModelRow<ChatRow>[];
  /** True when the provider itself adjusts effort and sampling to the model; absent: false. */
  readonly fitsModel?: boolean;
}
