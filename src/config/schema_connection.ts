import { z } from "zod";
import type { JsonValue } from "../core/json.ts";
import { concurrency, flag, name, text, wholeNumber } from "./schema_fields.ts";
import { quotaSchema } from "./schema_quota.ts";
import { connectionTimeoutsSchema } from "./schema_server.ts";
import { SERVICE_NAMES } from "./services.ts";

/** A model of a connection; a bare text is its id. */
const modelSchema = z.preprocess(
  (value) => typeof value === "string" ? { id: value } : value,
  z.strictObject({
    id: name(),
    /** Default: the id. */
    upstream: name().optional(),
    max_output_tokens: wholeNumber({ min: 1, max: 100_000_000 }).optional(),
    /** Model ids, in the order in which they are tried. */
    fallbacks: z.array(name()).default([]),
    quota_routing: flag().default(false),
  }),
);

/** What a body field may be set to; YAML knows numbers that JSON has no word for. */
const jsonValueSchema = z.custom<JsonValue>(isJsonValue, {
  error: "must be a value that JSON can hold",
});

/** One of `connections`. */
export const connectionSchema = z.strictObject({
  name: name(),
  /** Default: made from the name. */
  id: z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, {
    error: "must be a UUID, such as 0b1d3c52-6a0e-4a3e-8f0e-2f9c3b0d1a11",
  }).optional(),
  service: z.enum(SERVICE_NAMES),
  /** Default: the service's own. */
  family: z.enum(["A", "B", "C"]).optional(),
  enabled: flag().default(true),
  /** Base URLs. Default: the service's own; naming one replaces them all. */
  endpoints: z.strictObject({
    chat: text().optional(),
    messages: text().optional(),
    responses: text().optional(),
    completions: text().optional(),
  }).optional(),
  auth: z.strictObject({
    /** Default: the service's own. */
    scheme: z.enum(["bearer", "x-api-key", "none"]).optional(),
    key: text().optional(),
    /** Path of a file that holds the key alone, relative to the configuration file. */
    key_file: text().optional(),
  }).optional(),
  headers: z.record(z.string(), z.string()).default({}),
  /** Default: the service's own. */
  stream_only: flag().optional(),
  force: z.record(z.string(), jsonValueSchema).default({}),
  omit: z.array(text()).default([]),
  strict: flag().default(false),
  quota: quotaSchema.optional(),
  /** Default: no limit. */
  max_concurrent: concurrency().optional(),
  timeouts: connectionTimeoutsSchema.optional(),
  models: z.array(modelSchema),
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
