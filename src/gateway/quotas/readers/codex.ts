import { z } from "zod";
import type { HeaderFields } from "@gateway/base/header_fields";
import { isJsonObject, parseJson } from "@gateway/base/json";
import { complement } from "../amounts.ts";
import {
  instantAfter,
  instantOfSeconds,
  periodOfSeconds,
  TOTAL,
  UNKNOWN_PERIOD,
} from "../period.ts";
import { QUOTA_TYPES, quotaWindow, quotaWindows } from "../window.ts";
import type { QuotaWindow } from "@gateway/page/answers";
import {
  baseUrl,
  bearerHeaders,
  checkPayload,
  credential,
  flag,
  numeric,
  requireWindows,
  text,
} from "./payload.ts";
import { headerNumber } from "./rate_limit_headers.ts";
import type {
  HeaderQuota,
  QuotaReader,
  QuotaRequest,
  QuotaSource,
} from "./reader.ts";

/** The quota in the response headers of the Codex back end, with the same types of windows as the usage endpoint. */
export const codexHeaders: HeaderQuota = {
  probes: [
    "x-codex-primary-used-percent",
    "x-codex-secondary-used-percent",
    "x-codex-credits-balance",
  ],
  parse: (headers, seenAtMs) => [
    ...headerUsageWindows(headers, seenAtMs),
    ...headerCreditWindows(headers),
  ],
};

/** Matches a header of the main meter, or of a meter with a name, as in `x-codex-bengalfox-primary-used-percent`. */
const USED_REGEXP =
  /^(x-codex(?:-([\w-]+))?-(?:primary|secondary))-used-percent$/;

function headerUsageWindows(
  headers: HeaderFields,
  seenAtMs: number,
): QuotaWindow[] {
  const parts = [...headers.keys()].flatMap((name) => {
    const [, slot, meter] = USED_REGEXP.exec(name) ?? [];
    const usedPercent = headerNumber(headers, name);
    if (slot === undefined || usedPercent === null) return [];
    return [{
      type: QUOTA_TYPES.usage,
      scope: meterName(headers, meter),
      unit: "percent",
      period: periodOfSeconds(
        (headerNumber(headers, `${slot}-window-minutes`) ?? 0) * 60,
      ),
      usedPercent,
      resetsAt: headerResetOf(headers, slot, seenAtMs),
    }];
  });
  // `rate_limit_reached` means a limit of the main meter. Other values, such as a workspace without credits, concern no
  // window.
  const isStopped = headers.get("x-codex-rate-limit-reached-type") ===
    "rate_limit_reached";
  return [
    ...quotaWindows(parts.filter(({ scope }) => scope === ""), isStopped),
    ...quotaWindows(parts.filter(({ scope }) => scope !== "")),
  ];
}

function meterName(headers: HeaderFields, meter: string | undefined): string {
  if (meter === undefined) return "";
  return headers.get(`x-codex-${meter}-limit-name`) ?? meter;
}

function headerResetOf(
  headers: HeaderFields,
  slot: string,
  seenAtMs: number,
): string | null {
  const seconds = headerNumber(headers, `${slot}-reset-after-seconds`);
  return instantOfSeconds(headerNumber(headers, `${slot}-reset-at`)) ??
    instantAfter(seenAtMs, seconds === null ? null : seconds * 1000);
}

function headerCreditWindows(headers: HeaderFields): QuotaWindow[] {
  const balance = headerNumber(headers, "x-codex-credits-balance");
  const isUnlimited =
    headers.get("x-codex-credits-unlimited")?.toLowerCase() === "true";
  if (balance === null || isUnlimited) return [];
  return [quotaWindow({
    type: QUOTA_TYPES.balance,
    unit: "credits",
    period: TOTAL,
    remaining: balance,
  })];
}

/** ChatGPT plans, through the Codex back end. */
export const codex: QuotaReader = {
  poll: {
    requests: (source) => [request(source)],
    parse: ([body], { nowMs }) =>
      requireWindows(windowsOf(checkPayload(payload, body), nowMs)),
  },
  headers: codexHeaders,
};

const window = z.object({
  used_percent: numeric,
  limit_window_seconds: numeric,
  reset_after_seconds: numeric,
  reset_at: numeric,
}).nullish();

const rateLimit = z.object({
  allowed: flag,
  limit_reached: flag,
  primary_window: window,
  secondary_window: window,
}).nullish();

const payload = z.object({
  rate_limit: rateLimit,
  code_review_rate_limit: rateLimit,
  additional_rate_limits: z.array(z.object({
    limit_name: text,
    metered_feature: text,
    rate_limit: rateLimit,
  })).nullish(),
  credits: z.object({ unlimited: flag, balance: numeric }).nullish(),
  spend_control: z.object({
    reached: flag,
    individual_limit: z.object({
      limit: numeric,
      used: numeric,
      remaining: numeric,
      used_percent: numeric,
      remaining_percent: numeric,
      reset_after_seconds: numeric,
      reset_at: numeric,
    }).nullish(),
  }).nullish(),
});

type Payload = z.output<typeof payload>;

function request(source: QuotaSource): QuotaRequest {
  const account = accountOf(source);
  return {
    url: source.quota.url ?? usageUrl(baseUrl(source)),
    headers: {
      ...bearerHeaders(source),
      "user-agent": "codex-cli",
      ...(account === undefined ? {} : { "chatgpt-account-id": account }),
    },
  };
}

/**
 * Returns the usage address as the official client chooses it: below `/backend-api` if the base URL contains this path.
 */
function usageUrl(base: string): string {
  const [root = base, rest] = base.split("/backend-api");
  return rest === undefined
    ? `${base}/api/codex/usage`
    : `${root}/backend-api/wham/usage`;
}

const ACCOUNT_CLAIM = "https://api.openai.com/auth";

/** Returns the account in the claims of the token. A configured header overrides this account. */
function accountOf(source: QuotaSource): string | undefined {
  const claims = claimsOf(credential(source));
  const auth = isJsonObject(claims) ? claims[ACCOUNT_CLAIM] : undefined;
  const account = isJsonObject(auth) ? auth["chatgpt_account_id"] : undefined;
  return typeof account === "string" && /^[\w-]+$/.test(account)
    ? account
    : undefined;
}

/** Returns the claims of a JSON Web Token, or undefined for any other text. */
function claimsOf(token: string): unknown {
  const [, claims = ""] = token.split(".");
  try {
    return parseJson(atob(claims.replaceAll("-", "+").replaceAll("_", "/")));
  } catch {
    return undefined;
  }
}

function windowsOf(body: Payload, nowMs: number): QuotaWindow[] {
  return [
    ...usageWindows("", body.rate_limit, nowMs),
    ...usageWindows("code_review", body.code_review_rate_limit, nowMs),
    ...(body.additional_rate_limits ?? []).flatMap((meter) =>
      usageWindows(
        meter.limit_name ?? meter.metered_feature ?? "additional",
        meter.rate_limit,
        nowMs,
      )
    ),
    ...spendWindows(body, nowMs),
    ...creditWindows(body),
  ];
}

/**
 * Returns the windows of both slots. The length of a window does not follow from its slot: the primary slot of free
 * plans holds the window of a week.
 */
function usageWindows(
  scope: string,
  limits: z.output<typeof rateLimit>,
  nowMs: number,
): QuotaWindow[] {
  const slots = [limits?.primary_window, limits?.secondary_window];
  const parts = slots.filter((slot) => slot !== null && slot !== undefined)
    .map((slot) => ({
      type: QUOTA_TYPES.usage,
      scope,
      unit: "percent",
      period: periodOfSeconds(slot.limit_window_seconds),
      usedPercent: slot.used_percent,
      resetsAt: resetOf(slot, nowMs),
    }));
  return quotaWindows(
    parts,
    limits?.limit_reached === true || limits?.allowed === false,
  );
}

/** Returns the window of a workspace's cap on one member's spending. The cap may be the only limit. */
function spendWindows(body: Payload, nowMs: number): QuotaWindow[] {
  const cap = body.spend_control?.individual_limit;
  if (!cap) return [];
  const hasCounts = typeof (cap.limit ?? cap.used ?? cap.remaining) ===
    "number";
  return [quotaWindow({
    type: QUOTA_TYPES.spend,
    unit: hasCounts ? "credits" : "percent",
    period: UNKNOWN_PERIOD,
    limit: cap.limit,
    used: cap.used,
    remaining: cap.remaining,
    usedPercent: cap.used_percent,
    otherPercent: complement(cap.remaining_percent, 100),
    isStopped: body.spend_control?.reached === true,
    resetsAt: resetOf(cap, nowMs),
  })];
}

function resetOf(
  { reset_at, reset_after_seconds: seconds }: Pick<
    NonNullable<z.output<typeof window>>,
    "reset_at" | "reset_after_seconds"
  >,
  nowMs: number,
): string | null {
  return instantOfSeconds(reset_at) ??
    instantAfter(nowMs, typeof seconds === "number" ? seconds * 1000 : null);
}

function creditWindows({ credits }: Payload): QuotaWindow[] {
  if (!credits || credits.unlimited) return [];
  if (typeof credits.balance !== "number") return [];
  return [quotaWindow({
    type: QUOTA_TYPES.balance,
    unit: "credits",
    period: TOTAL,
    remaining: credits.balance,
  })];
}
