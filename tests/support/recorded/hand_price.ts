import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";

// A price list, and the cost of answers by it, computed without the gateway's code.

/** In US dollars per million tokens. */
export const PRICE = {
  input: 5,
  cached_input: 0.5,
  cache_write: 6.25,
  cache_write_1h: 10,
  output: 25,
  rates: [
    { when: { speed: "fast" }, times: 6 },
    { when: { service_tier: "priority" }, input: 8.01, output: 40.007 },
    {
      when: { input_over: 20_000 },
      input: 10,
      cached_input: 1,
      cache_write: 12.5,
      cache_write_1h: 20,
      output: 37.5,
    },
    { when: { service_tier: "batch" }, times: 0.5 },
  ],
};

/** Returns the cost of an answer by this price list, in billionths of a dollar. */
export function costByHand(counts: Counts): bigint {
  const { fresh, read, written5m, written1h, output, speed, tier } = counts;
  const prompt = fresh + read + written5m + written1h;
  const cost = (
    input: number,
    cached: number,
    write: number,
    hour: number,
    out: number,
  ) =>
    BigInt(fresh) * BigInt(input) + BigInt(read) * BigInt(cached) +
    BigInt(written5m) * BigInt(write) + BigInt(written1h) * BigInt(hour) +
    BigInt(output) * BigInt(out);
  if (speed === "fast") return cost(30_000, 3_000, 37_500, 60_000, 150_000);
  if (tier === "priority") return cost(8_010, 500, 6_250, 10_000, 40_007);
  if (prompt > 20_000) return cost(10_000, 1_000, 12_500, 20_000, 37_500);
  if (tier === "batch") return cost(2_500, 250, 3_125, 5_000, 12_500);
  return cost(5_000, 500, 6_250, 10_000, 25_000);
}

/** The counts of one answer. No token is in two of them. */
export interface Counts {
  readonly fresh: number;
  readonly read: number;
  readonly written5m: number;
  readonly written1h: number;
  readonly output: number;
  readonly speed: unknown;
  readonly tier: unknown;
}

/** Returns the counts in the `usage` of Messages. */
export function countsOf(usage: JsonObject): Counts {
  const creation = isJsonObject(usage.cache_creation)
    ? usage.cache_creation
    : {};
  const written1h = Number(creation.ephemeral_1h_input_tokens ?? 0);
  return {
    fresh: Number(usage.input_tokens ?? 0),
    read: Number(usage.cache_read_input_tokens ?? 0),
    written5m: Number(usage.cache_creation_input_tokens ?? 0) - written1h,
    written1h,
    output: Number(usage.output_tokens ?? 0),
    speed: usage.speed,
    tier: usage.service_tier,
  };
}

/** Returns the sum of these counts, with the gateway's field names. */
export function sumByHand(counts: readonly Counts[]): JsonObject {
  const sum = (of: (counts: Counts) => number) =>
    counts.reduce((total, one) => total + of(one), 0);
  const nanos = counts.map(costByHand).reduce((a, b) => a + b, 0n);
  return {
    requests: counts.length,
    input_tokens: sum((one) =>
      one.fresh + one.read + one.written5m + one.written1h
    ),
    cached_input_tokens: sum(({ read }) => read),
    cache_write_tokens: sum((one) => one.written5m + one.written1h),
    output_tokens: sum(({ output }) => output),
    cost_usd: Number(nanos) / 1e9,
  };
}

/** Returns the fields of a total that {@linkcode sumByHand} computes. */
export function sumsIn(total: JsonObject): JsonObject {
  const { requests, input_tokens, cached_input_tokens } = total;
  const { cache_write_tokens, output_tokens, cost_usd } = total;
  return {
    requests: requests ?? null,
    input_tokens: input_tokens ?? null,
    cached_input_tokens: cached_input_tokens ?? null,
    cache_write_tokens: cache_write_tokens ?? null,
    output_tokens: output_tokens ?? null,
    cost_usd: cost_usd ?? null,
  };
}
