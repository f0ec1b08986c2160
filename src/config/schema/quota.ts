import { z } from "zod";
import { QUOTA_KINDS } from "../quota_kinds.ts";
import { name, text } from "./fields.ts";

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
export const quotaSchema = z.strictObject({
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
