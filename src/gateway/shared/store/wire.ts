import { z } from "zod";
import type { Config, Connection } from "../../config/config.ts";
import { oncePer } from "@gateway/base/memo";
import { digestOf, sha256Hex } from "@gateway/base/sha256";
import { isFailureKind } from "../../quotas/failure.ts";
import { sourceKey } from "../../quotas/reading.ts";
import { type FailureKind, isLesson, type Lesson } from "@gateway/codecs";
import {
  isLastingKind,
  type LastingKind,
} from "../../relay/routing/cool_down.ts";
import type { Notice } from "../notice.ts";

const milliseconds = z.number().min(0).max(86_400_000);

/** A window, as in `quotas/window.ts`. */
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
    retryAfterMs: z.number().min(0).optional(),
  }).optional(),
});

/** A quota that a replica has read. */
export const quotaSchema = z.object({ reading: readingSchema });

/** The notices between replicas. Notices have digests instead of the ids of connections. */
export const storedNoticeSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("cool_down"),
    connection: z.string(),
    model: z.string().optional(),
    token: z.string().optional(),
    ms: milliseconds,
    requestedMs: z.number().min(0).optional(),
    probe: z.enum(["begun", "answered"]).optional(),
    // Replicas of another version may send other kinds of causes.
    cause: z.object({
      kind: z.custom<LastingKind>(isLastingKind),
      status: z.number().optional(),
    }).optional().catch(undefined),
  }),
  z.object({
    kind: z.literal("lesson"),
    connection: z.string(),
    model: z.string(),
    token: z.string(),
    lesson: z.custom<Lesson>(isLesson),
    ms: milliseconds,
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
  z.object({
    kind: z.literal("placed"),
    connection: z.string(),
    conversation: z.string(),
    model: z.string(),
    ms: milliseconds,
  }),
  z.object({
    kind: z.literal("line"),
    connection: z.string(),
    model: z.string(),
    from: z.string(),
    used: z.record(z.string(), z.number()),
    waiting: z.number().min(0),
    expectedMs: z.number().min(0),
    ms: milliseconds,
  }),
]);

/** @see storedNoticeSchema */
export type StoredNotice = z.output<typeof storedNoticeSchema>;

/** Converts a notice to its stored form. Returns `undefined` when the notice is not for the store. */
export function toStored(
  notice: Notice,
  { connections }: Pick<Config, "connections">,
): StoredNotice | undefined {
  if (!("connectionId" in notice)) return undefined;
  const { connectionId, ...rest } = notice;
  const found = connections.find(({ id }) => id === connectionId);
  return found && { ...rest, connection: connectionDigest(found) };
}

/**
 * Converts a stored notice to the names of this configuration; returns `undefined` when the configuration lacks the
 * connection.
 */
export function fromStored(
  { connection, ...rest }: StoredNotice,
  { connections }: Pick<Config, "connections">,
): Notice | undefined {
  const found = connections.find((one) => connectionDigest(one) === connection);
  return found && { ...rest, connectionId: found.id };
}

/** Reduces a notice's remaining time by `passedMs`; returns `undefined` when the notice has expired. */
export function leftAfter(
  stored: StoredNotice,
  passedMs: number,
): StoredNotice | undefined {
  switch (stored.kind) {
    case "harvested":
      return stored;
    case "polled": {
      const ttlMs = stored.ttlMs - passedMs;
      return ttlMs > 0 ? { ...stored, ttlMs } : undefined;
    }
    case "cool_down": {
      const ms = stored.ms - passedMs;
      const requestedMs = stored.requestedMs && stored.requestedMs - passedMs;
      return ms > 0 ? { ...stored, ms, requestedMs } : undefined;
    }
    default: {
      const ms = stored.ms - passedMs;
      return ms > 0 ? { ...stored, ms } : undefined;
    }
  }
}

/**
 * The number of digits that are taken from the digest of a credential. They are enough to notice a new credential, but
 * too few to guess the credential.
 */
const REVISION_DIGITS = 4;

/**
 * Returns the digest that identifies a connection in the store. The digest changes with the connection's URL,
 * credential or quota settings, so that old notices no longer apply.
 */
export const connectionDigest: (connection: Connection) => string = oncePer(
  (connection) => {
    const revision = sha256Hex(sourceKey(connection)).slice(0, REVISION_DIGITS);
    return digestOf(`${connection.id}\t${revision}`);
  },
);
