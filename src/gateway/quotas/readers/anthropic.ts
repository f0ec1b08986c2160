import { z } from "zod";
import type { HeaderFields } from "@gateway/base/header_fields";
import { type KnownAmounts, tidy } from "../amounts.ts";
import { unreadable } from "../failure.ts";
import {
  instantOfText,
  type Period,
  period,
  periodOfText,
  UNKNOWN_PERIOD,
} from "../period.ts";
import {
  QUOTA_TYPES,
  quotaWindow,
  quotaWindows,
  strictest,
} from "../window.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import {
  bearerHeaders,
  checkPayload,
  flag,
  hostUrl,
  numeric,
  text,
} from "./payload.ts";
import { headerInstant, headerNumber } from "./rate_limit_headers.ts";
import type {
  HeaderQuota,
  QuotaReader,
  QuotaRequest,
  QuotaSource,
} from "./reader.ts";

/** The quota in Anthropic's response headers: shares for OAuth tokens, counts for API keys. */
const anthropicHeaders: HeaderQuota = {
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
  const statusOf = (part: string) =>
    headers.get(`anthropic-ratelimit-unified-${part}status`) ?? "";
  const claim =
    (headers.get("anthropic-ratelimit-unified-representative-claim") ?? "")
      .replace("five_hour", "5h").replace("seven_day", "7d")
      .replace("overage_included", "oi");
  // Requests beyond a used-up plan may continue as paid overage.
  const isStopped = statusOf("") === "rejected" &&
    !statusOf("overage-").startsWith("allowed");
  const parts = [...headers.keys()].flatMap((name) => {
    const [, length, suffix = ""] = UNIFIED_REGEXP.exec(name) ?? [];
    const fraction = headerNumber(headers, name);
    if (length === undefined || fraction === null) return [];
    // `7d_oi` is the week including paid overage.
    const scope = suffix === "oi" ? "overage_included" : suffix;
    const part = suffix === "" ? length : `${length}_${suffix}`;
    return [{
      type: QUOTA_TYPES.usage,
      scope,
      // The unit is percent, as at the usage endpoint, so that both reports can be compared.
      unit: "percent",
      period: periodOfText(length),
      usedPercent: tidy(fraction * 100),
      isStopped: isStopped &&
        (statusOf(`${part}-`) === "rejected" || part === claim),
      resetsAt: headerInstant(
        headers,
        name.replace(/utilization$/, "reset"),
        seenAtMs,
      ),
    }];
  });
  return quotaWindows(parts, isStopped && claim === "");
}

interface Counter {
  readonly name: string;
  readonly type: string;
  readonly scope?: string;
  readonly unit: string;
}

const COUNTERS: readonly Counter[] = [
  { name: "requests", type: QUOTA_TYPES.requests, unit: "requests" },
  { name: "tokens", type: QUOTA_TYPES.tokens, unit: "tokens" },
  {
    name: "input-tokens",
    type: QUOTA_TYPES.tokens,
    scope: "input",
    unit: "tokens",
  },
  {
    name: "output-tokens",
    type: QUOTA_TYPES.tokens,
    scope: "output",
    unit: "tokens",
  },
];

/** Returns the windows of rate limits. These limits are per minute (platform documentation, "Rate limits"). */
function counted(
  { name, ...counter }: Counter,
  headers: HeaderFields,
  seenAtMs: number,
): QuotaWindow[] {
  const prefix = `anthropic-ratelimit-${name}`;
  const limit = headerNumber(headers, `${prefix}-limit`);
  const remaining = headerNumber(headers, `${prefix}-remaining`);
  if (limit === null && remaining === null) return [];
  return [quotaWindow({
    ...counter,
    period: period(1, "minute"),
    limit,
    remaining,
    resetsAt: headerInstant(headers, `${prefix}-reset`, seenAtMs),
  })];
}

/**
 * Anthropic. OAuth tokens (Pro, Max, Team), sent as bearer tokens, have a usage endpoint. API keys have no such
 * endpoint, so only response headers report their quota.
 */
export const anthropic: QuotaReader = {
  poll: {
    // Anthropic responds with 429 to clients that read more often than every few minutes.
    paceMs: 300_000,
    appliesTo: isOAuth,
    requests: (source) => [request(source)],
    parse: ([body]) => windowsOf(checkPayload(payload, body)),
  },
  headers: anthropicHeaders,
};

/** A window in a field of its own. Null while the window is not running. */
const flat = z.object({ utilization: numeric, resets_at: text }).nullish();

const money = z.object({
  amount_minor: numeric,
  currency: text,
  exponent: numeric,
}).nullish();

const limit = z.object({
  kind: text,
  group: text,
  percent: numeric,
  resets_at: text,
  scope: z.object({
    model: z.object({ id: text, display_name: text }).nullish(),
    surface: text,
  }).nullish(),
});

/** The windows to read. Responses have further windows, under code names that change often. */
const payload = z.object({
  five_hour: flat,
  seven_day: flat,
  seven_day_opus: flat,
  seven_day_sonnet: flat,
  seven_day_oauth_apps: flat,
  seven_day_cowork: flat,
  limits: z.array(limit).nullish(),
  extra_usage: z.object({
    is_enabled: flag,
    utilization: numeric,
    monthly_limit: numeric,
    used_credits: numeric,
    currency: text,
    decimal_places: numeric,
  }).nullish(),
  spend: z.object({
    used: money,
    limit: money,
    percent: numeric,
    enabled: flag,
  }).nullish(),
});

type Payload = z.output<typeof payload>;

const FIVE_HOURS = period(5, "hour");
const WEEK = period(1, "week");

function isOAuth({ connection, quota }: QuotaSource): boolean {
  const { auth } = connection;
  return quota.key !== undefined ||
    auth.scheme === "bearer" && auth.exchange === undefined;
}

function request(source: QuotaSource): QuotaRequest {
  return {
    url: hostUrl(source, "/api/oauth/usage"),
    headers: {
      ...bearerHeaders(source),
      "anthropic-beta": "oauth-2025-04-20",
      "user-agent": "claude-code/2.1.0",
    },
  };
}

/**
 * Returns the windows of a response. An idle account has no windows, and this is not an error. A response without any
 * known key is an error.
 */
function windowsOf(body: Payload): QuotaWindow[] {
  if (Object.keys(body).length === 0) {
    throw unreadable(
      "broken",
      "the provider's response has none of the known windows.",
    );
  }
  const listed = (body.limits ?? []).map(listedWindow);
  return [...strictest([...listed, ...flatWindows(body)]), ...extraUsage(body)];
}

function listedWindow(one: z.output<typeof limit>): QuotaWindow {
  return usageWindow(
    scopeOf(one),
    periodOf(one),
    { utilization: one.percent, resets_at: one.resets_at },
  );
}

function scopeOf({ kind, scope }: z.output<typeof limit>): string {
  if (kind === "session" || kind === "weekly_all") return "";
  return scope?.model?.display_name ?? scope?.model?.id ?? scope?.surface ??
    kind ?? "unknown";
}

function periodOf({ kind, group }: z.output<typeof limit>): Period {
  const word = group ?? kind ?? "";
  if (word.startsWith("session")) return FIVE_HOURS;
  return word.startsWith("weekly") ? WEEK : UNKNOWN_PERIOD;
}

function flatWindows(body: Payload): QuotaWindow[] {
  const all: readonly [string, Period, z.output<typeof flat>][] = [
    ["", FIVE_HOURS, body.five_hour],
    ["", WEEK, body.seven_day],
    ["opus", WEEK, body.seven_day_opus],
    ["sonnet", WEEK, body.seven_day_sonnet],
    ["oauth_apps", WEEK, body.seven_day_oauth_apps],
    ["cowork", WEEK, body.seven_day_cowork],
  ];
  return all.flatMap(([scope, length, window]) =>
    window ? [usageWindow(scope, length, window)] : []
  );
}

function usageWindow(
  scope: string,
  length: Period,
  window: NonNullable<z.output<typeof flat>>,
): QuotaWindow {
  return quotaWindow({
    type: QUOTA_TYPES.usage,
    scope,
    unit: "percent",
    period: length,
    usedPercent: window.utilization,
    resetsAt: instantOfText(window.resets_at),
  });
}

/**
 * Returns the window of paid use beyond the plan, if such use is enabled. A response reports it as `extra_usage` or
 * `spend`.
 */
function extraUsage({ extra_usage: extra, spend }: Payload): QuotaWindow[] {
  if (extra?.is_enabled) {
    const places = extra.decimal_places;
    return [spendWindow(extra.currency, {
      limit: major(extra.monthly_limit, places),
      used: major(extra.used_credits, places),
      otherPercent: extra.utilization,
    })];
  }
  if (!spend?.enabled) return [];
  return [spendWindow(spend.used?.currency, {
    limit: major(spend.limit?.amount_minor, spend.limit?.exponent),
    used: major(spend.used?.amount_minor, spend.used?.exponent),
    otherPercent: spend.percent,
  })];
}

function spendWindow(
  currency: string | null | undefined,
  known: KnownAmounts,
): QuotaWindow {
  return quotaWindow({
    type: QUOTA_TYPES.spend,
    scope: "extra_usage",
    unit: /^[A-Z]{3}$/.test(currency ?? "") ? currency ?? "" : "currency",
    period: period(1, "month"),
    ...known,
  });
}

/** Converts an amount in minor units, such as cents. Returns null when the number of decimal places is unknown. */
function major(
  minor: number | null | undefined,
  places: number | null | undefined,
): number | null {
  if (typeof minor !== "number" || typeof places !== "number") return null;
  return Number.isInteger(places) && places >= 0 && places <= 8
    ? tidy(minor / 10 ** places)
    : null;
}
