import { z } from "zod";
import { concurrency, name, text } from "./schema_fields.ts";

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
);

function isDigests(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 &&
    value.length <= MAX_DIGESTS && value.every(isDigest);
}

function isDigest(value: unknown): boolean {
  return typeof value === "string" && /^[0-9a-f]{64}$/i.test(value);
}

/** One of `tokens`. */
export const tokenSchema = z.strictObject({
  name: name(),
  /** Any of them lets the caller in. */
  sha256: digestsSchema,
  /** Default: never. */
  expires_at: instantSchema.transform((instant) => Date.parse(instant))
    .optional(),
  /** Names or ids; `*` stands for all. */
  connections: z.array(text()),
  /** Model ids; `*` or nothing stands for every model of the connections. */
  models: z.array(text()).min(1, {
    error: "must not be empty; leave it out to allow every model",
  }).optional(),
  /** Default: no limit. */
  max_concurrent: concurrency().optional(),
});

/** A token as the file says it. */
export type TokenFields = z.output<typeof tokenSchema>;
