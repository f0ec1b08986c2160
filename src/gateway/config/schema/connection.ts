import { z } from "zod";
import type { JsonValue } from "@gateway/base/json";
import { ABILITY_ROWS } from "@gateway/codecs";
import {
  ENDPOINT_NAMES,
  FAMILIES,
  FAMILY_NAMES,
  PROTOCOLS,
} from "@gateway/base/protocol";
import { mapValues } from "@gateway/base/std";
import {
  AUTH_SCHEMES,
  QUOTA_KINDS,
  SERVICE_NAMES,
  type Variable,
} from "@gateway/services";
import { INPUT_KINDS } from "../input_kinds.ts";
import {
  concurrency,
  decimal,
  flag,
  LABEL_REGEXP,
  name,
  orBareId,
  queueField,
  region,
  secret,
  text,
  tokens,
  wholeNumber,
} from "./fields.ts";
import { keysSchema, tokenExchangeSchema } from "./token_exchange.ts";
import { valueHint } from "./problems.ts";
import { quotaSchema } from "./quota.ts";
import { connectionTimeoutsSchema } from "./server.ts";

/** Another name of a model. A text in place of the mapping is the name. */
const aliasSchema = orBareId(
  z.strictObject({
    id: name().describe("Another name for the model in requests."),
    listed: flag().optional().describe(
      "true: GET /models lists the alias. Default: `listed` of the model.",
    ),
  }),
);

/** A reasoning effort of a model. Each provider has its own words for efforts. */
const effortSchema = z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/, {
  error: "must be a word such as low, high or max.",
});

/** The highest price, in US dollars per million tokens. No model costs more. */
const MAX_PRICE = 1_000_000;

const price = () => decimal({ min: 0, max: MAX_PRICE });

/** Hours of the day in a time zone. */
function dayHours(): z.ZodType<string> {
  return z.string().regex(
    /^(?:[01]\d|2[0-3]):[0-5]\d-(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00) [A-Za-z][\w+/-]*$/,
    { error: HOURS },
  ).refine((text) => isTimeZone(text.slice(text.indexOf(" ") + 1)), {
    error: HOURS,
  });
}

const HOURS =
  "must be hours in a time zone, such as 09:00-18:00 Asia/Shanghai.";

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** The conditions that an answer must meet for a rate to apply. */
export const rateConditionSchema = z.strictObject({
  input_over: tokens().optional().describe(
    "The whole prompt has more tokens than this, including tokens read from and written to a cache.",
  ),
  speed: name().optional().describe("The speed in the answer."),
  service_tier: name().optional()
    .describe("The service tier in the answer."),
  inference_geo: name().optional()
    .describe("The region of the inference in the answer."),
  refusal: name().optional().describe(
    "The category of a refusal before any output, such as cyber, or other.",
  ),
  hours: dayHours().optional().describe(
    "The hours in which the request began, such as 09:00-18:00 Asia/Shanghai.",
  ),
});

/** The conditions of a rate in the file. */
export type RateCondition = z.output<typeof rateConditionSchema>;

/** Other prices for some answers. */
const rateSchema = z.strictObject({
  when: rateConditionSchema.refine((when) => Object.keys(when).length > 0, {
    error:
      "must have input_over, speed, service_tier, inference_geo, refusal or hours.",
  }).describe("The conditions on the answer. All must hold."),
  times: decimal({ min: 0, max: 1000 }).optional()
    .describe("Multiplies every price of the model."),
  input: price().optional().describe("Replaces input."),
  cached_input: price().optional()
    .describe("Replaces cached_input."),
  cache_write: price().optional().describe("Replaces cache_write."),
  cache_write_1h: price().optional()
    .describe("Replaces cache_write_1h."),
  output: price().optional().describe("Replaces output."),
}).refine((rate) => Object.keys(rate).length > 1, {
  error: "must have a price or times.",
}).refine(
  (rate) => rate.times === undefined || Object.keys(rate).length === 2,
  {
    error: "must have either times or prices.",
  },
);

const priceSchema = z.strictObject({
  input: price().describe("The price of input that is not read from a cache."),
  cached_input: price().optional()
    .describe("The price of input read from a cache. Default: as input."),
  cache_write: price().optional().describe(
    "The price of input written to a cache for five minutes. Default: as input.",
  ),
  cache_write_1h: price().optional().describe(
    "The price of input written to a cache for an hour. Default: as cache_write.",
  ),
  output: price().describe("The price of output, including reasoning."),
  rates: z.array(rateSchema).default([]).describe(
    "Other prices for some answers. The first rate whose `when` holds applies.",
  ),
});

/** What a provider accepts in translated requests. */
const abilitySchema = z.strictObject(ABILITY_ROWS.options<z.ZodType>({
  flag,
  number: (field) => (field.whole ? wholeNumber(field) : decimal(field)),
  word: (words) => z.enum(words),
  words: (words) => z.array(z.enum(words)),
  group: (options) => z.strictObject(options),
  optional: (option, about) => option.optional().describe(about),
})).transform(ABILITY_ROWS.read);

/** A model of a connection. A text in place of the mapping is the model's id. */
export const modelSchema = orBareId(
  z.strictObject({
    id: name().describe("The name in callers' requests."),
    upstream: name().optional()
      .describe("The provider's name for the model. Default: the id."),
    aliases: z.array(aliasSchema).default([])
      .describe("Other names for the model."),
    listed: flag().default(true)
      .describe(
        "false: GET /models leaves the model out. Requests may still name it.",
      ),
    display_name: name().optional().describe(
      "The name that people read instead of the id. Default: the provider's.",
    ),
    context_window: tokens().optional().describe(
      "The context window in tokens, reported to clients. Default: the provider's value.",
    ),
    max_output_tokens: tokens().optional().describe(
      "The most output tokens of translated requests, also reported to clients. Default: clients get the provider's value.",
    ),
    omit: z.array(text()).default([]).describe(
      "Fields removed from the model's translated requests, besides the connection's `omit`.",
    ),
    lessons: z.array(text()).default([]).describe(
      "Changes to the model's translated requests, in the words of `check --live --try` and of the log's `lesson`.",
    ),
    ability: abilitySchema.optional().describe("Over the connection's own."),
    input: z.array(z.enum(INPUT_KINDS)).min(1).optional().describe(
      "The kinds of input that the model accepts, reported to clients. Default: the provider's value.",
    ),
    reasoning: z.array(effortSchema).optional().describe(
      "The reasoning efforts that the model accepts, reported to clients. An empty list means none. Default: the provider's value.",
    ),
    fallbacks: z.array(name()).default([]).describe(
      "Model ids to try in this order when no connection can serve this one.",
    ),
    quota_routing: flag().default(false)
      .describe(
        "true: a new conversation begins at the connection with the most quota left.",
      ),
    price: priceSchema.optional().describe(
      "The price in US dollars per million tokens. Default: unknown, so that no cost is counted.",
    ),
  }),
);

/** The values that a body field may be set to. YAML has numbers that JSON lacks, such as `.inf`. */
const jsonValueSchema = z.custom<JsonValue>(isJsonValue, {
  error: "must be a value that JSON can hold.",
});

/** Lists the families with their protocols: `A speaks Chat Completions, B Messages` and so on. */
function familiesText(): string {
  return FAMILY_NAMES.map((name, index) => {
    const spoken = ENDPOINT_NAMES[FAMILIES[name].protocol];
    return index === 0 ? `${name} speaks ${spoken}` : `${name} ${spoken}`;
  }).join(", ");
}

/**
 * Returns the message of an unknown service. The message does not list the known services, because the list is too long
 * for a line.
 */
function unknownService({ input }: { readonly input?: unknown }): string {
  const kind = QUOTA_KINDS.find((one) => one === input);
  if (kind !== undefined) {
    return `is a kind of quota, not a service. Write \`service: custom\` with \`quota: { kind: ${kind} }\`.`;
  }
  const hint = typeof input === "string" ? valueHint(input, SERVICE_NAMES) : "";
  return `is not a service${
    hint ||
    ". `model-gateway init --help` lists them. For any other server, write `service: custom`."
  }`;
}

/** A part of an address. A variable must not hold a character that ends a host or a segment of a path. */
const variable = (example: string) =>
  z.string().regex(LABEL_REGEXP, {
    error:
      `must have only letters, digits and inner hyphens, such as ${example}.`,
  }).optional();

/** The variables in the addresses of some services. */
const variablesSchema = {
  region: region().optional().describe(
    "The region in which the provider keeps data, such as eu, for `regions` of tokens and groups. If the service's addresses contain a region: that region.",
  ),
  resource: variable("my-resource").describe(
    "The Azure resource in the service's addresses, for the services that need one.",
  ),
  project: variable("my-project").describe(
    "The Google Cloud project in the service's addresses, for the services that need one.",
  ),
} satisfies Readonly<Record<Variable, z.ZodType>>;

/** An entry of `connections`. */
export const connectionSchema = z.strictObject({
  name: name().describe("The name for people. Must be unique."),
  id: z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, {
    error: "must be a UUID, such as 0b1d3c52-6a0e-4a3e-8f0e-2f9c3b0d1a11.",
  }).optional().describe("A UUID. Default: made from the name."),
  service: z.enum(SERVICE_NAMES, { error: unknownService }).describe(
    "The service, which sets the endpoints and other defaults. custom sets none.",
  ),
  family: z.enum(FAMILY_NAMES).optional().describe(
    `${familiesText()}. Default: the service's own.`,
  ),
  ...variablesSchema,
  enabled: flag().default(true)
    .describe("false: the connection serves no requests."),
  endpoints: z.strictObject(
    mapValues(
      ENDPOINT_NAMES,
      (name) => text().optional().describe(`The base URL for ${name}.`),
    ),
  ).optional().describe(
    "Base URLs, to which the paths of each protocol are appended. Setting one replaces all base URLs of the service. Default: the service's own.",
  ),
  paths: z.array(z.enum(PROTOCOLS)).default([]).describe(
    "Protocols in which callers may use the connection's models. The gateway translates protocols that the provider lacks. Default: those of the family.",
  ),
  auth: z.strictObject({
    scheme: z.enum(AUTH_SCHEMES).optional()
      .describe(
        "How the key is sent: as a bearer token, in the header x-api-key or api-key, or not at all. Default: the service's own, or bearer.",
      ),
    key: text().meta(secret()).optional()
      .describe("The provider's key, best as a variable: ${NAME}."),
    key_file: text().optional().describe(
      "Path of a file with only the key, relative to this file.",
    ),
    keys: keysSchema.optional(),
    exchange: tokenExchangeSchema.optional(),
  }).optional().describe("The provider's credential."),
  headers: z.record(z.string(), z.string().meta(secret())).default({})
    .describe("Headers of every request to the provider."),
  headers_drop: z.record(z.string(), z.array(text()).min(1)).default({})
    .describe(
      "Values removed from lists in request headers, such as betas that the provider refuses. Default: headers pass unchanged.",
    ),
  stream_only: flag().optional().describe(
    "true: the provider only streams. A caller that requests JSON gets the stream as one JSON body. Default: the service's own.",
  ),
  force: z.record(z.string(), jsonValueSchema.meta(secret())).default({})
    .describe("Fields set in translated requests."),
  omit: z.array(text()).default([])
    .describe(
      "Fields removed from translated requests. `messages[].name` removes `name` from each message.",
    ),
  ability: abilitySchema.optional().describe(
    "What the provider takes of translated requests, in place of what the gateway knows. `check --model ID` prints it.",
  ),
  strict: flag().default(false)
    .describe(
      "true: a request gets a 400 when translation would drop a field.",
    ),
  quota: quotaSchema.optional().describe(
    "Settings for reading the connection's quota.",
  ),
  max_concurrent: concurrency().optional().describe(
    "The number of requests that the connection may get at once. Further requests go to another connection, or get a 503. Default: no limit.",
  ),
  queue: queueField().describe(
    "Requests wait for their turn while the connection has no room. Default: `queue` of `defaults`.",
  ),
  timeouts: connectionTimeoutsSchema.optional()
    .describe(
      "The connection's own deadlines. Default: the top-level `timeouts`.",
    ),
  models: z.array(modelSchema)
    .describe("The connection's models: the provider's ids, or mappings."),
});

/** The fields of a connection in the file. */
export type ConnectionFields = z.output<typeof connectionSchema>;

/** The fields of a model in the file. */
export type ModelFields = ConnectionFields["models"][number];

function isJsonValue(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) {
    return value === null || ["string", "boolean"].includes(typeof value);
  }
  return Object.values(value).every(isJsonValue);
}
