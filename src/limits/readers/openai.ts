import { rateLimitHeaders } from "./rate_limit_headers.ts";
import type { QuotaReader } from "./reader.ts";

/**
 * OpenAI platform keys: headers alone, which do not say whether a limit is per minute or per day (that
 * depends on model and tier).
 */
export const openai: QuotaReader = { headers: rateLimitHeaders({}) };
