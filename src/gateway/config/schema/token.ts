import { z } from "zod";
import {
  alsoWritten,
  callerName,
  concurrency,
  decimal,
  type JsonSchema,
  queueField,
  region,
  shownAs,
  text,
  wholeNumber,
} from "./fields.ts";

/** The largest amount in a window. Sums up to this amount stay exact. */
const MAX_COUNT = 1_000_000_000_000;

/** The largest cost limit, in US dollars. */
const MAX_COST = 1_000_000;

/** An entry of `limits` of a token, a group or the defaults. The resolver checks the combination of fields. */
const usageLimitSchema = z.strictObject({
  window: text().optional().describe(
    "A calendar window: minute, hour, day, week or month, in UTC. With share, a window of the connection's quota, such as five_hour. With `per: session`, at most a day; default: the session's entire life.",
  ),
  per: z.literal("session").optional().describe(
    "With `session`, the limit holds for each session of a token. Requests without a session do not count.",
  ),
  requests: wholeNumber({ min: 1, max: MAX_COUNT }).optional()
    .describe("The most requests in the window."),
  tokens: wholeNumber({ min: 1, max: MAX_COUNT }).optional()
    .describe("The most tokens in the window, input and output together."),
  cost: decimal({ min: 0, max: MAX_COST }).optional().describe(
    "The most US dollars in the window. Each model that the limit counts needs a price.",
  ),
  models: z.array(text()).min(1).optional()
    .describe("The models that the limit counts. Default: all."),
  connections: z.array(text()).min(1).optional().describe(
    "Names or ids of the connections that the limit counts. Default: all.",
  ),
  connection: text().optional()
    .describe("With share: the name or id of the connection."),
  share: decimal({ min: 0, max: 1 }).optional().describe(
    "The largest part of a window of the connection's quota, from 0 to 1.",
  ),
});

/** A limit in the file. */
export type UsageLimitFields = z.output<typeof usageLimitSchema>;

/** A list of limits. */
const usageLimitsSchema = z.array(usageLimitSchema);

/** `defaults`: the settings of tokens and connections that lack these settings. */
export const defaultsSchema = z.strictObject({
  limits: usageLimitsSchema.default([]).describe(
    "The limits of each token that has none of its own.",
  ),
  queue: queueField().describe(
    "The queue of each connection that has none of its own. Default: requests do not wait.",
  ),
});

const connectionsSchema = z.array(text()).optional();

const modelsSchema = z.array(text()).min(1, {
  error: "must not be empty. Leave it out to allow every model.",
}).optional();

const regionsSchema = z.array(region()).min(1, {
  error: "must not be empty. Leave it out to allow every region.",
}).optional();

const weight = () => decimal({ min: 0.01, max: 100 });

const groupSchema = z.strictObject({
  connections: connectionsSchema.describe(
    "Names or ids of connections, for members without `connections`. * is all connections.",
  ),
  models: modelsSchema.describe(
    "Model ids, for members without `models`. Default: every model of their connections.",
  ),
  regions: regionsSchema.describe(
    "The regions whose connections the members may use, also if a member names other regions. Default: all.",
  ),
  max_concurrent: concurrency().optional().describe(
    "The `max_concurrent` of each member without its own.",
  ),
  weight: weight().optional()
    .describe("The `weight` of each member without its own."),
  limits: usageLimitsSchema.default([])
    .describe("The limits that its members share."),
});

/** A group in the file. */
export type GroupFields = z.output<typeof groupSchema>;

/** `groups`, by name. */
export const groupsSchema = z.record(callerName(), groupSchema);

const instantSchema = z.union([
  z.iso.datetime({ offset: true }),
  z.iso.date(),
], {
  error: "must be an ISO 8601 time with a zone, such as 2027-01-01T00:00:00Z.",
});

/** The most tokens of a caller. A caller needs more than two only while several tokens are being replaced. */
const MAX_DIGESTS = 8;

const DIGEST_MESSAGE =
  "must be the SHA-256 of the token, 64 hexadecimal digits. `token new NAME` makes both.";
const DIGESTS_MESSAGE =
  `must be a list of 1 to ${MAX_DIGESTS} SHA-256 of tokens, 64 hexadecimal digits each.`;

const DIGEST_FORM: JsonSchema = {
  type: "string",
  pattern: "^[0-9a-fA-F]{64}$",
};

/** The digits of a token's hash that `check --print` shows. These digits distinguish the token from others. */
const SHOWN_DIGITS = 12;

/** The hashes of a caller's tokens. */
type Digests = readonly [string, ...string[]];

/** One hash, or the hashes of an old token and a new one. */
const digestsSchema = z.preprocess(
  (value) => typeof value === "string" ? [value] : value,
  z.custom<Digests>(isDigests, {
    error: ({ input }) =>
      Array.isArray(input) && input.length !== 1
        ? DIGESTS_MESSAGE
        : DIGEST_MESSAGE,
  }).transform(([first, ...more]): Digests => [
    first.toLowerCase(),
    ...more.map((digest) => digest.toLowerCase()),
  ]),
).meta({
  ...shownAs((digest) => `${digest.slice(0, SHOWN_DIGITS).toLowerCase()}…`),
  ...DIGEST_FORM,
  ...alsoWritten({
    type: "array",
    items: DIGEST_FORM,
    minItems: 1,
    maxItems: MAX_DIGESTS,
  }),
});

function isDigests(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 &&
    value.length <= MAX_DIGESTS && value.every(isDigest);
}

function isDigest(value: unknown): boolean {
  return typeof value === "string" && /^[0-9a-f]{64}$/i.test(value);
}

function isDistinct(names: readonly string[]): boolean {
  return new Set(names).size === names.length;
}

/** What a caller may use: the fields that a token and a rule of `identity` share. */
export const accessFields = {
  connections: connectionsSchema.describe(
    "Names or ids of connections. * is all connections. Default: those of the caller's groups.",
  ),
  models: modelsSchema.describe(
    "Model ids. * is every model of the connections. Default: those of the caller's groups, else *.",
  ),
  regions: regionsSchema.describe(
    "The regions whose connections the caller may use. The regions of its groups apply, too. Default: all.",
  ),
  max_concurrent: concurrency().optional().describe(
    "The number of the caller's requests that may run at once. Further ones get a 429. Default: the largest number of its groups, else a quarter of max_concurrent_requests.",
  ),
  weight: weight().optional().describe(
    "The caller's share when requests wait for their turn: weight 2 gets twice the time of weight 1. Default: the largest weight of its groups, else 1.",
  ),
  group: z.union([
    callerName(),
    z.array(callerName()).refine(isDistinct, {
      error: "must not name a group twice.",
    }),
  ], { error: "must be a name or a list of names. Put a number in quotes." })
    .default([]).describe(
      "The name of an entry of `groups`, or a list of names. A group's settings apply where the caller has none. A group's limits always apply, and its members share them.",
    ),
  limits: usageLimitsSchema.optional().describe(
    "The caller's limits. An empty list means none. Default: `limits` of `defaults`.",
  ),
};

/** What a caller may use, in the file. */
export type AccessFields = Pick<TokenFields, keyof typeof accessFields>;

/** An entry of `tokens`. */
export const tokenSchema = z.strictObject({
  name: callerName().describe(
    "The caller's name, for the log and the metrics. Must be unique.",
  ),
  sha256: digestsSchema.describe(
    "The SHA-256 of the token, as `token new NAME` prints it. With a list of up to 8, each of these tokens is accepted.",
  ),
  expires_at: instantSchema.transform((instant) => Date.parse(instant))
    .optional().describe(
      "The expiry: a time with a zone, or a date. Default: never.",
    ),
  ...accessFields,
});

/** A token in the file. */
export type TokenFields = z.output<typeof tokenSchema>;
