import { z } from "zod";
import { QUOTA_KINDS } from "@gateway/services";
import { name, secret, text } from "./fields.ts";

const POINTER_REGEXP = /^(\/([^~/]|~[01])*)*$/;

const PERIOD_REGEXP = /^(\d{1,6}(s|m|h|d|w|mo|y)|total)$/;

/** A JSON pointer (RFC 6901). */
const pointer = z.string().regex(POINTER_REGEXP, {
  error: "must be a JSON pointer, such as /data/0/used.",
});

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);

const condition = z.strictObject({
  at: pointer.describe("A JSON pointer into the response."),
  in: z.array(scalar).min(1).describe(
    "The values for which the condition holds.",
  ),
});

const windowSchema = z.strictObject({
  type: name().describe("The kind of limit, such as USAGE_LIMIT."),
  period: z.string().regex(PERIOD_REGEXP, {
    error: "must be total or a length such as 5h, 7d or 1mo.",
  }).optional().describe(
    "The length: a number and s, m, h, d, w, mo or y, or total. Default: unknown.",
  ),
  unit: name().describe("The unit, such as tokens, percent or USD."),
  at: pointer.default("").describe(
    "The start of the other pointers. Default: the whole response.",
  ),
  where: z.record(z.string(), scalar).optional().describe(
    "Selects an object when `at` points at an array: the one whose fields have these values.",
  ),
  limit: pointer.optional().describe("A pointer to the limit."),
  used: pointer.optional().describe("A pointer to the amount used."),
  remaining: pointer.optional().describe("A pointer to the amount left."),
  scale: z.number({ error: "must be a number above 0, such as 0.01." })
    .positive().default(1)
    .describe("Multiplies limit, used and remaining."),
  share: z.strictObject({
    at: pointer.describe("A pointer to the share."),
    of: z.enum([
      "used_percent",
      "remaining_percent",
      "used_fraction",
      "remaining_fraction",
    ]).describe(
      "Whether the share is used or remaining, and whether it is a percentage or a fraction.",
    ),
  }).optional().describe("A share of the window, instead of amounts."),
  resets_at: z.strictObject({
    at: pointer.describe("A pointer to the time."),
    format: z.enum([
      "iso",
      "epoch_seconds",
      "epoch_ms",
      "seconds_left",
      "ms_left",
    ]).describe("The form of the time."),
  }).optional().describe("The reset time. Default: unknown."),
});

/** `quota` of a connection. */
export const quotaSchema = z.strictObject({
  kind: z.enum(QUOTA_KINDS).optional().describe(
    "The interface that reports the quota. none switches the reading off. Default: the service's own.",
  ),
  plan: z.enum(["personal", "team"]).default("personal")
    .describe("For the kinds zai and bigmodel: the type of the plan."),
  organization: text().optional().describe("The organization of a team plan."),
  project: text().optional().describe("The project of a team plan."),
  url: text().optional()
    .describe("The address to read the quota from. Default: the kind's own."),
  key: text().meta(secret()).optional().describe(
    "The key to read the quota with. Default: the connection's own.",
  ),
  key_file: text().optional().describe(
    "Path of a file with only the quota's key, relative to this file.",
  ),
  headers: z.record(z.string(), z.string().meta(secret())).optional()
    .describe("For the kind json: headers of the request."),
  success: condition.optional()
    .describe("For the kind json: the condition for a successful response."),
  unauthorized: condition.optional()
    .describe("For the kind json: the condition for a rejected key."),
  windows: z.array(windowSchema).min(1).optional()
    .describe("For the kind json: the windows in the response."),
});

/** The quota fields of the file. */
export type QuotaFields = z.output<typeof quotaSchema>;

/** A window of the kind `json`: fixed texts, and pointers to the numbers of the window. */
export type JsonWindow = z.output<typeof windowSchema>;

/** A condition of the kind `json`: the value at a JSON pointer must be in a list. */
export type JsonCondition = z.output<typeof condition>;

/** The description of a quota response, for a service that the gateway has no reader for. */
export interface JsonQuota
  extends Pick<QuotaFields, "success" | "unauthorized"> {
  /** Headers of the request. An `authorization` header replaces the connection's credential. */
  readonly headers: Readonly<Record<string, string>>;
  readonly windows: readonly JsonWindow[];
}
