/** Every value of a connection's `quota.kind`: the interface that reports the quota. */
export const QUOTA_KINDS = [
  "zai",
  "bigmodel",
  "anthropic",
  "codex",
  "openai",
  "groq",
  "headers",
  "openrouter",
  "kimi",
  "moonshot",
  "minimax",
  "deepseek",
  "siliconflow",
  "copilot",
  "synthetic",
  "litellm",
  "new-api",
  "sub2api",
  "gateway",
  "json",
  "none",
] as const;

/** The interface that reports the quota of a connection. */
export type QuotaKind = typeof QUOTA_KINDS[number];
