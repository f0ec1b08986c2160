import { memoized } from "@gateway/base/memo";
import type { DayHours, Price, Prices, Rate } from "../config/usage_limits.ts";
import { MAX_TOKENS } from "../observe/logged_request.ts";
import type { Usage } from "@gateway/codecs";

/** The counted measures, by their names in `GET /usage` and in the tables of sums. */
export const MEASURES = [
  "requests",
  "input",
  "cached_input",
  "cache_write",
  "output",
  "reasoning",
  "cost",
  "estimated",
  "unpriced",
] as const;

/** One of {@linkcode MEASURES}. */
export type Measure = typeof MEASURES[number];

/**
 * The usage of requests, in whole numbers; an absent measure was never counted. `input` includes `cached_input` and
 * `cache_write`; `output` includes `reasoning`. `cost` is in nano-dollars and absent without a price. `estimated` is
 * the number of requests with estimated tokens, `unpriced` is the number of requests whose tokens have no price.
 */
export type Counts = Readonly<Partial<Record<Measure, number>>>;

/** The counts of a request that reached a provider but got no answer. */
export const UNSERVED: Counts = { requests: 1 };

/** Returns the counts of a request whose answer was served, at least in part. */
export function countsOf(
  usage: Usage,
  { price, startedMs, isEstimated }: {
    readonly price: Price | undefined;
    /** The start of the request, in milliseconds since 1970. */
    readonly startedMs: number;
    readonly isEstimated: boolean;
  },
): Counts {
  const { input, cached, written, output } = partsOf(usage);
  const counts: Partial<Record<Measure, number>> = {
    requests: 1,
    input,
    cached_input: cached,
    cache_write: written,
    output,
    reasoning: Math.min(whole(usage.reasoningTokens), output),
  };
  if (price !== undefined) counts.cost = costNanos(usage, price, startedMs);
  else if (input + output > 0) counts.unpriced = 1;
  if (isEstimated) counts.estimated = 1;
  return counts;
}

/** Returns the parts of a usage. No part exceeds the whole, even if the provider reports a larger part. */
function partsOf(usage: Usage) {
  const input = whole(usage.inputTokens);
  const cached = Math.min(whole(usage.cachedInputTokens), input);
  const written = Math.min(whole(usage.cacheWriteTokens), input - cached);
  const written1h = Math.min(whole(usage.cacheWrite1hTokens), written);
  const output = whole(usage.outputTokens);
  return { input, cached, written, written1h, output };
}

function whole(tokens = 0): number {
  return Math.round(Math.min(tokens, MAX_TOKENS));
}

/** The nano-dollars per token at one dollar per million tokens. */
const NANOS_PER_TOKEN = 1000;

/**
 * Returns the cost of an answer, in nano-dollars. Tokens that were read from a cache, written to a cache for minutes,
 * or written to a cache for an hour have three separate prices. Other input has the input price. The first rate of
 * `price` that applies to the answer replaces all these prices.
 *
 * @param startedMs The start of the request, in milliseconds since 1970.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 *
 * const prices = { input: 3, cachedInput: 0.3, cacheWrite: 3.75, cacheWrite1h: 6, output: 15 };
 * const usage = { inputTokens: 1000, cachedInputTokens: 900, outputTokens: 10 };
 * const price = { ...prices, rates: [] };
 * assert.equal(costNanos(usage, price, 0), 100 * 3000 + 900 * 300 + 10 * 15_000);
 * ```
 */
export function costNanos(
  usage: Usage,
  price: Price,
  startedMs: number,
): number {
  const tokens = tokensByPrice(usage);
  const prices = pricesFor(usage, price, startedMs);
  const perMillion = PRICE_NAMES
    .reduce((sum, name) => sum + tokens[name] * prices[name], 0);
  return Math.round(perMillion * NANOS_PER_TOKEN);
}

/** The names of the prices of a model. */
export const PRICE_NAMES = [
  "input",
  "cachedInput",
  "cacheWrite",
  "cacheWrite1h",
  "output",
] as const satisfies readonly (keyof Prices)[];

/** Returns the number of tokens for each price. Each token has one price. */
export function tokensByPrice(usage: Usage): Record<keyof Prices, number> {
  const { input, cached, written, written1h, output } = partsOf(usage);
  return {
    input: input - cached - written,
    cachedInput: cached,
    cacheWrite: written - written1h,
    cacheWrite1h: written1h,
    output,
  };
}

/**
 * Returns the prices of the first rate that applies to an answer, else the usual prices, in US dollars per million
 * tokens.
 */
export function pricesFor(
  usage: Usage,
  price: Price,
  startedMs: number,
): Prices {
  return price.rates.find((one) => holds(one, usage, startedMs))?.prices ??
    price;
}

function holds({ when }: Rate, usage: Usage, startedMs: number): boolean {
  const { inputOver, speed, serviceTier, inferenceGeo, refusal, hours } = when;
  return (inputOver === undefined || usage.inputTokens > inputOver) &&
    (speed === undefined || usage.speed === speed) &&
    (serviceTier === undefined || usage.serviceTier === serviceTier) &&
    (inferenceGeo === undefined || usage.inferenceGeo === inferenceGeo) &&
    (refusal === undefined || usage.refusal === refusal) &&
    (hours === undefined || isIn(hours, startedMs));
}

function isIn({ from, to, timeZone }: DayHours, atMs: number): boolean {
  const [hour = 0, minute = 0] = clockOf(timeZone).format(atMs).split(":")
    .map(Number);
  const now = hour * 60 + minute;
  return from < to ? from <= now && now < to : from <= now || now < to;
}

/** Returns the clock of a time zone. Clocks are memoized, because making a clock takes much longer than using it. */
const clockOf = memoized((timeZone) =>
  new Intl.DateTimeFormat("en-GB", {
    timeZone,
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  }), 100);

/** Returns the number of all input and output tokens. */
export function tokensOf({ input = 0, output = 0 }: Counts): number {
  return input + output;
}
