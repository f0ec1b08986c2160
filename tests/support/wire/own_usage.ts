import type { DayUsage } from "../../../src/gateway/usage/history.ts";
import type { UsageReport } from "../../../src/gateway/usage/report.ts";

type LimitUsage = UsageReport["limits"][number];

/** A token's limit of 5,000,000 tokens a day, a quarter used at noon of 2026-11-20; `parts` say otherwise. */
export function ownLimit(parts: Partial<LimitUsage> = {}): LimitUsage {
  return {
    scope: "token",
    group: null,
    unit: "tokens",
    window: "day",
    models: null,
    connections: null,
    limit: 5_000_000,
    used: 1_250_000,
    remaining: 3_750_000,
    used_percent: 25,
    starts_at: "2026-11-20T00:00:00.000Z",
    resets_at: "2026-11-21T00:00:00.000Z",
    ...parts,
  };
}

/** A group's limit of 50 dollars a month; `used` is in dollars. */
export function groupLimit(
  used: number,
  parts: Partial<LimitUsage> = {},
): LimitUsage {
  return ownLimit({
    scope: "group",
    group: "interns",
    unit: "USD",
    window: "month",
    limit: 50,
    used,
    remaining: Math.max(0, 50 - used),
    used_percent: used * 2,
    starts_at: "2026-11-01T00:00:00.000Z",
    resets_at: "2026-12-01T00:00:00.000Z",
    ...parts,
  });
}

const AMOUNTS = {
  requests: 3,
  input_tokens: 4210,
  cached_input_tokens: 3000,
  cache_write_tokens: 0,
  output_tokens: 512,
  reasoning_tokens: 128,
  cost_usd: 0.0123,
  unpriced_requests: 0,
  estimated_requests: 0,
};

/** The day with this index, of 35 days that end on 2026-11-20. Every seventh day has no request. */
function dayOf(index: number): DayUsage {
  const share = index % 7 === 0 ? 0 : (index * 5) % 9 + 1;
  return {
    date: new Date(Date.UTC(2026, 10, 20 - 34 + index)).toISOString()
      .slice(0, 10),
    requests: 12 * share,
    input_tokens: 100_000 * share,
    cached_input_tokens: 80_000 * share,
    cache_write_tokens: 5000 * share,
    output_tokens: 4000 * share,
    cost_usd: share === 0 ? null : share / 4,
    unpriced_requests: 0,
  };
}

/** The response to `GET /usage` with these limits. */
export function usageReport(...limits: readonly LimitUsage[]): UsageReport {
  return {
    object: "usage",
    token: "alice",
    since: "2026-11-01T06:00:00.000Z",
    windows: [
      {
        window: "hour",
        starts_at: "2026-11-20T12:00:00.000Z",
        resets_at: "2026-11-20T13:00:00.000Z",
        complete: true,
        total: AMOUNTS,
        cache_misses: [],
        data: [{ connection: "GLM team", model: "glm-5.1", ...AMOUNTS }],
      },
      {
        window: "month",
        starts_at: "2026-11-01T00:00:00.000Z",
        resets_at: "2026-12-01T00:00:00.000Z",
        complete: false,
        total: { ...AMOUNTS, requests: 1204, input_tokens: 18_600_000 },
        cache_misses: [
          { cause: "idle", part: null, requests: 2, cost_usd: 0.5 },
          { cause: "edited", part: "tools", requests: 1, cost_usd: null },
        ],
        data: [],
      },
    ],
    history: Array.from({ length: 35 }, (_, index) => dayOf(index)),
    groups: [],
    limits,
    connections: [],
  };
}
