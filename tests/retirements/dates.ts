/** A model with the day on which its provider stops serving it, or before which the provider does not stop. */
export interface Retirement {
  /** The provider's id, without the date of a version. */
  readonly id: string;
  /** `YYYY-MM-DD`. */
  readonly date: string;
  /** `announced`: the day itself. `not before`: the earliest day that the provider names. */
  readonly kind: "announced" | "not before";
  readonly source: string;
}

/** The day on which the sources below were last read. `task models:dates` reminds of the next time. */
export const READ_ON = "2026-11-23";

const ANTHROPIC =
  "https://platform.claude.com/docs/en/about-claude/model-deprecations";
const OPENAI = "https://developers.openai.com/api/docs/deprecations";
const DEEPSEEK = "https://api-docs.deepseek.com/news/news260424";
const MOONSHOT = "https://github.com/geirfreysson/raynard/releases/tag/v0.12.0";

export const RETIREMENTS: readonly Retirement[] = [
  ...announced(ANTHROPIC, {
    "claude-3-7-sonnet": "2026-02-19",
    "claude-opus-4": "2026-06-15",
    "claude-sonnet-4": "2026-06-15",
    "claude-opus-4-1": "2026-08-05",
    "claude-sonnet-4-5": "2026-11-30",
  }),
  ...notBefore(ANTHROPIC, {
    "claude-haiku-4-5": "2026-10-15",
    "claude-sonnet-4-6": "2027-02-17",
    "claude-opus-4-8": "2027-05-28",
    "claude-opus-5": "2027-07-24",
    "claude-sonnet-5-5": "2027-09-28",
    "claude-haiku-5-5": "2027-10-07",
  }),
  ...announced(OPENAI, {
    "gpt-4": "2026-10-23",
    "o4-mini": "2026-10-23",
    "gpt-5": "2026-12-11",
    "gpt-5-mini": "2026-12-11",
    "gpt-5-nano": "2026-12-11",
    "gpt-5-pro": "2026-12-11",
    "o3": "2026-12-11",
    "gpt-4o": "2027-01-14",
    "gpt-4.1": "2027-01-14",
    "gpt-5.1": "2027-04-01",
    "gpt-5.3-codex": "2027-04-01",
  }),
  ...announced(DEEPSEEK, {
    "deepseek-chat": "2026-07-24",
    "deepseek-reasoner": "2026-07-24",
  }),
  ...announced(MOONSHOT, { "kimi-k2.5": "2026-08-31" }),
];

function announced(
  source: string,
  dates: Readonly<Record<string, string>>,
): readonly Retirement[] {
  return Object.entries(dates)
    .map(([id, date]) => ({ id, date, kind: "announced", source }));
}

function notBefore(
  source: string,
  dates: Readonly<Record<string, string>>,
): readonly Retirement[] {
  return Object.entries(dates)
    .map(([id, date]) => ({ id, date, kind: "not before", source }));
}
