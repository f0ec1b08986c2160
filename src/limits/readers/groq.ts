import { period } from "../period.ts";
import { rateLimitHeaders } from "./rate_limit_headers.ts";
import type { QuotaReader } from "./reader.ts";

/** Groq: headers alone; requests are counted by the day, tokens by the minute (its "Rate Limits" page). */
export const groq: QuotaReader = {
  headers: rateLimitHeaders({
    requests: period(1, "day"),
    tokens: period(1, "minute"),
  }),
};
