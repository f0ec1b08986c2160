import type { Effort } from "../canonical/request/request.ts";
import { ALL_EFFORTS } from "../canonical/request/effort.ts";
import type { ReasoningAbility } from "../canonical/request/ability.ts";

/** One row of the table: a generation of Claude models, from its first version on. */
interface ClaudeRow {
  /** The families of the row; absent for all. */
  readonly families?: readonly ClaudeModel["family"][];
  /** The first version of the row: 100 times the major version plus the minor version. */
  readonly from: number;
  /** Ids that match this row and no row above it. */
  readonly examples: readonly string[];
  readonly sources: readonly string[];
  readonly rules: MessagesRules;
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
/** A widely used client with a table of each model's capabilities. */
const CLIENT_PAGE = "https://www.npmjs.com/package/@ai-sdk/anthropic";

export const CLAUDE_EFFORTS: readonly Effort[] = ALL_EFFORTS
  .filter((effort) => effort !== "minimal");

/** The rules of the first generation. Each later generation lists its changes. */
const FIRST: MessagesRules = {
  maxOutputTokens: 4096,
  reasoning: { byDefault: false, modes: [], efforts: [] },
  sampling: "all",
  forcedCalls: true,
  systemAnywhere: false,
  prefill: true,
  schemas: false,
  unsignedThinking: false,
  thinkingBinding: "noted",
  serviceTiers: true,
  maxNameLength: 128,
};

const WITH_BUDGET: MessagesRules = {
  ...FIRST,
  maxOutputTokens: 64_000,
  reasoning: {
    ...FIRST.reasoning,
    modes: ["budget", "off"],
    bars: ["forced_call", "lost_reasoning"],
  },
};

const WITH_SCHEMAS: MessagesRules = {
  ...WITH_BUDGET,
  sampling: "one",
  schemas: true,
};

const WITH_EFFORTS: ReasoningAbility = {
  ...WITH_BUDGET.reasoning,
  effortWhenOff: true,
};

const ADAPTIVE: MessagesRules = {
  ...WITH_SCHEMAS,
  maxOutputTokens: 128_000,
  reasoning: {
    byDefault: false,
    modes: ["adaptive", "off"],
    efforts: CLAUDE_EFFORTS,
    effortWhenOff: true,
    bars: ["forced_call"],
  },
  sampling: "none",
  prefill: false,
};

const FIFTH: MessagesRules = { ...ADAPTIVE, systemAnywhere: true };

const ALWAYS_THINKING: MessagesRules = {
  ...FIFTH,
  reasoning: {
    byDefault: true,
    modes: ["adaptive"],
    efforts: CLAUDE_EFFORTS,
    least: CLAUDE_EFFORTS[0],
  },
  forcedCalls: false,
};

/** Fable 5.1 introduced preserved thinking. */
const PRESERVED: Pick<MessagesRules, "thinkingBinding"> = {
  thinkingBinding: "checked",
};

/**
 * The generations of Claude models. The first row that matches counts. Unknown newer models get the rules of the newest
 * generation, which are the strictest.
 */
export const CLAUDE_MODELS: readonly ClaudeRow[] = [
  {
    families: ["fable", "mythos"],
    from: 501,
    examples: ["claude-fable-5-2", "claude-mythos-5-1", "claude-fable-5-1"],
    sources: [CLIENT_PAGE, THINKING_PAGE, PRESERVED_PAGE],
    rules: { ...ALWAYS_THINKING, ...PRESERVED },
  },
  {
    families: ["fable", "mythos"],
    from: 0,
    examples: ["claude-fable-5", "claude-mythos-5"],
    sources: [CLIENT_PAGE, THINKING_PAGE],
    rules: ALWAYS_THINKING,
  },
  {
    families: ["haiku"],
    from: 505,
    examples: ["claude-haiku-5-5"],
    sources: [CLIENT_PAGE, PRESERVED_PAGE],
    rules: { ...FIFTH, ...PRESERVED },
  },
  {
    families: ["sonnet"],
    from: 505,
    examples: ["claude-sonnet-5-5"],
    sources: [CLIENT_PAGE, THINKING_PAGE, PRESERVED_PAGE],
    rules: {
      ...FIFTH,
      ...PRESERVED,
      reasoning: {
        ...FIFTH.reasoning,
        modes: ["adaptive", "between_tools"],
        bars: [],
      },
      forcedCalls: false,
    },
  },
  {
    from: 505,
    examples: ["claude-opus-5-5", "claude-opus-7", "claude-next"],
    sources: [CLIENT_PAGE, THINKING_PAGE, PRESERVED_PAGE],
    rules: { ...ALWAYS_THINKING, ...PRESERVED },
  },
  {
    from: 500,
    examples: ["claude-opus-5", "claude-sonnet-5", "claude-haiku-5-1"],
    sources: [CLIENT_PAGE, MIGRATION_PAGE],
    rules: FIFTH,
  },
  {
    families: ["opus"],
    from: 408,
    examples: ["claude-opus-4-8"],
    sources: [CLIENT_PAGE, MIGRATION_PAGE],
    rules: FIFTH,
  },
  {
    from: 407,
    examples: ["claude-opus-4-7", "claude-sonnet-4-9"],
    sources: [
      "https://platform.claude.com/docs/en/about-claude/models/whats-new-claude-4-7#sampling-parameters-removed",
      THINKING_PAGE,
    ],
    rules: ADAPTIVE,
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
    rules: {
      ...WITH_SCHEMAS,
      maxOutputTokens: 128_000,
      prefill: false,
      reasoning: {
        ...WITH_EFFORTS,
        modes: ["adaptive", "budget", "off"],
        efforts: ["low", "medium", "high", "max"],
      },
    },
  },
  {
    families: ["opus"],
    from: 405,
    examples: ["claude-opus-4-5"],
    sources: [EFFORT_PAGE, MODELS_PAGE],
    rules: {
      ...WITH_SCHEMAS,
      reasoning: { ...WITH_EFFORTS, efforts: ["low", "medium", "high"] },
    },
  },
  {
    from: 405,
    examples: ["claude-sonnet-4-5-20250929", "claude-haiku-4-5"],
    sources: [
      MODELS_PAGE,
      "https://platform.claude.com/docs/en/build-with-claude/structured-outputs",
    ],
    rules: WITH_SCHEMAS,
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
    rules: { ...WITH_SCHEMAS, maxOutputTokens: 32_000 },
  },
  {
    families: ["opus"],
    from: 400,
    examples: ["claude-opus-4-20250514"],
    sources: [MODELS_PAGE],
    rules: { ...WITH_BUDGET, maxOutputTokens: 32_000 },
  },
  {
    from: 307,
    examples: ["claude-3-7-sonnet-latest", "claude-sonnet-4-0"],
    sources: [MODELS_PAGE, THINKING_PAGE],
    rules: WITH_BUDGET,
  },
  {
    from: 305,
    examples: ["claude-3-5-sonnet-20241022", "claude-3-5-haiku-latest"],
    sources: [MODELS_PAGE],
    rules: { ...FIRST, maxOutputTokens: 8192 },
  },
  {
    from: 0,
    examples: ["claude-3-haiku-20240307", "claude-3-opus"],
    sources: [MODELS_PAGE],
    rules: FIRST,
  },
];

/** Returns the row for a model. */
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

/** The version of an id without one: newer than all rows. */
const NEWEST_VERSION = 9999;

const FAMILY_REGEXP = /opus|sonnet|haiku|fable|mythos/;
/**
 * The version in `claude-sonnet-4-5-20250929`, `claude-3-7-sonnet-latest` or `anthropic.claude-haiku-4.5-v1:0`. A date
 * is not a minor version.
 */
const VERSION_REGEXP =
  /claude-(?:[a-z]+-)?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?/;

/** Parses a model id of any provider; returns `undefined` when it is no Claude model. */
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

/** The features and limits of a model with the Messages protocol. */
export interface MessagesRules {
  /** The highest output limit, in tokens; `undefined` when it is unknown. */
  readonly maxOutputTokens: number | undefined;
  /** The reasoning settings that it takes, with the modes as types of `thinking`. */
  readonly reasoning: ReasoningAbility;
  /**
   * The sampling settings that it accepts. `free`: all. `all`: all while it does not think. `one`: as `all`, but not
   * `temperature` and `top_p` together. `none`: none but the defaults.
   */
  readonly sampling: "free" | "all" | "one" | "none";
  /** True when a request may force a tool call. */
  readonly forcedCalls: boolean;
  /** True when messages may have `role: "system"`. */
  readonly systemAnywhere: boolean;
  /** True when the model continues an assistant message at the end of a request; if false, it rejects the request. */
  readonly prefill: boolean;
  /** True when a schema can be enforced for answers and tool arguments. */
  readonly schemas: boolean;
  /** True when it accepts earlier thinking without a signature. */
  readonly unsignedThinking: boolean;
  /**
   * The check of earlier thinking against its original prefix. `checked`: this model checks it. `noted`: a later model
   * of the same provider may check it. `none`: no model checks it.
   */
  readonly thinkingBinding: "checked" | "noted" | "none";
  readonly serviceTiers: boolean;
  readonly maxNameLength: number;
}

/** The features of a Messages provider that do not depend on the model. */
interface MessagesProvider {
  /** The host of its endpoint, for connections of any service. */
  readonly host: string;
  readonly sources: readonly string[];
  /** True when `block_binding` with its beta header makes the provider drop thinking that fails the check. */
  readonly dropsMismatches: boolean;
}

/** The providers with features of their own. Requests to other endpoints use none of these features. */
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
