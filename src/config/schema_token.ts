import { z } from "zod";
import { concurrency, name, text } from "./schema_fields.ts";

const instantSchema = z.union([
  z.iso.datetime({ offset: true }),
  z.iso.date(),
], {
  error: "must be an ISO 8601 time with a zone, such as 2027-01-01T00:00:00Z",
});

/** One of `tokens`. */
export const tokenSchema = z.strictObject({
  name: name(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/i, {
    error:
      "must be the SHA-256 of the token, 64 hexadecimal digits; `token new NAME` makes both",
  }),
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
