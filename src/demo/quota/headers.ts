import type { SimulatedFamily } from "../providers.ts";
import { type Reading, usedFraction } from "../meter.ts";
import type { AccountReading } from "./quota.ts";

/**
 * What the account of `family` tells in the headers of an answer: A as an OpenAI platform key (counts a
 * minute), B as an Anthropic OAuth token (fractions), C as the Codex back end (percent).
 */
export function quotaHeaders(
  account: AccountReading,
  options: { readonly family: SimulatedFamily; readonly nowMs: number },
): Record<string, string> {
  switch (options.family) {
    case "A":
      return openaiHeaders(account, options.nowMs);
    case "B":
      return anthropicHeaders(account, options.nowMs);
    case "C":
      return codexHeaders(account, options.nowMs);
  }
}

function openaiHeaders(
  { requests, tokens }: AccountReading,
  nowMs: number,
): Record<string, string> {
  return {
    "x-ratelimit-limit-requests": `${requests.limit}`,
    "x-ratelimit-remaining-requests": `${remaining(requests)}`,
    "x-ratelimit-reset-requests": duration(requests, nowMs),
    "x-ratelimit-limit-tokens": `${tokens.limit}`,
    "x-ratelimit-remaining-tokens": `${remaining(tokens)}`,
    "x-ratelimit-reset-tokens": duration(tokens, nowMs),
  };
}

function anthropicHeaders(
  { fiveHour, weekly }: AccountReading,
  nowMs: number,
): Record<string, string> {
  const prefix = "anthropic-ratelimit-unified";
  return {
    [`${prefix}-status`]: "allowed",
    [`${prefix}-reset`]: epochSeconds(fiveHour, nowMs),
    [`${prefix}-representative-claim`]: "five_hour",
    [`${prefix}-5h-status`]: "allowed",
    [`${prefix}-5h-utilization`]: usedFraction(fiveHour).toFixed(4),
    [`${prefix}-5h-reset`]: epochSeconds(fiveHour, nowMs),
    [`${prefix}-7d-status`]: "allowed",
    [`${prefix}-7d-utilization`]: usedFraction(weekly).toFixed(4),
    [`${prefix}-7d-reset`]: epochSeconds(weekly, nowMs),
  };
}

function codexHeaders(
  { fiveHour, weekly }: AccountReading,
  nowMs: number,
): Record<string, string> {
  return {
    "x-codex-plan-type": "team",
    ...codexWindowHeaders("primary", fiveHour, nowMs),
    "x-codex-primary-window-minutes": "300",
    ...codexWindowHeaders("secondary", weekly, nowMs),
    "x-codex-secondary-window-minutes": "10080",
  };
}

function codexWindowHeaders(
  slot: "primary" | "secondary",
  reading: Reading,
  nowMs: number,
): Record<string, string> {
  const prefix = `x-codex-${slot}`;
  const percent = Math.floor(usedFraction(reading) * 100);
  return {
    [`${prefix}-used-percent`]: `${percent}`,
    [`${prefix}-reset-at`]: epochSeconds(reading, nowMs),
    [`${prefix}-reset-after-seconds`]: `${secondsLeft(reading, nowMs)}`,
  };
}

function remaining({ used, limit }: Reading): number {
  return Math.max(0, Math.floor(limit - used));
}

function epochSeconds({ resetsAtMs }: Reading, nowMs: number): string {
  return `${Math.ceil((resetsAtMs ?? nowMs) / 1000)}`;
}

function secondsLeft({ resetsAtMs }: Reading, nowMs: number): number {
  return Math.ceil(((resetsAtMs ?? nowMs) - nowMs) / 1000);
}

function duration(reading: Reading, nowMs: number): string {
  return `${secondsLeft(reading, nowMs)}s`;
}
