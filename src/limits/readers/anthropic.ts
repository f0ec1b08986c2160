import { z } from "zod";
import { amounts, percentAmounts, tidy } from "../amounts.ts";
import { QuotaFailure } from "../failure.ts";
import { instantOfText } from "../instant.ts";
import { type Period, period, UNKNOWN_PERIOD } from "../period.ts";
import {
  LIMIT_TYPES,
  type QuotaWindow,
  quotaWindow,
  scopedType,
} from "../window.ts";
import { bearerHeaders, hostUrl } from "./address.ts";
import { anthropicHeaders } from "./anthropic_headers.ts";
import { checkPayload, flag, numeric, text } from "./payload.ts";
import type { QuotaReader, QuotaRequest, QuotaSource } from "./reader.ts";

/**
 * Anthropic: the usage endpoint for OAuth tokens (Pro, Max, Team), which go as bearer tokens; API keys
 * have none and are read from response headers alone.
 */
export const anthropic: QuotaReader = {
  poll: {
    // Anthropic answers 429 to clients that ask more often than every few minutes.
    paceMs: 300_000,
    appliesTo: isOAuth,
    requests: (source) => [request(source)],
    parse: ([body]) => windowsOf(checkPayload(payload, body)),
  },
  headers: anthropicHeaders,
};

/** A flat window; null while none is running. */
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

/** Other flat keys are code names that come and go, so these are all that is read. */
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
    monthly_limit: numeric,
    used_credits: numeric,
    currency: text,
    decimal_places: numeric,
  }).nullish(),
  spend: z.object({ used: money, limit: money, enabled: flag }).nullish(),
});

type Payload = z.output<typeof payload>;

const FIVE_HOURS = period(5, "hour");
const WEEK = period(1, "week");

function isOAuth({ connection, quota }: QuotaSource): boolean {
  return quota.key !== undefined || connection.auth.scheme === "bearer";
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

/** An idle account has no windows, which is no error; an answer without any known key is one. */
function windowsOf(body: Payload): QuotaWindow[] {
  if (Object.keys(body).length === 0) {
    throw new QuotaFailure(
      "broken",
      "The provider's quota answer holds none of the known windows",
    );
  }
  const listed = (body.limits ?? []).map(listedWindow);
  const listedKeys = new Set(listed.map(keyOf));
  const others = flatWindows(body).filter((one) => !listedKeys.has(keyOf(one)));
  return [...listed, ...others, ...extraUsage(body)];
}

function keyOf(one: QuotaWindow): string {
  return `${one.type} ${one.window}`;
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
    type: scopedType(LIMIT_TYPES.usage, scope),
    unit: "percent",
    period: length,
    amounts: percentAmounts(window.utilization),
    resetsAt: instantOfText(window.resets_at),
  });
}

/** Paid use beyond the plan, in one of two spellings, shown only where it is switched on. */
function extraUsage({ extra_usage: extra, spend }: Payload): QuotaWindow[] {
  if (extra?.is_enabled) {
    const places = extra.decimal_places;
    return [spendWindow(extra.currency, {
      limit: major(extra.monthly_limit, places),
      used: major(extra.used_credits, places),
    })];
  }
  if (!spend?.enabled) return [];
  return [spendWindow(spend.used?.currency, {
    limit: major(spend.limit?.amount_minor, spend.limit?.exponent),
    used: major(spend.used?.amount_minor, spend.used?.exponent),
  })];
}

function spendWindow(
  currency: string | null | undefined,
  known: { limit: number | null; used: number | null },
): QuotaWindow {
  return quotaWindow({
    type: scopedType(LIMIT_TYPES.spend, "extra_usage"),
    unit: /^[A-Z]{3}$/.test(currency ?? "") ? currency ?? "" : "currency",
    period: period(1, "month"),
    amounts: amounts(known),
    resetsAt: null,
  });
}

/** An amount of minor units, such as cents; unknown when the number of decimal places is. */
function major(
  minor: number | null | undefined,
  places: number | null | undefined,
): number | null {
  if (typeof minor !== "number" || typeof places !== "number") return null;
  return Number.isInteger(places) && places >= 0 && places <= 8
    ? tidy(minor / 10 ** places)
    : null;
}
