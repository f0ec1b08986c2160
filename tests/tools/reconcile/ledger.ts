import type { JsonObject } from "../../../src/base/json.ts";
import type { Prices } from "../../../src/gateway/config/usage_limits.ts";
import type { Anthropic, OpenAI } from "../../support/sdk/sdks.ts";

/** Token counts of one request, by kind of price. */
export type Tokens = Record<keyof Prices, number>;

/** One entry of a provider's own books. */
export interface Charge {
  readonly day: string;
  readonly model: string;
  readonly tier: string;
  readonly geo: string;
  readonly speed: string;
  readonly isLong: boolean;
  /** The provider's id of the key. */
  readonly key: string;
  readonly tokens: Tokens;
  /** Dollars per million tokens. */
  readonly prices: Prices;
  /** Dollars for the provider's own tools. */
  readonly toolsUsd: number;
}

/** The names of tokens in reports. */
const NAMES = {
  input: { anthropic: "uncached_input_tokens", openai: "input" },
  cachedInput: { anthropic: "cache_read_input_tokens", openai: "cached input" },
  cacheWrite: {
    anthropic: "cache_creation.ephemeral_5m_input_tokens",
    openai: "cache writes",
  },
  cacheWrite1h: {
    anthropic: "cache_creation.ephemeral_1h_input_tokens",
    openai: "cache writes",
  },
  output: { anthropic: "output_tokens", openai: "output" },
} as const;

const KINDS = [
  "input",
  "cachedInput",
  "cacheWrite",
  "cacheWrite1h",
  "output",
] as const;

/** Returns the dollars of a charge, without tools. */
export function usdOf({ tokens, prices }: Charge): number {
  return KINDS.reduce((sum, kind) => sum + tokens[kind] * prices[kind], 0) /
    1e6;
}

type AnthropicReports = Anthropic["beta"]["organization"]["analytics"];
type CostItem = Awaited<
  ReturnType<AnthropicReports["cost"]["list"]>
>["data"][number];
type UsageItem = Awaited<
  ReturnType<AnthropicReports["usage"]["list"]>
>["data"][number];
type OpenAIUsage = OpenAI["admin"]["organization"]["usage"];
type CostsPage = Awaited<ReturnType<OpenAIUsage["costs"]>>;

/** A line of a report. Its type allows only fields of the SDK's type. */
type Part<Item> = { [Name in keyof Item]?: unknown };

function sums<Value>(
  charges: readonly Charge[],
  keyOf: (charge: Charge) => readonly unknown[],
  lineOf: (charges: readonly [Charge, ...Charge[]]) => Value,
): Value[] {
  const groups = Map.groupBy(
    charges,
    (charge) => JSON.stringify(keyOf(charge)),
  );
  return [...groups.values()].map(([first, ...rest]) => {
    if (first === undefined) throw new Error("No group is empty");
    return lineOf([first, ...rest]);
  });
}

function total(charges: readonly Charge[], of: (charge: Charge) => number) {
  return charges.reduce((sum, charge) => sum + of(charge), 0);
}

function day(charge: Charge) {
  const endMs = Date.parse(charge.day) + 86_400_000;
  return {
    starting_at: `${charge.day}T00:00:00Z`,
    ending_at: `${new Date(endMs).toISOString().slice(0, 19)}Z`,
  };
}

const dimensions = (one: Charge) => [
  ...[one.day, one.model, one.tier, one.geo, one.speed, one.isLong],
];

function group(one: Charge) {
  return {
    model: one.model,
    service_tier: one.tier,
    inference_geo: one.geo,
    speed: one.speed,
    context_window: one.isLong ? "200k-1M" : "0-200k",
  } satisfies Part<CostItem["group"]>;
}

/** Returns the lines of Anthropic's cost report. */
export function anthropicCost(charges: readonly Charge[]): Part<CostItem>[] {
  const metrics = (usd: number) => ({
    amount: String(Number((usd * 100).toFixed(9))),
    list_amount: String(Number((usd * 100).toFixed(9))),
    currency: "USD",
    requests: null,
  } satisfies CostItem["cost"]);
  const tokens = sums(
    charges,
    dimensions,
    (list) =>
      KINDS.map((kind): Part<CostItem> => ({
        ...day(list[0]),
        group: {
          ...group(list[0]),
          cost_type: "tokens",
          token_type: NAMES[kind].anthropic,
        },
        cost: metrics(
          total(
            list,
            ({ tokens, prices }) => tokens[kind] * prices[kind] / 1e6,
          ),
        ),
      })),
  );
  const tools = sums(
    charges.filter(({ toolsUsd }) => toolsUsd > 0),
    (one) => [one.day],
    (list): Part<CostItem> => ({
      ...day(list[0]),
      group: {
        ...group(list[0]),
        model: null,
        cost_type: "web_search",
        token_type: null,
      },
      cost: metrics(total(list, ({ toolsUsd }) => toolsUsd)),
    }),
  );
  return [...tokens.flat(), ...tools];
}

/** Returns the lines of Anthropic's usage report. */
export function anthropicUsage(charges: readonly Charge[]): Part<UsageItem>[] {
  return sums(charges, dimensions, (list) => {
    const count = (kind: keyof Tokens) =>
      total(list, ({ tokens }) => tokens[kind]);
    return {
      ...day(list[0]),
      group: group(list[0]),
      usage: {
        uncached_input_tokens: count("input"),
        cache_read_input_tokens: count("cachedInput"),
        cache_creation: {
          ephemeral_5m_input_tokens: count("cacheWrite"),
          ephemeral_1h_input_tokens: count("cacheWrite1h"),
        },
        output_tokens: count("output"),
        requests: list.length,
        server_tool_use: { web_search_requests: 0 },
        total_tokens: KINDS.reduce((sum, kind) => sum + count(kind), 0),
      } satisfies Part<UsageItem["usage"]>,
    };
  });
}

type Bucket = CostsPage["data"][number];

function bucket(
  charges: readonly [Charge, ...Charge[]],
  results: readonly object[],
): Part<Bucket> {
  const start_time = Date.parse(charges[0].day) / 1000;
  return {
    object: "bucket",
    start_time,
    end_time: start_time + 86_400,
    results,
  };
}

/** Returns the buckets of OpenAI's costs, with the items of each day. */
export function openaiCosts(charges: readonly Charge[]): Part<Bucket>[] {
  return sums(charges, (one) => [one.day], (ofDay) =>
    bucket(ofDay, [
      ...sums(ofDay, dimensions, (list) =>
        KINDS.filter((kind) =>
          kind !== "cacheWrite1h"
        ).map((kind) => {
          const [{ tier, model, isLong }] = list;
          const quantity = total(list, ({ tokens }) => tokens[kind]);
          return {
            object: "organization.costs.result",
            amount: {
              value: total(
                list,
                ({ tokens, prices }) => tokens[kind] * prices[kind] / 1e6,
              ),
              currency: "usd",
            },
            line_item: `${tier === "default" ? "" : `${tier} | `}${model}, ${
              NAMES[kind].openai
            }${isLong ? ", long context" : ""}`,
            project_id: null,
            quantity,
            quantity_unit: "tokens",
          };
        })).flat(),
      ...ofDay.some(({ toolsUsd }) =>
          toolsUsd > 0
        )
        ? [{
          object: "organization.costs.result",
          amount: {
            value: total(ofDay, ({ toolsUsd }) => toolsUsd),
            currency: "usd",
          },
          line_item: "web search tool calls",
          quantity: null,
        }]
        : [],
    ]));
}

/** Returns the buckets of OpenAI's usage, the only report that counts requests. */
export function openaiUsage(charges: readonly Charge[]): Part<Bucket>[] {
  return sums(
    charges,
    (one) => [one.day],
    (ofDay) =>
      bucket(
        ofDay,
        sums(ofDay, (one) => [one.model], (list) => ({
          object: "organization.usage.completions.result",
          input_tokens: 0,
          output_tokens: 0,
          num_model_requests: list.length,
          model: list[0].model,
        })),
      ),
  );
}

/** Returns the lines of OpenRouter's activity. */
export function openrouterActivity(charges: readonly Charge[]): JsonObject[] {
  return sums(charges, (one) => [one.day, one.model], (list) => ({
    date: list[0].day,
    model: list[0].model,
    model_permaslug: list[0].model,
    endpoint_id: "550e8400-e29b-41d4-a716-446655440000",
    provider_name: "Someone",
    usage: total(list, usdOf),
    byok_usage_inference: 0,
    requests: list.length,
    prompt_tokens: total(
      list,
      ({ tokens }) => tokens.input + tokens.cachedInput,
    ),
    completion_tokens: total(list, ({ tokens }) => tokens.output),
    reasoning_tokens: 0,
  }));
}

const PAGE_LENGTH = 20;

/** Answers the requests of `reconcile` from the books of the three providers. */
export function reportsOf(
  books: Readonly<Record<string, readonly Charge[]>>,
  adminKey: string,
): typeof fetch {
  const paths: Readonly<
    Record<string, (charges: readonly Charge[]) => readonly object[]>
  > = {
    "/v1/organizations/analytics/cost": anthropicCost,
    "/v1/organizations/analytics/usage": anthropicUsage,
    "/v1/organization/costs": openaiCosts,
    "/v1/organization/usage/completions": openaiUsage,
    "/api/v1/activity": openrouterActivity,
  };
  return (input, init) => {
    const url = new URL(String(input));
    const headers = new Headers(init?.headers);
    const key = headers.get("x-api-key") ??
      headers.get("authorization")?.replace("Bearer ", "");
    const write = paths[url.pathname];
    if (key !== adminKey || write === undefined) {
      return Promise.resolve(
        Response.json({ error: "no" }, { status: write ? 401 : 404 }),
      );
    }
    const wanted = url.searchParams.get("api_key_ids[]") ??
      url.searchParams.get("api_key_hash");
    const charges = (books[url.hostname] ?? []).filter(({ key }) =>
      wanted === null || key === wanted
    );
    const all = write(charges);
    const start = Number(url.searchParams.get("page") ?? 0);
    const hasMore = start + PAGE_LENGTH < all.length;
    return Promise.resolve(Response.json({
      object: "page",
      data: all.slice(start, start + PAGE_LENGTH),
      has_more: hasMore,
      next_page: hasMore ? String(start + PAGE_LENGTH) : null,
    }));
  };
}
