import { anthropic } from "./anthropic.ts";
import { codex } from "./codex.ts";
import { copilot } from "./copilot.ts";
import { deepseek } from "./deepseek.ts";
import { gateway } from "./gateway.ts";
import { groq } from "./groq.ts";
import { json } from "./json.ts";
import { kimi } from "./kimi.ts";
import { litellm } from "./litellm.ts";
import { minimax } from "./minimax.ts";
import { moonshot } from "./moonshot.ts";
import { newApi } from "./new_api.ts";
import { openai } from "./openai.ts";
import { openrouter } from "./openrouter.ts";
import { rateLimitHeaders } from "./rate_limit_headers.ts";
import type { QuotaReader } from "./reader.ts";
import { siliconflow } from "./siliconflow.ts";
import { sub2api } from "./sub2api.ts";
import { synthetic } from "./synthetic.ts";
import { zai } from "./zai.ts";

const READERS: ReadonlyMap<string, QuotaReader> = new Map([
  ["zai", zai],
  // The same plan on its mainland hosts.
  ["bigmodel", zai],
  ["anthropic", anthropic],
  ["codex", codex],
  ["openai", openai],
  ["groq", groq],
  // Any other service with x-ratelimit-* headers.
  ["headers", { headers: rateLimitHeaders({}) }],
  ["openrouter", openrouter],
  ["kimi", kimi],
  ["moonshot", moonshot],
  ["minimax", minimax],
  ["deepseek", deepseek],
  ["siliconflow", siliconflow],
  ["copilot", copilot],
  ["synthetic", synthetic],
  ["litellm", litellm],
  ["new-api", newApi],
  ["sub2api", sub2api],
  ["gateway", gateway],
  ["json", json],
]);

/** The reader of a `quota.kind`; undefined for a kind that cannot be read. */
export function readerOf(kind: string | undefined): QuotaReader | undefined {
  return kind === undefined ? undefined : READERS.get(kind);
}
