import { z } from "zod";
import type { JsonValue } from "../../core/json.ts";
import { ENDPOINT_NAMES, FAMILIES, FAMILY_NAMES } from "../../core/protocol.ts";
import { mapValues } from "../../core/std.ts";
import { INPUT_KINDS, QUOTA_KINDS } from "../quota_kinds.ts";
import { SERVICE_NAMES } from "../services.ts";
import {
  alsoWritten,
  concurrency,
  decimal,
  flag,
  name,
  text,
  tokens,
} from "./fields.ts";
import { connectionTimeoutsSchema } from "./server.ts";

const POINTER_REGEXP = /^(\/([^~/]|~[01])*)*$/;

const PERIOD_REGEXP = /^(\d{1,6}(s|m|h|d|w|mo|y)|total)$/;

/** A JSON pointer (RFC 6901). */
const pointer = z.string().regex(POINTER_REGEXP, {
  error: "must be a JSON pointer, such as /data/0/used",
});

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);

const condition = z.strictObject({
  at: pointer.describe("A JSON pointer into the answer."),
  in: z.array(scalar).min(1).describe("The values that say so."),
});

const windowSchema = z.strictObject({
  type: name().describe("What is limited, such as USAGE_LIMIT."),
  period: z.string().regex(PERIOD_REGEXP, {
    error: "must be total or a length such as 5h, 7d or 1mo",
  }).optional().describe(
    "Its length: a number and s, m, h, d, w, mo or y; or total. Default: unknown.",
  ),
  unit: name().describe("What is counted, such as tokens, percent or USD."),
  at: pointer.default("").describe(
    "What the other pointers start from. Default: the whole answer.",
  ),
  where: z.record(z.string(), scalar).optional().describe(
    "Which object, where `at` points at an array: the one whose fields have these values.",
  ),
  limit: pointer.optional().describe("Where its size stands."),
  used: pointer.optional().describe("Where what is used stands."),
  remaining: pointer.optional().describe("Where what is left stands."),
  scale: z.number().positive().default(1)
    .describe("Multiplies limit, used and remaining."),
  share: z.strictObject({
    at: pointer.describe("Where it stands."),
    of: z.enum([
      "used_percent",
      "remaining_percent",
      "used_fraction",
      "remaining_fraction",
    ]).describe("Of what it is a share, and how it is written."),
  }).optional().describe("A share in place of amounts."),
  resets_at: z.strictObject({
    at: pointer.describe("Where it stands."),
    format: z.enum([
      "iso",
      "epoch_seconds",
      "epoch_ms",
      "seconds_left",
      "ms_left",
    ]).describe("How it is written."),
  }).optional().describe("When it is whole again. Default: unknown."),
});

/** `quota` of a connection: how its quota is read. */
const quotaSchema = z.strictObject({
  kind: z.enum(QUOTA_KINDS).optional().describe(
    "Whose interface tells it; none turns the reading off. Default: the service's own.",
  ),
  plan: z.enum(["personal", "team"]).default("personal")
    .describe("Of the kinds zai and bigmodel."),
  organization: text().optional().describe("Of a team plan."),
  project: text().optional().describe("Of a team plan."),
  url: text().optional()
    .describe("Where it is read. Default: the kind's own address."),
  key: text().optional().describe(
    "The credential that reads it. Default: the connection's own.",
  ),
  key_file: text().optional().describe(
    "Path of a file that holds that credential alone, relative to this file.",
  ),
  headers: z.record(z.string(), z.string()).optional()
    .describe("Of the kind json: headers of the request that reads it."),
  success: condition.optional()
    .describe("Of the kind json: what a good answer says."),
  unauthorized: condition.optional()
    .describe("Of the kind json: what the answer to a bad key says."),
  windows: z.array(windowSchema).min(1).optional()
    .describe("Of the kind json: what the answer tells."),
});

/** A quota as the file says it. */
export type QuotaFields = z.output<typeof quotaSchema>;

/** A window of the kind `json` as the file says it. */
export type JsonWindowFields = z.output<typeof windowSchema>;

/** One more name of a model; a bare text is that name. */
const aliasSchema = z.preprocess(
  (value) => typeof value === "string" ? { id: value } : value,
  z.strictObject({
    id: name().describe("One more name that callers may ask for it by."),
    listed: flag().optional().describe(
      "Whether GET /models lists that name. Default: as the model itself.",
    ),
  }),
).meta(alsoWritten({ type: "string", minLength: 1 }));

/** An effort that a model can be asked to reason with; providers have words of their own. */
const effortSchema = z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/, {
  error: "must be a word such as low, high or max",
});

/** No model costs more, in US dollars per million tokens. */
const MAX_PRICE = 1_000_000;

const price = () => decimal({ min: 0, max: MAX_PRICE });

/** Other prices for some answers. */
const rateSchema = z.strictObject({
  when: z.strictObject({
    input_over: tokens().optional().describe(
      "The whole prompt has more tokens than this, cached and written ones included.",
    ),
    speed: name().optional().describe("The speed that the answer names."),
    service_tier: name().optional()
      .describe("The service tier that the answer names."),
  }).refine((when) => Object.keys(when).length > 0, {
    error: "must name input_over, speed or service_tier",
  }).describe("What must hold of the answer, all of it."),
  times: decimal({ min: 0, max: 1000 }).optional()
    .describe("Multiplies every price of the model."),
  input: price().optional().describe("Takes the place of input."),
  cached_input: price().optional()
    .describe("Takes the place of cached_input."),
  cache_write: price().optional().describe("Takes the place of cache_write."),
  cache_write_1h: price().optional()
    .describe("Takes the place of cache_write_1h."),
  output: price().optional().describe("Takes the place of output."),
}).refine((rate) => Object.keys(rate).length > 1, {
  error: "must name a price, or times",
}).refine(
  (rate) => rate.times === undefined || Object.keys(rate).length === 2,
  {
    error: "must name either times or prices",
  },
);

const priceSchema = z.strictObject({
  input: price().describe("Of input that is read from no cache."),
  cached_input: price().optional()
    .describe("Of input that is read from a cache. Default: as input."),
  cache_write: price().optional().describe(
    "Of input that is written to a cache for five minutes. Default: as input.",
  ),
  cache_write_1h: price().optional().describe(
    "Of input that is written to a cache for an hour. Default: as cache_write.",
  ),
  output: price().describe("Of output, reasoning included."),
  rates: z.array(rateSchema).default([]).describe(
    "Other prices for some answers; the first whose `when` holds counts.",
  ),
});

/** A model of a connection; a bare text is its id. */
const modelSchema = z.preprocess(
  (value) => typeof value === "string" ? { id: value } : value,
  z.strictObject({
    id: name().describe("What callers ask for."),
    upstream: name().optional()
      .describe("What the provider calls it. Default: the id."),
    aliases: z.array(aliasSchema).default([])
      .describe("Further names that lead to it."),
    listed: flag().default(true)
      .describe("false: GET /models leaves it out; it serves all the same."),
    display_name: name().optional().describe(
      "What people read in place of its id. Default: as the provider says.",
    ),
    context_window: tokens().optional().describe(
      "How many tokens it takes in, for clients. Default: as the provider says.",
    ),
    max_output_tokens: tokens().optional().describe(
      "The most output tokens that translated requests ask for, and what clients are told. Default: clients are told what the provider says.",
    ),
    input: z.array(z.enum(INPUT_KINDS)).min(1).optional().describe(
      "What it takes, for clients. Default: as the provider says.",
    ),
    reasoning: z.array(effortSchema).optional().describe(
      "The efforts that it can be asked to reason with, for clients; an empty list is none. Default: as the provider says.",
    ),
    fallbacks: z.array(name()).default([]).describe(
      "Model ids to try when no connection serves this one, in this order.",
    ),
    quota_routing: flag().default(false)
      .describe("Try the connection with the most quota left first."),
    price: priceSchema.optional().describe(
      "What it costs, in US dollars per million tokens. Default: unknown, and no cost is counted.",
    ),
  }),
).meta(alsoWritten({ type: "string", minLength: 1 }));

/** What a body field may be set to; YAML knows numbers that JSON has no word for. */
const jsonValueSchema = z.custom<JsonValue>(isJsonValue, {
  error: "must be a value that JSON can hold",
});

/** `A speaks Chat Completions, B Messages` … */
function familiesText(): string {
  return FAMILY_NAMES.map((name, index) => {
    const spoken = ENDPOINT_NAMES[FAMILIES[name].protocol];
    return index === 0 ? `${name} speaks ${spoken}` : `${name} ${spoken}`;
  }).join(", ");
}

/** What to write in place of a service that only has a kind of quota. */
function quotaKindAsService(
  { input }: { readonly input?: unknown },
): string | undefined {
  const kind = QUOTA_KINDS.find((one) => one === input);
  return kind === undefined
    ? undefined
    : `is a kind of quota and no service: write \`service: custom\` with \`quota: { kind: ${kind} }\``;
}

/** One of `connections`. */
export const connectionSchema = z.strictObject({
  name: name().describe("What people call it; unique."),
  id: z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, {
    error: "must be a UUID, such as 0b1d3c52-6a0e-4a3e-8f0e-2f9c3b0d1a11",
  }).optional().describe("A UUID of its own. Default: made of the name."),
  service: z.enum(SERVICE_NAMES, { error: quotaKindAsService }).describe(
    "Whose service it is, which brings endpoints and much else; custom brings nothing.",
  ),
  family: z.enum(FAMILY_NAMES).optional().describe(
    `${familiesText()}. Default: the service's own.`,
  ),
  enabled: flag().default(true)
    .describe("false: it stays in the file, and serves nothing."),
  endpoints: z.strictObject(
    mapValues(
      ENDPOINT_NAMES,
      (name) => text().optional().describe(`Where it speaks ${name}.`),
    ),
  ).optional().describe(
    "Base URLs, to which the paths of each protocol are appended. Default: the service's own; naming one replaces them all.",
  ),
  auth: z.strictObject({
    scheme: z.enum(["bearer", "x-api-key", "none"]).optional()
      .describe(
        "How the key is presented. Default: the service's own, else bearer.",
      ),
    key: text().optional()
      .describe("The provider's key; best the name of a variable: ${NAME}."),
    key_file: text().optional().describe(
      "Path of a file that holds the key alone, relative to this file.",
    ),
  }).optional().describe("The provider's credential."),
  headers: z.record(z.string(), z.string()).default({})
    .describe("Headers that every request to the provider carries."),
  stream_only: flag().optional().describe(
    "true: the provider only streams, and who asks for JSON gets the stream folded. Default: the service's own.",
  ),
  force: z.record(z.string(), jsonValueSchema).default({})
    .describe("Fields set in translated requests."),
  omit: z.array(text()).default([])
    .describe("Fields removed from translated requests."),
  strict: flag().default(false)
    .describe("true: 400 for what a translation would drop."),
  quota: quotaSchema.optional().describe("How its quota is read."),
  max_concurrent: concurrency().optional().describe(
    "How many requests it gets at once; above: another connection, else 503. Default: no limit.",
  ),
  timeouts: connectionTimeoutsSchema.optional()
    .describe("Its own deadlines. Default: those of all connections."),
  models: z.array(modelSchema)
    .describe("Its models: ids as the provider calls them, or mappings."),
});

/** A connection as the file says it. */
export type ConnectionFields = z.output<typeof connectionSchema>;

/** A model of a connection as the file says it. */
export type ModelFields = ConnectionFields["models"][number];

function isJsonValue(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) {
    return value === null || ["string", "boolean"].includes(typeof value);
  }
  return Object.values(value).every(isJsonValue);
}
