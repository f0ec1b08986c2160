import { z } from "zod";
import { QUOTA_KINDS } from "./quota_kinds.ts";
import { name, text } from "./schema_fields.ts";

const POINTER_REGEXP = /^(\/([^~/]|~[01])*)*$/;

const PERIOD_REGEXP = /^(\d{1,6}(s|m|h|d|w|mo|y)|total)$/;

/** A JSON pointer (RFC 6901). */
const pointer = z.string().regex(POINTER_REGEXP, {
  error: "must be a JSON pointer, such as /data/0/used",
});

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);

const condition = z.strictObject({ at: pointer, in: z.array(scalar).min(1) });

const windowSchema = z.strictObject({
  type: name(),
  /** Default: unknown. */
  period: z.string().regex(PERIOD_REGEXP, {
    error: "must be total or a length such as 5h, 7d or 1mo",
  }).optional(),
  unit: name(),
  /** What the other pointers start from. Default: the whole answer. */
  at: pointer.default(""),
  /** Which object, where `at` points at an array: the one whose fields have these values. */
  where: z.record(z.string(), scalar).optional(),
  limit: pointer.optional(),
  used: pointer.optional(),
  remaining: pointer.optional(),
  /** Multiplies limit, used and remaining. */
  scale: z.number().positive().default(1),
  share: z.strictObject({
    at: pointer,
    of: z.enum([
      "used_percent",
      "remaining_percent",
      "used_fraction",
      "remaining_fraction",
    ]),
  }).optional(),
  /** Default: unknown. */
  resets_at: z.strictObject({
    at: pointer,
    format: z.enum([
      "iso",
      "epoch_seconds",
      "epoch_ms",
      "seconds_left",
      "ms_left",
    ]),
  }).optional(),
});

/** `quota` of a connection: how its quota is read. */
export const quotaSchema = z.strictObject({
  /** Default: the service's own. `none` turns the reading off. */
  kind: z.enum(QUOTA_KINDS).optional(),
  plan: z.enum(["personal", "team"]).default("personal"),
  /** Of a team plan. */
  organization: text().optional(),
  /** Of a team plan. */
  project: text().optional(),
  /** Overrides the endpoint of the kind. */
  url: text().optional(),
  /** Default: the connection's own. */
  key: text().optional(),
  /** Path of a file that holds the key alone, relative to the configuration file. */
  key_file: text().optional(),
  /** Of the kind `json`, like all that follows. */
  headers: z.record(z.string(), z.string()).optional(),
  success: condition.optional(),
  unauthorized: condition.optional(),
  windows: z.array(windowSchema).min(1).optional(),
});

/** A quota as the file says it. */
export type QuotaFields = z.output<typeof quotaSchema>;

/** A window of the kind `json` as the file says it. */
export type JsonWindowFields = z.output<typeof windowSchema>;
