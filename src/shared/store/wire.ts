import { z } from "zod";
import type { Config, Connection } from "../../config/config.ts";
import { oncePer } from "../../core/memo.ts";
import { digestOf, sha256Hex } from "../../core/sha256.ts";
import { isFailureKind } from "../../quotas/failure.ts";
import { sourceKey } from "../../quotas/reading.ts";
import {
  type FailureKind,
  isLastingKind,
  type LastingKind,
} from "../../protocols/canonical/failure/failure.ts";
import { isLesson, type Lesson } from "../../protocols/dialects/lessons.ts";
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

/** The notices between replicas. They have digests instead of the ids of connections. */
export const storedNoticeSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("cool_down"),
    connection: z.string(),
    model: z.string().optional(),
    token: z.string().optional(),
    ms: milliseconds,
    requestedByProvider: z.boolean(),
    // Replicas of another version may not send it.
    requestedMs: z.number().min(0).optional(),
    probe: z.enum(["begun", "answered"]).optional(),
    // Replicas of another version may have other kinds.
    cause: z.object({
      kind: z.custom<LastingKind>(isLastingKind),
      status: z.number().optional(),
    }).optional().catch(undefined),
  }),
  z.object({
    kind: z.literal("lesson"),
    connection: z.string(),
    model: z.string(),
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
]);

/** @see storedNoticeSchema */
export type StoredNotice = z.output<typeof storedNoticeSchema>;

/** Converts a notice to its stored form; returns `undefined` when it is not for the store. */
export function toStored(
  notice: Notice,
  config: Config,
): StoredNotice | undefined {
  if (notice.kind === "store" || notice.kind === "shortage") return undefined;
  const { kind } = notice;
  const connectionId = connectionIdOf(notice);
  const found = config.connections.find((one) => one.id === connectionId);
  if (found === undefined) return undefined;
  const connection = connectionDigest(found);
  if (kind === "polled") {
    const { reading, ttlMs } = notice;
    return { kind, connection, reading, ttlMs };
  }
  if (kind === "harvested") {
    return { kind, connection, reading: notice.reading };
  }
  if (kind === "placed") {
    const { conversation, model, ms } = notice;
    return { kind, connection, conversation, model, ms };
  }
  if (kind === "lesson") {
    const { model, lesson, ms } = notice.taught;
    return { kind, connection, model, lesson, ms };
  }
  const { model, token, ms, requestedMs, probe, cause } = notice.coolDown;
  return {
    ...{ kind, connection, ms },
    requestedByProvider: requestedMs !== undefined,
    ...(requestedMs === undefined ? {} : { requestedMs }),
    ...(model === undefined ? {} : { model }),
    ...(token === undefined ? {} : { token }),
    ...(probe === undefined ? {} : { probe }),
    ...(cause === undefined ? {} : { cause }),
  };
}

function connectionIdOf(
  notice: Exclude<Notice, { kind: "store" | "shortage" }>,
): string {
  if (notice.kind === "cool_down") return notice.coolDown.connectionId;
  return notice.kind === "lesson"
    ? notice.taught.connectionId
    : notice.connectionId;
}

/** Converts a stored notice to the names of this configuration; returns `undefined` when it lacks them. */
export function fromStored(
  stored: StoredNotice,
  config: Config,
): Notice | undefined {
  const connectionId = connectionOf(stored.connection, config)?.id;
  if (connectionId === undefined) return undefined;
  if (stored.kind === "polled") {
    const { kind, reading, ttlMs } = stored;
    return { kind, connectionId, reading, ttlMs };
  }
  if (stored.kind === "harvested") {
    return { kind: stored.kind, connectionId, reading: stored.reading };
  }
  if (stored.kind === "placed") {
    const { kind, conversation, model, ms } = stored;
    return { kind, connectionId, conversation, model, ms };
  }
  if (stored.kind === "lesson") {
    const { kind, model, lesson, ms } = stored;
    return { kind, taught: { connectionId, model, lesson, ms } };
  }
  const { kind, model, token, ms, requestedByProvider, probe, cause } = stored;
  const requestedMs = requestedByProvider
    ? stored.requestedMs ?? ms
    : undefined;
  return {
    kind,
    coolDown: { connectionId, model, token, ms, requestedMs, probe, cause },
  };
}

/** Returns a notice with its remaining time after some milliseconds; `undefined` when it has expired. */
export function leftAfter(
  stored: StoredNotice,
  passedMs: number,
): StoredNotice | undefined {
  if (stored.kind === "harvested") return stored;
  const isPolled = stored.kind === "polled";
  const leftMs = (isPolled ? stored.ttlMs : stored.ms) - passedMs;
  if (leftMs <= 0) return undefined;
  if (isPolled) return { ...stored, ttlMs: leftMs };
  if (stored.kind !== "cool_down") return { ...stored, ms: leftMs };
  const { requestedMs } = stored;
  return {
    ...stored,
    ms: leftMs,
    ...(requestedMs === undefined
      ? {}
      : { requestedMs: requestedMs - passedMs }),
  };
}

/** The digits of a digest that detect another credential, far too few to guess the credential. */
const REVISION_DIGITS = 4;

/**
 * Returns the digest that replaces a connection in the store. It changes with the connection's URL, credential or quota
 * settings, so that old notices no longer apply.
 */
export const connectionDigest: (connection: Connection) => string = oncePer(
  (connection) => {
    const revision = sha256Hex(sourceKey(connection)).slice(0, REVISION_DIGITS);
    return digestOf(`${connection.id}\t${revision}`);
  },
);

/** Returns the connection of a digest, if the configuration has it. */
function connectionOf(
  digest: string,
  { connections }: Pick<Config, "connections">,
): Connection | undefined {
  return connections.find((one) => connectionDigest(one) === digest);
}
