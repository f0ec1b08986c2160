import type { RequestContext, Target } from "../canonical/codec.ts";
import type { ReasoningSettings } from "../canonical/request.ts";

/** How a provider's Responses deviates from OpenAI's. */
export interface ResponsesDialect {
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
  /** Whether content parts take cache marks. */
  readonly cacheMarks: boolean;
  /** Whether every model reasons and shows summaries. */
  readonly alwaysReasons: boolean;
  /** Whether models that reason refuse sampling settings. */
  readonly reasoningFixesSampling: boolean;
}

const OPENAI: ResponsesDialect = {
  fullToolset: true,
  systemRole: true,
  demandsInstructions: false,
  limits: true,
  minOutputTokens: 16,
  records: true,
  userField: "safety_identifier",
  cacheMarks: true,
  alwaysReasons: false,
  reasoningFixesSampling: true,
};

/** What servers that imitate the protocol understand. */
const COMPATIBLE: ResponsesDialect = {
  ...OPENAI,
  fullToolset: false,
  minOutputTokens: 1,
  userField: "user",
  cacheMarks: false,
  reasoningFixesSampling: false,
};

/** The back end of ChatGPT subscriptions: refuses every setting that Codex itself never sends. */
const CODEX: ResponsesDialect = {
  ...OPENAI,
  systemRole: false,
  demandsInstructions: true,
  limits: false,
  records: false,
  cacheMarks: false,
  alwaysReasons: true,
};

const DIALECTS: Readonly<Record<string, ResponsesDialect>> = {
  openai: OPENAI,
  codex: CODEX,
  gateway: { ...OPENAI, minOutputTokens: 1 },
  openrouter: { ...COMPATIBLE, cacheMarks: true },
};

/** The first models that take cache marks are 5.6; older ones refuse unknown fields of a part. */
const CACHE_MARKS_REGEXP = /(?:^|\/)gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)/;

/** The dialect of a target; the widely understood one where none is known. */
export function dialectOf(target: Target): ResponsesDialect {
  const dialect = DIALECTS[target.service] ?? COMPATIBLE;
  return dialect.cacheMarks && !CACHE_MARKS_REGEXP.test(target.model)
    ? { ...dialect, cacheMarks: false }
    : dialect;
}

/** Models that reason unless told not to, maybe behind a vendor's prefix. */
const ALWAYS_REASONING_REGEXP = /(?:^|\/)(?:o\d|gpt-5(?:-(?!chat)|$)|codex)/;
/** Models that can reason. */
const REASONING_REGEXP = /(?:^|\/)(?:o\d|gpt-(?:[5-9]|\d\d)(?!-chat)|codex)/;

/** Whether the target hands out encrypted reasoning when asked to; models that never reason refuse the wish. */
export function sealsReasoning(
  settings: ReasoningSettings | undefined,
  { dialect, context }: Scope,
): boolean {
  return dialect.alwaysReasons || REASONING_REGEXP.test(context.target.model) ||
    settings !== undefined && settings.mode !== "off";
}

/** Whether the target takes temperature and nucleus for an answer with these settings. */
export function takesSampling(
  settings: ReasoningSettings | undefined,
  { dialect, context }: Scope,
): boolean {
  if (!dialect.limits) return false;
  const { model } = context.target;
  if (!dialect.reasoningFixesSampling || settings?.mode === "off") return true;
  return !ALWAYS_REASONING_REGEXP.test(model) &&
    !(REASONING_REGEXP.test(model) && settings !== undefined);
}

/** What every step of writing a request needs to know. */
export interface Scope {
  readonly dialect: ResponsesDialect;
  readonly context: RequestContext;
}
