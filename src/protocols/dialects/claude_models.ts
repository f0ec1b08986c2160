import type { Effort } from "../canonical/request/request.ts";
import type { ClaudeModel } from "./claude_model.ts";
import type { MessagesRules } from "./messages_rules.ts";

/** One row of the table: a generation of Claude, from its first version on. */
export interface ClaudeRow {
  /** Only these families; absent for all. */
  readonly families?: readonly ClaudeModel["family"][];
  /** The first version that the row is for, as major version times 100 plus minor. */
  readonly from: number;
  /** Ids that this row answers for, and no row above it. */
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
/** The capabilities of each model as a widely used client knows them. */
const CLIENT_PAGE = "https://www.npmjs.com/package/@ai-sdk/anthropic";

const ALL_EFFORTS: readonly Effort[] = [
  "low",
  "medium",
  "high",
  "xhigh",
  "max",
];

/** What the first generation took; each later one says what changed with it. */
const FIRST: MessagesRules = {
  maxOutputTokens: 4096,
  thinking: "none",
  thinkingOff: "disabled",
  efforts: [],
  sampling: "all",
  forcedTools: "without_thinking",
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
  thinking: "budget",
};

const WITH_SCHEMAS: MessagesRules = {
  ...WITH_BUDGET,
  sampling: "one",
  schemas: true,
};

const ADAPTIVE: MessagesRules = {
  ...WITH_SCHEMAS,
  maxOutputTokens: 128_000,
  thinking: "adaptive",
  efforts: ALL_EFFORTS,
  sampling: "none",
  prefill: false,
};

const FIFTH: MessagesRules = { ...ADAPTIVE, systemAnywhere: true };

const ALWAYS_THINKING: MessagesRules = {
  ...FIFTH,
  thinkingOff: undefined,
  forcedTools: "never",
};

/** Preserved thinking came with Fable 5.1. */
const PRESERVED: Pick<MessagesRules, "thinkingBinding"> = {
  thinkingBinding: "checked",
};

/**
 * The generations of Claude; the first row that matches counts. What is newer than known here gets the rules of the
 * newest, which refuse the most.
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
      thinkingOff: "between_tools",
      forcedTools: "never",
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
      thinking: "either",
      efforts: ["low", "medium", "high", "max"],
    },
  },
  {
    families: ["opus"],
    from: 405,
    examples: ["claude-opus-4-5"],
    sources: [EFFORT_PAGE, MODELS_PAGE],
    rules: { ...WITH_SCHEMAS, efforts: ["low", "medium", "high"] },
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

/** The row for a generation. */
export function claudeRowFor(
  { family, version }: ClaudeModel,
): ClaudeRow | undefined {
  return CLAUDE_MODELS.find(({ families, from }) =>
    version >= from && (families?.includes(family) ?? true)
  );
}
