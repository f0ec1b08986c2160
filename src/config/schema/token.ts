import { z } from "zod";
import {
  alsoWritten,
  concurrency,
  decimal,
  type JsonSchema,
  name,
  text,
  wholeNumber,
} from "./fields.ts";

/** What may be used in a window, in whatever it counts: sums stay exact up to this. */
const MAX_COUNT = 1_000_000_000_000;

/** In US dollars. */
const MAX_COST = 1_000_000;

/** One of `limits` of a token, a group or all tokens; what belongs together is judged when it is resolved. */
const usageLimitSchema = z.strictObject({
  window: text().describe(
    "Of the calendar: minute, hour, day, week or month, in UTC; beside share a window of the connection's quota, such as five_hour.",
  ),
  requests: wholeNumber({ min: 1, max: MAX_COUNT }).optional()
    .describe("How many requests in the window."),
  tokens: wholeNumber({ min: 1, max: MAX_COUNT }).optional()
    .describe("How many tokens in the window, input and output."),
  cost: decimal({ min: 0, max: MAX_COST }).optional().describe(
    "How many US dollars in the window; each model that it binds needs a price.",
  ),
  models: z.array(text()).min(1).optional()
    .describe("The models that it counts. Default: all."),
  connections: z.array(text()).min(1).optional().describe(
    "Names or ids of the connections that it counts. Default: all.",
  ),
  connection: text().optional()
    .describe("Beside share: name or id of the connection."),
  share: decimal({ min: 0, max: 1 }).optional().describe(
    "Which part of a window of the connection's quota, from 0 to 1.",
  ),
});

/** A limit as the file says it. */
export type UsageLimitFields = z.output<typeof usageLimitSchema>;

/** `limits` where they may stand. */
const usageLimitsSchema = z.array(usageLimitSchema);

/** `defaults`: what tokens have that say nothing else. */
export const defaultsSchema = z.strictObject({
  limits: usageLimitsSchema.default([]).describe(
    "What each token may use that has no limits of its own.",
  ),
});

/** `groups`, by name. */
export const groupsSchema = z.record(
  name(),
  z.strictObject({
    limits: usageLimitsSchema.default([])
      .describe("What its members may use together."),
  }),
);

/** Groups as the file says them. */
type GroupsFields = z.output<typeof groupsSchema>;

const instantSchema = z.union([
  z.iso.datetime({ offset: true }),
  z.iso.date(),
], {
  error: "must be an ISO 8601 time with a zone, such as 2027-01-01T00:00:00Z",
});

/** More than two are there only while several tokens are replaced. */
const MAX_DIGESTS = 8;

const DIGEST_FAULT =
  "must be the SHA-256 of the token, 64 hexadecimal digits; `token new NAME` makes both";
const DIGESTS_FAULT =
  `must be a list of 1 to ${MAX_DIGESTS} SHA-256 of tokens, 64 hexadecimal digits each`;

const DIGEST_FORM: JsonSchema = {
  type: "string",
  pattern: "^[0-9a-fA-F]{64}$",
};

/** The hashes of a caller's tokens. */
type Digests = readonly [string, ...string[]];

/** One hash, or those of the old token and of the new one. */
const digestsSchema = z.preprocess(
  (value) => typeof value === "string" ? [value] : value,
  z.custom<Digests>(isDigests, {
    error: ({ input }) =>
      Array.isArray(input) && input.length !== 1 ? DIGESTS_FAULT : DIGEST_FAULT,
  }).transform(([first, ...more]): Digests => [
    first.toLowerCase(),
    ...more.map((digest) => digest.toLowerCase()),
  ]),
).meta({
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

/** One of `tokens`. */
export const tokenSchema = z.strictObject({
  name: name().describe("Who it is; unique. The log and the metrics name it."),
  sha256: digestsSchema.describe(
    "The SHA-256 of the token, as `token new NAME` prints it; or a list of up to 8, any of which lets its owner in.",
  ),
  expires_at: instantSchema.transform((instant) => Date.parse(instant))
    .optional().describe(
      "Until when it lets its owner in: a time with a zone, or a date. Default: forever.",
    ),
  connections: z.array(text()).describe(
    "Names or ids of connections; * stands for all.",
  ),
  models: z.array(text()).min(1, {
    error: "must not be empty; leave it out to allow every model",
  }).optional().describe(
    "Model ids; * or nothing stands for every model of the connections.",
  ),
  max_concurrent: concurrency().optional().describe(
    "How many of its requests may run at once; above: 429. Default: a quarter of max_concurrent_requests.",
  ),
  group: name().optional().describe(
    "The one of `groups` whose limits bind it together with the other members.",
  ),
  limits: usageLimitsSchema.optional().describe(
    "What it may use. Default: as `defaults` say; an empty list is no limit.",
  ),
});

/** A token as the file says it. */
export type TokenFields = z.output<typeof tokenSchema>;
