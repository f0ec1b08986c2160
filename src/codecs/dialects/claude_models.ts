import {
  type Ability,
  type AbilityRow,
  ALL_SETTINGS,
  SAMPLING_SETTINGS,
  withRows,
} from "../canonical/request/ability.ts";
import { ALL_EFFORTS } from "../canonical/request/effort.ts";
import type { Effort } from "../canonical/request/request.ts";
import { ALL_SCHEMAS } from "../canonical/schema/schema_subset.ts";

/** One row of the table: a generation of Claude models, from its first version on. */
interface ClaudeRow {
  /** The families of models to which the row applies; absent if it applies to all families. */
  readonly families?: readonly ClaudeModel["family"][];
  /** The first version to which the row applies: 100 times the major version plus the minor version. */
  readonly from: number;
  /** Ids that match this row and no row above it. */
  readonly examples: readonly string[];
  readonly sources: readonly string[];
  readonly ability: Ability;
  /**
   * True when the model checks that earlier thinking follows its original prefix; absent: false. Models check this
   * since Fable 5.1 introduced preserved thinking.
   */
  readonly isChecked?: boolean;
}

const MODELS_PAGE =
  "https://platform.claude.com/docs/en/about-claude/models/overview";
const MIGRATION_PAGE =
  "https://platform.claude.com/docs/en/about-claude/models/migration-guide";
const THINKING_PAGE =
  "https://platform.claude.com/docs/en/build-with-claude/extended-thinking";
const EFFORT_PAGE =
  "https://platform.claude.com/docs/en/build-with-claude/effort";
const PRESERVED_PAGE =
  "https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks";
/** The page of a widely used client that has a table of each model's capabilities. */
const CLIENT_PAGE = "https://www.npmjs.com/package/@ai-sdk/anthropic";

export const CLAUDE_EFFORTS: readonly Effort[] = ALL_EFFORTS
  .filter((effort) => effort !== "minimal");

/** The ability of the first generation. Each later generation lists only its changes. */
export const FIRST_CLAUDE: Ability = {
  protocol: "messages",
  reasoning: { byDefault: false, modes: [], efforts: [] },
  tools: {
    full: false,
    force: "named",
    forbid: true,
    webSearch: false,
    mixedStrict: true,
    parallel: true,
  },
  schemas: {
    subset: ALL_SCHEMAS,
    enforces: "none",
    json: "none",
    formatSchemas: false,
    formatsWithTools: true,
  },
  sampling: {
    free: "without_reasoning",
    fixed: SAMPLING_SETTINGS,
    leastTopP: 0.95,
    both: true,
    mostTemperature: 1,
  },
  limits: {
    leastOutputTokens: 0,
    mostOutputTokens: 4096,
    usualOutputTokens: 32_000,
    mostWholeTokens: Infinity,
    mostStops: Infinity,
    blankStops: false,
    mostCacheMarks: 4,
    mostTools: Infinity,
    mostNameCharacters: 128,
  },
  turns: {
    systemAnywhere: false,
    unsignedReasoning: false,
    reasoningOfCalls: false,
    reasoningOnAll: false,
    mediaOfResults: true,
    ownAudio: false,
    demandsUser: false,
    userAfterTool: true,
    namesResults: false,
    shortCallIds: false,
  },
  settings: {
    ...ALL_SETTINGS,
    seed: false,
    frequencyPenalty: false,
    presencePenalty: false,
    verbosity: false,
    metadata: false,
    logprobs: false,
    webSearch: false,
    cacheOptions: false,
    cacheRetention: false,
    safetyIdentifier: false,
  },
  tiers: ["auto", "standard", "priority"],
  cacheMarks: "content_and_tools",
  continues: true,
  names: false,
  citations: true,
};

const WITH_BUDGET = withRows(FIRST_CLAUDE, {
  limits: { mostOutputTokens: 64_000 },
  reasoning: {
    modes: ["budget", "off"],
    bars: ["forced_call", "lost_reasoning"],
  },
});

/** The row of models that enforce schemas. */
export const ENFORCES_SCHEMAS: AbilityRow = {
  schemas: { enforces: "closed", formatSchemas: true },
};

const UP_TO_32_000: AbilityRow = { limits: { mostOutputTokens: 32_000 } };

const WITH_SCHEMAS = withRows(WITH_BUDGET, {
  ...ENFORCES_SCHEMAS,
  sampling: { both: false },
});

const ADAPTIVE = withRows(WITH_SCHEMAS, {
  limits: { mostOutputTokens: 128_000 },
  reasoning: {
    modes: ["adaptive", "off"],
    efforts: CLAUDE_EFFORTS,
    effortWhenOff: true,
    bars: ["forced_call"],
  },
  sampling: { free: "never", leastTopP: 0.99, both: true },
  continues: false,
});

const FIFTH = withRows(ADAPTIVE, { turns: { systemAnywhere: true } });

const ALWAYS_THINKING = withRows(FIFTH, {
  reasoning: {
    byDefault: true,
    modes: ["adaptive"],
    least: CLAUDE_EFFORTS[0],
    effortWhenOff: false,
    bars: [],
  },
  tools: { force: "never" },
});

/**
 * The generations of Claude models. The first row that matches a model counts. Unknown newer models get the rules of
 * the newest generation, because these rules are the strictest.
 */
export const CLAUDE_MODELS: readonly ClaudeRow[] = [
  {
    families: ["fable", "mythos"],
    from: 501,
    examples: ["claude-fable-5-2", "claude-mythos-5-1", "claude-fable-5-1"],
    sources: [CLIENT_PAGE, THINKING_PAGE, PRESERVED_PAGE],
    ability: ALWAYS_THINKING,
    isChecked: true,
  },
  {
    families: ["fable", "mythos"],
    from: 0,
    examples: ["claude-fable-5", "claude-mythos-5"],
    sources: [CLIENT_PAGE, THINKING_PAGE],
    ability: ALWAYS_THINKING,
  },
  {
    families: ["haiku"],
    from: 505,
    examples: ["claude-haiku-5-5"],
    sources: [CLIENT_PAGE, PRESERVED_PAGE],
    ability: FIFTH,
    isChecked: true,
  },
  {
    families: ["sonnet"],
    from: 505,
    examples: ["claude-sonnet-5-5"],
    sources: [CLIENT_PAGE, THINKING_PAGE, PRESERVED_PAGE],
    ability: withRows(FIFTH, {
      reasoning: { modes: ["adaptive", "between_tools"], bars: [] },
      tools: { force: "never" },
    }),
    isChecked: true,
  },
  {
    from: 505,
    examples: ["claude-opus-5-5", "claude-opus-7", "claude-next"],
    sources: [CLIENT_PAGE, THINKING_PAGE, PRESERVED_PAGE],
    ability: ALWAYS_THINKING,
    isChecked: true,
  },
  {
    from: 500,
    examples: ["claude-opus-5", "claude-sonnet-5", "claude-haiku-5-1"],
    sources: [CLIENT_PAGE, MIGRATION_PAGE],
    ability: FIFTH,
  },
  {
    families: ["opus"],
    from: 408,
    examples: ["claude-opus-4-8"],
    sources: [CLIENT_PAGE, MIGRATION_PAGE],
    ability: FIFTH,
  },
  {
    from: 407,
    examples: ["claude-opus-4-7", "claude-sonnet-4-9"],
    sources: [
      "https://platform.claude.com/docs/en/about-claude/models/whats-new-claude-4-7#sampling-parameters-removed",
      THINKING_PAGE,
    ],
    ability: ADAPTIVE,
  },
  {
    from: 406,
    examples: ["claude-opus-4-6", "claude-sonnet-4-6"],
    sources: [
      EFFORT_PAGE,
      THINKING_PAGE,
      // "This model does not support assistant message prefill."
      "https://github.com/anomalyco/opencode/issues/22404",
    ],
    ability: withRows(WITH_SCHEMAS, {
      limits: { mostOutputTokens: 128_000 },
      reasoning: {
        modes: ["adaptive", "budget", "off"],
        efforts: ["low", "medium", "high", "max"],
        effortWhenOff: true,
      },
      continues: false,
    }),
  },
  {
    families: ["opus"],
    from: 405,
    examples: ["claude-opus-4-5"],
    sources: [EFFORT_PAGE, MODELS_PAGE],
    ability: withRows(WITH_SCHEMAS, {
      reasoning: { efforts: ["low", "medium", "high"], effortWhenOff: true },
    }),
  },
  {
    from: 405,
    examples: ["claude-sonnet-4-5-20250929", "claude-haiku-4-5"],
    sources: [
      MODELS_PAGE,
      "https://platform.claude.com/docs/en/build-with-claude/structured-outputs",
    ],
    ability: WITH_SCHEMAS,
  },
  {
    // Temperature and `top_p` exclude each other from here on.
    families: ["opus"],
    from: 401,
    examples: ["claude-opus-4-1-20250805"],
    sources: [
      "https://github.com/aws-samples/bedrock-chat/pull/979",
      MODELS_PAGE,
    ],
    ability: withRows(WITH_SCHEMAS, UP_TO_32_000),
  },
  {
    families: ["opus"],
    from: 400,
    examples: ["claude-opus-4-20250514"],
    sources: [MODELS_PAGE],
    ability: withRows(WITH_BUDGET, UP_TO_32_000),
  },
  {
    from: 307,
    examples: ["claude-3-7-sonnet-latest", "claude-sonnet-4-0"],
    sources: [MODELS_PAGE, THINKING_PAGE],
    ability: WITH_BUDGET,
  },
  {
    from: 305,
    examples: ["claude-3-5-sonnet-20241022", "claude-3-5-haiku-latest"],
    sources: [MODELS_PAGE],
    ability: withRows(FIRST_CLAUDE, { limits: { mostOutputTokens: 8192 } }),
  },
  {
    from: 0,
    examples: ["claude-3-haiku-20240307", "claude-3-opus"],
    sources: [MODELS_PAGE],
    ability: FIRST_CLAUDE,
  },
];

/** Returns the row that applies to a model. */
export function claudeRowFor(
  { family, version }: ClaudeModel,
): ClaudeRow | undefined {
  return CLAUDE_MODELS.find(({ families, from }) =>
    version >= from && (families?.includes(family) ?? true)
  );
}

/** A Claude model by family and version. */
interface ClaudeModel {
  readonly family: "opus" | "sonnet" | "haiku" | "fable" | "mythos" | "other";
  /** 100 times the major version plus the minor version: 4.5 is 405. */
  readonly version: number;
}

/** The version that is assumed for an id without a version. It is newer than all rows. */
const NEWEST_VERSION = 9999;

const FAMILY_REGEXP = /opus|sonnet|haiku|fable|mythos/;
/**
 * The version in `claude-sonnet-4-5-20250929`, `claude-3-7-sonnet-latest` or `anthropic.claude-haiku-4.5-v1:0`. A date
 * is not a minor version.
 */
const VERSION_REGEXP =
  /claude-(?:[a-z]+-)?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?/;

/** Parses a model id of any provider. Returns `undefined` if the model is not a Claude model. */
export function parseClaudeModel(model: string): ClaudeModel | undefined {
  const id = model.toLowerCase().replace(/^.*\//, "");
  const start = id.indexOf("claude");
  if (start < 0) return undefined;
  const family = FAMILY_REGEXP.exec(id.slice(start))?.[0];
  const [, major, minor] = VERSION_REGEXP.exec(id.slice(start)) ?? [];
  return {
    family: isFamily(family) ? family : "other",
    version: major === undefined
      ? NEWEST_VERSION
      : Number(major) * 100 + Number(minor ?? 0),
  };
}

function isFamily(
  word: string | undefined,
): word is Exclude<ClaudeModel["family"], "other"> {
  return word !== undefined && FAMILY_REGEXP.test(word);
}

/** The features of a Messages provider that do not depend on the model. */
interface MessagesProvider {
  /** The host of the provider's endpoint. It identifies the provider for connections of any service. */
  readonly host: string;
  readonly sources: readonly string[];
  /** True when `block_binding` with its beta header makes the provider drop thinking that fails the check. */
  readonly dropsMismatches: boolean;
}

/**
 * The providers that have features beyond those of their models. Requests to other endpoints use none of these
 * features.
 */
export const MESSAGES_PROVIDERS: readonly MessagesProvider[] = [
  {
    host: "api.anthropic.com",
    sources: [
      "https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation",
      "https://platform.claude.com/docs/en/build-with-claude/preserved-thinking#preserved-thinking-controls",
    ],
    dropsMismatches: true,
  },
];
