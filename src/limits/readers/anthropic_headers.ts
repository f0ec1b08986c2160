import type { HeaderFields } from "../../core/header_fields.ts";
import { amounts, percentAmounts, tidy } from "../amounts.ts";
import { period, periodOfText } from "../period.ts";
import {
  LIMIT_TYPES,
  type QuotaWindow,
  quotaWindow,
  scopedType,
} from "../window.ts";
import { headerInstant, headerNumber } from "./header_value.ts";
import type { HeaderQuota } from "./reader.ts";

/** What Anthropic tells with every answer: shares for OAuth tokens, counts for API keys. */
export const anthropicHeaders: HeaderQuota = {
  probes: [
    "anthropic-ratelimit-unified-5h-utilization",
    "anthropic-ratelimit-unified-7d-utilization",
    "anthropic-ratelimit-requests-limit",
    "anthropic-ratelimit-tokens-limit",
    "anthropic-ratelimit-input-tokens-limit",
  ],
  parse: (headers, seenAtMs) => [
    ...unifiedWindows(headers, seenAtMs),
    ...COUNTERS.flatMap((counter) => counted(counter, headers, seenAtMs)),
  ],
};

const UNIFIED_REGEXP =
  /^anthropic-ratelimit-unified-(\d+[hd])(?:_(\w+))?-utilization$/;

function unifiedWindows(
  headers: HeaderFields,
  seenAtMs: number,
): QuotaWindow[] {
  return [...headers.keys()].flatMap((name) => {
    const [, length, suffix = ""] = UNIFIED_REGEXP.exec(name) ?? [];
    const fraction = headerNumber(headers, name);
    if (length === undefined || fraction === null) return [];
    // `7d_oi` is the week with paid overage included.
    const scope = suffix === "oi" ? "overage_included" : suffix;
    return [quotaWindow({
      type: scopedType(LIMIT_TYPES.usage, scope),
      // In percent like the usage endpoint, so that the two can be compared.
      unit: "percent",
      period: periodOfText(length),
      amounts: percentAmounts(tidy(fraction * 100)),
      resetsAt: headerInstant(
        headers,
        name.replace(/utilization$/, "reset"),
        seenAtMs,
      ),
    })];
  });
}

interface Counter {
  readonly name: string;
  readonly type: string;
  readonly unit: string;
}

const COUNTERS: readonly Counter[] = [
  { name: "requests", type: LIMIT_TYPES.requests, unit: "requests" },
  { name: "tokens", type: LIMIT_TYPES.tokens, unit: "tokens" },
  {
    name: "input-tokens",
    type: scopedType(LIMIT_TYPES.tokens, "input"),
    unit: "tokens",
  },
  {
    name: "output-tokens",
    type: scopedType(LIMIT_TYPES.tokens, "output"),
    unit: "tokens",
  },
];

/** Anthropic's rate limits are per minute (platform documentation, "Rate limits"). */
function counted(
  { name, type, unit }: Counter,
  headers: HeaderFields,
  seenAtMs: number,
): QuotaWindow[] {
  const prefix = `anthropic-ratelimit-${name}`;
  const limit = headerNumber(headers, `${prefix}-limit`);
  const remaining = headerNumber(headers, `${prefix}-remaining`);
  if (limit === null && remaining === null) return [];
  return [quotaWindow({
    type,
    unit,
    period: period(1, "minute"),
    amounts: amounts({ limit, remaining }),
    resetsAt: headerInstant(headers, `${prefix}-reset`, seenAtMs),
  })];
}
