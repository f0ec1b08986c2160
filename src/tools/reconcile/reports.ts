import { z } from "zod";
import type { Prices } from "@gateway/gateway/config";
import type { ServiceName } from "@gateway/services";
import { PRICE_NAMES } from "@gateway/gateway/usage";
import type { Usage } from "@gateway/codecs";
import { requestGateway, type RequestTools } from "../gateway_client.ts";
import { plainText } from "@gateway/base/text";
import type { Days } from "../usage/add_logs.ts";

/** What a line of a bill is for: tokens of one kind, tokens of all kinds together, or the provider's own tools. */
export type BilledKind = keyof Prices | "all" | "tools";

/**
 * A line of a provider's bill. Some providers report the number of requests in separate lines without tokens and
 * dollars.
 */
export interface BillLine {
  /** The day in UTC, such as `2026-11-21`. */
  readonly day: string;
  /** The provider's name of the model; empty for the provider's tools. */
  readonly model: string;
  /** The condition of a special price, written as the `when` of a rate; empty for the usual price. */
  readonly when: string;
  readonly kind: BilledKind;
  readonly tokens: number;
  readonly usd: number;
  /** The number of requests; `undefined` when the line does not count requests. */
  readonly requests: number | undefined;
}

export const DAY_MS = 86_400_000;

/** A provider that reports what its keys cost. */
export interface Provider {
  readonly name: string;
  /** True when the provider's bill lists regions and speeds separately. */
  readonly isByRegion: boolean;
  /** True when the provider's bill has a sum for each kind of tokens. */
  readonly isSplit: boolean;
  /** A prompt with more tokens than this has a special price on the bill. */
  readonly longOver: number;
  /** The number of past days that the provider reports. */
  readonly lastDays: number;
  /** The paths of the provider's reports. Each path ends with the part of the query that is always the same. */
  readonly paths: readonly string[];
  /**
   * Returns the part of the query that selects these days; `end` is not included. Absent when the provider always
   * reports all days.
   */
  readonly range?: (start: Date, end: Date) => Readonly<Record<string, string>>;
  /** The parameter of the query that selects a key by its id. */
  readonly keyParameter: string;
  headers(adminKey: string): Readonly<Record<string, string>>;
}

const PARTS = "model service_tier inference_geo speed context_window"
  .replace(/(\w+) ?/g, "&group_by[]=$1");

/** `beta.organization.analytics.cost` and `.usage` of @anthropic-ai/sdk 1.12.0. */
const ANTHROPIC: Provider = {
  ...{ name: "Anthropic", isByRegion: true, isSplit: true, longOver: 200_000 },
  lastDays: 365,
  paths: ["cost?group_by[]=cost_type&group_by[]=token_type&", "usage?"]
    .map((path) =>
      `organizations/analytics/${path}time_bucket_width=1d&order_by=time&limit=1000${PARTS}`
    ),
  range: (start, end) => ({
    starting_at: start.toISOString(),
    ending_at: end.toISOString(),
  }),
  keyParameter: "api_key_ids[]",
  headers: (adminKey) => ({
    "x-api-key": adminKey,
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "analytics-usage-cost-2026-08-24",
  }),
};

/** `admin.organization.usage.costs` and `.completions` of openai 7.57.0. */
const OPENAI: Provider = {
  ...{ name: "OpenAI", isByRegion: false, isSplit: true, longOver: 272_000 },
  lastDays: Infinity,
  paths: [
    "organization/costs?bucket_width=1d&limit=31&group_by[]=line_item",
    "organization/usage/completions?bucket_width=1d&limit=31&group_by[]=model",
  ],
  range: (start, end) => ({
    start_time: String(start.getTime() / 1000),
    end_time: String(end.getTime() / 1000),
  }),
  keyParameter: "api_key_ids[]",
  headers: bearer,
};

/** openrouter.ai/docs/api/api-reference/analytics/get-user-activity */
const OPENROUTER: Provider = {
  ...{ name: "OpenRouter", isByRegion: false, isSplit: false },
  ...{ longOver: Infinity, lastDays: 30, paths: ["activity"] },
  keyParameter: "api_key_hash",
  headers: bearer,
};

function bearer(adminKey: string) {
  return { authorization: `Bearer ${adminKey}` };
}

/** The providers that report bills, by the services of the connections to them. */
export const PROVIDERS: Readonly<Partial<Record<ServiceName, Provider>>> = {
  anthropic: ANTHROPIC,
  openai: OPENAI,
  "openai-chat": OPENAI,
  openrouter: OPENROUTER,
};

const word = z.string().nullish();
const count = z.number().nullish().transform((value) => value ?? 0);

/**
 * Parses an amount: a number, or its decimal text. Returns NaN for any other value and for an amount too large for a
 * bill, so that the error can name the line with this amount.
 */
const money = z.unknown().transform((value) => {
  const isDecimal = typeof value === "number" ||
    typeof value === "string" && /^-?\d+(?:\.\d+)?$/.test(value);
  return isDecimal && Math.abs(Number(value)) < 1e12 ? Number(value) : NaN;
});

/** The kinds of tokens, by Anthropic's `token_type` and by the names in OpenAI's line items. */
const KINDS: Readonly<Record<string, BilledKind>> = {
  uncached_input_tokens: "input",
  cache_read_input_tokens: "cachedInput",
  "cache_creation.ephemeral_5m_input_tokens": "cacheWrite",
  "cache_creation.ephemeral_1h_input_tokens": "cacheWrite1h",
  output_tokens: "output",
  input: "input",
  input_tokens: "input",
  "cached input": "cachedInput",
  "cached input_tokens": "cachedInput",
  "cache writes": "cacheWrite",
  output: "output",
};

const anthropicLine = z.object({
  starting_at: z.string(),
  group: z.object({
    model: word,
    ...{ service_tier: word, inference_geo: word, speed: word },
    ...{ context_window: word, token_type: word },
  }),
  cost: z.object({ amount: money }).optional(),
  usage: z.object({
    uncached_input_tokens: count,
    cache_read_input_tokens: count,
    cache_creation: z.object({
      ephemeral_5m_input_tokens: count,
      ephemeral_1h_input_tokens: count,
    }),
    output_tokens: count,
    requests: count,
  }).optional(),
}).transform(({ starting_at, group, cost, usage }): BillLine[] => {
  const { model, service_tier, inference_geo, speed, context_window } = group;
  const line = {
    day: starting_at.slice(0, 10),
    model: model ?? "",
    when: conditions({
      ...{ service_tier, inference_geo, speed },
      input_over: context_window === "200k-1M" && ANTHROPIC.longOver,
    }),
    ...{ tokens: 0, usd: 0, requests: undefined },
  };
  if (cost !== undefined) {
    const kind = KINDS[group.token_type ?? ""] ?? "tools";
    return [{ ...line, kind, usd: cost.amount / 100 }];
  }
  if (usage === undefined) return [];
  const { cache_creation: written } = usage;
  const counts = {
    input: usage.uncached_input_tokens,
    cachedInput: usage.cache_read_input_tokens,
    cacheWrite: written.ephemeral_5m_input_tokens,
    cacheWrite1h: written.ephemeral_1h_input_tokens,
    output: usage.output_tokens,
  };
  return [
    { ...line, kind: "all", requests: usage.requests },
    ...PRICE_NAMES.map((kind) => ({ ...line, kind, tokens: counts[kind] })),
  ];
});

/** Matches a line item such as `priority | gpt-5.6-sol, cached input, long context`. */
const LINE_ITEM_REGEXP =
  /^(?:([a-z ]+) \| )?([^,|]+), ([^,]+)(, long context)?$/;

const openaiBucket = z.object({
  start_time: z.number(),
  results: z.array(z.object({
    amount: z.object({ value: money }).optional(),
    ...{ line_item: word, model: word, quantity_unit: word },
    quantity: count,
    num_model_requests: z.number().optional(),
  })),
}).transform(({ start_time, results }): BillLine[] =>
  results.map((result) => {
    const day = new Date(start_time * 1000).toISOString().slice(0, 10);
    const line = { day, when: "", tokens: 0, usd: 0, requests: undefined };
    if (result.amount === undefined) {
      const { model, num_model_requests: requests } = result;
      return { ...line, model: model ?? "", kind: "all", requests };
    }
    const [, tier, model = "", part = "", long] =
      LINE_ITEM_REGEXP.exec(result.line_item ?? "") ?? [];
    const usd = result.amount.value;
    const kind = KINDS[part];
    if (kind === undefined) return { ...line, model: "", kind: "tools", usd };
    const when = conditions({
      service_tier: tier,
      input_over: long !== undefined && OPENAI.longOver,
    });
    const unit = result.quantity_unit === "1000_tokens" ? 1000 : 1;
    return { ...line, model, when, kind, usd, tokens: result.quantity * unit };
  })
);

const openrouterLine = z.object({
  ...{ date: z.string(), model: z.string(), usage: money },
  ...{ requests: count, prompt_tokens: count, completion_tokens: count },
}).transform((line): BillLine[] => [{
  day: line.date.slice(0, 10),
  ...{ model: line.model, when: "", kind: "all", usd: line.usage },
  tokens: line.prompt_tokens + line.completion_tokens,
  requests: line.requests,
}]);

const pageSchema = z.object({
  data: z.array(z.union([anthropicLine, openaiBucket, openrouterLine])),
  has_more: z.boolean().optional(),
  next_page: word,
});

/** The providers' words for the usual price. */
const USUAL = ["standard", "default", "auto", "global", "not_available"];

/** Returns the condition of the price at which a provider bills a usage, written as the `when` of a rate. */
export function whenOf(
  { inputTokens, serviceTier, inferenceGeo, speed }: Usage,
  { longOver, isByRegion }: Provider,
): string {
  return conditions({
    service_tier: serviceTier,
    ...isByRegion && { inference_geo: inferenceGeo, speed },
    input_over: inputTokens > longOver && longOver,
  });
}

function conditions(
  words: Readonly<Record<string, string | number | false | null | undefined>>,
): string {
  return Object.entries(words).flatMap(([name, word]) =>
    !word || USUAL.includes(String(word))
      ? []
      // Reports divide a tier into several, such as priority_on_demand and flex_discount.
      : [`${name}: ${String(word).replace(/^(priority|flex)_.*/, "$1")}`]
  ).join(", ");
}

/**
 * Reads the pages of a report, one JSON object after the other.
 *
 * @throws {Error} With a reason for people, when the pages are no report of these providers.
 */
export function readReport(text: string): readonly BillLine[] {
  // Pages are split between `}` and `{`. Within a page, only a string can contain `}` directly before `{`.
  const pages = text.split(/(?<=\})\s*(?=\{)/).map(readPage);
  if (pages.at(-1)?.next) throw new Error("its last page is missing");
  return pages.flatMap(({ lines }) => lines);
}

function readPage(text: string) {
  let page: z.infer<typeof pageSchema>;
  try {
    page = pageSchema.parse(JSON.parse(text));
  } catch {
    throw new Error("it is no page of a provider's cost report");
  }
  const lines = page.data.flat();
  const unreadable = lines.filter(({ usd }) => Number.isNaN(usd))
    .map(({ day, model, kind }) => `${day} ${model || kind}`);
  if (unreadable.length > 0) {
    const named = plainText([...new Set(unreadable)].slice(0, 20).join(", "));
    throw new Error(`these amounts are not decimal numbers: ${named}`);
  }
  return {
    lines,
    next: page.has_more === true ? page.next_page : undefined,
  };
}

/**
 * The most pages of a report. With 1,000 lines a page, this is enough for 31 days of 50 models in every tier and
 * region.
 */
const MAX_PAGES = 500;

/** The most lines of a bill. So many lines take some 150 MB of memory. */
const MAX_LINES = 1_000_000;

/**
 * Fetches all pages of a provider's reports.
 *
 * @throws {Error} With a reason for people, when a page cannot be read, or there are too many pages.
 */
export async function fetchReport(
  { provider, base, days, key, adminKey }: {
    readonly provider: Provider;
    /** The base URL of the connection. */
    readonly base: string;
    readonly days: Days;
    /** The provider's id of the connection's key; `undefined` for all keys of the organization. */
    readonly key: string | undefined;
    readonly adminKey: string;
  },
  { tools, onPage }: {
    readonly tools: RequestTools;
    /** Called before each page is fetched, with the number of the page. */
    readonly onPage: (page: number) => void;
  },
): Promise<readonly BillLine[]> {
  const lines: BillLine[] = [];
  let pages = 0;
  const start = new Date(days.from);
  const end = new Date(Date.parse(days.to) + DAY_MS);
  for (const path of provider.paths) {
    const url = new URL(`${base}/${path}`);
    const query = { ...provider.range?.(start, end) };
    if (key !== undefined) query[provider.keyParameter] = key;
    let next: string | null | undefined;
    const seen = new Set<typeof next>();
    do {
      if (seen.size >= MAX_PAGES || lines.length > MAX_LINES) {
        throw new Error(`${url.pathname} has no end after ${seen.size} pages`);
      }
      onPage(++pages);
      for (const [name, value] of Object.entries(query)) {
        url.searchParams.set(name, value);
      }
      const headers = provider.headers(adminKey);
      const answer = await requestGateway({ url: url.href, headers }, tools);
      if (answer.status !== 200) {
        const hint = [401, 403].includes(answer.status)
          ? ". It needs an administrator's key"
          : "";
        throw new Error(`${url.pathname} answers ${answer.status}${hint}`);
      }
      const page = readPage(answer.text);
      for (const line of page.lines) lines.push(line);
      next = page.next;
      if (next && seen.has(next)) {
        throw new Error(`${url.pathname} names a page twice`);
      }
      seen.add(next);
      if (next) query.page = next;
    } while (next);
  }
  return lines;
}
