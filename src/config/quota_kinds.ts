/** Every value of a connection's `quota.kind`: whose interface tells the quota. */
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

/** Whose interface tells the quota of a connection. */
export type QuotaKind = typeof QUOTA_KINDS[number];
