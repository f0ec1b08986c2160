import type { Effort } from "../canonical/request/request.ts";

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

/** Which Claude a model id means. */
interface ClaudeModel {
  readonly family: "opus" | "sonnet" | "haiku" | "fable" | "mythos" | "other";
  /** Major version times 100 plus minor: 4.5 is 405. */
  readonly version: number;
}

/** Stands for a version that an id does not name: newer than every rule known here. */
const NEWEST_VERSION = 9999;

const FAMILY_REGEXP = /opus|sonnet|haiku|fable|mythos/;
/**
 * `claude-sonnet-4-5-20250929`, `claude-3-7-sonnet-latest`, `anthropic.claude-haiku-4.5-v1:0`; a date is no minor
 * version.
 */
const VERSION_REGEXP =
  /claude-(?:[a-z]+-)?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?/;

/** Reads a model id of any provider; `undefined` when it is no Claude. */
export function parseClaudeModel(model: string): ClaudeModel | undefined {
  const id = model.toLowerCase();
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

/** What a model behind the Messages protocol takes. */
export interface MessagesRules {
  /** The most that it writes; `undefined` where that is not known. */
  readonly maxOutputTokens: number | undefined;
  /**
   * Which `thinking` it knows: `none`; `budget` (enabled); `either` (enabled and adaptive); `adaptive`;
   * `as_given` where that is not known.
   */
  readonly thinking: "none" | "budget" | "either" | "adaptive" | "as_given";
  /** What comes closest to no thinking; `undefined` where it always thinks. */
  readonly thinkingOff: "disabled" | "between_tools" | undefined;
  /** The efforts that it tells apart, from little to much. */
  readonly efforts: readonly Effort[];
  /** Whether `temperature`, `top_p` and `top_k` may be set; `one`: not temperature and `top_p` together. */
  readonly sampling: "all" | "one" | "none";
  /** When a tool may be forced on it. */
  readonly forcedTools: "always" | "without_thinking" | "never";
  /** Whether `role: "system"` may stand among the messages. */
  readonly systemAnywhere: boolean;
  /** Whether it goes on with an answer that stands at the end; else that is refused. */
  readonly prefill: boolean;
  /** Whether answers and tool arguments can be held to a schema. */
  readonly schemas: boolean;
  /** Whether earlier thinking may go back without a signature. */
  readonly unsignedThinking: boolean;
  /**
   * Whether earlier thinking is only taken back behind what it was made behind: `checked`; `noted` where a later model
   * of the same provider may check it; `none` where nobody does.
   */
  readonly thinkingBinding: "checked" | "noted" | "none";
  /** Whether service tiers exist. */
  readonly serviceTiers: boolean;
  /** The longest tool name, in characters. */
  readonly maxNameLength: number;
}

/** What a provider of Messages takes beside what its models do. */
interface MessagesProvider {
  /** Of its own endpoint, whichever service a connection to it is called. */
  readonly host: string;
  readonly sources: readonly string[];
  /** Whether it can be asked to drop thinking that fails the check, with `block_binding` and its beta header. */
  readonly dropsMismatches: boolean;
}

/** The providers that take more than their models; every other endpoint is asked for nothing of it. */
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
