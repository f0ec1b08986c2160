import type { QuotaConfig } from "../../config/config.ts";
import { anthropic } from "./anthropic.ts";
import { codex } from "./codex.ts";
import { copilot } from "./copilot.ts";
import { deepseek, moonshot, siliconflow } from "./platform_balance.ts";
import { gateway } from "./gateway.ts";
import { groq, openai, rateLimitHeaders } from "./rate_limit_headers.ts";
import { json } from "./json.ts";
import { kimi } from "./kimi.ts";
import { litellm } from "./litellm.ts";
import { minimax } from "./minimax.ts";
import { newApi } from "./new_api.ts";
import { openrouter } from "./openrouter.ts";
import type { QuotaReader } from "./reader.ts";
import { sub2api } from "./sub2api.ts";
import { synthetic } from "./synthetic.ts";
import { zai } from "./zai.ts";

const READERS: Readonly<Record<QuotaConfig["kind"], QuotaReader>> = {
  zai,
  // The same plan on its mainland hosts.
  bigmodel: zai,
  anthropic,
  codex,
  openai,
  groq,
  // Any other service with x-ratelimit-* headers.
  headers: { headers: rateLimitHeaders({}) },
  openrouter,
  kimi,
  moonshot,
  minimax,
  deepseek,
  siliconflow,
  copilot,
  synthetic,
  litellm,
  "new-api": newApi,
  sub2api,
  gateway,
  json,
};

/** Returns the reader for a kind of quota. */
export function readerOf({ kind }: QuotaConfig): QuotaReader {
  return READERS[kind];
}
