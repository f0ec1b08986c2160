import { z } from "zod";
import { isFailureKind } from "../../limits/failure.ts";
import type { FailureKind } from "../../protocols/canonical/failure/failure.ts";

const milliseconds = z.number().min(0).max(86_400_000);

/** A window as `limits/window.ts` has it. */
const windowSchema = z.object({
  type: z.string(),
  window: z.string(),
  unit: z.string(),
  period_unit: z.number().nullable(),
  period_count: z.number().nullable(),
  limit: z.number().nullable(),
  used: z.number().nullable(),
  remaining: z.number().nullable(),
  used_percent: z.number().nullable(),
  resets_at: z.string().nullable(),
});

const readingSchema = z.object({
  checkedAtMs: z.number(),
  windows: z.array(windowSchema).readonly().optional(),
  failure: z.object({
    kind: z.custom<FailureKind>(isFailureKind),
    message: z.string(),
    retryAfterMs: milliseconds.optional(),
  }).optional(),
});

/** A quota that a replica has read. */
export const quotaSchema = z.object({ reading: readingSchema });

/** What replicas tell each other, with digests instead of the names of connections and tokens. */
export const storedNoticeSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("cool_down"),
    connection: z.string(),
    model: z.string().optional(),
    token: z.string().optional(),
    ms: milliseconds,
    isBench: z.boolean(),
  }),
  z.object({
    kind: z.literal("polled"),
    connection: z.string(),
    reading: readingSchema,
    ttlMs: milliseconds,
  }),
  z.object({
    kind: z.literal("harvested"),
    connection: z.string(),
    reading: readingSchema,
  }),
]);

/** @see storedNoticeSchema */
export type StoredNotice = z.output<typeof storedNoticeSchema>;
