import type { Caller } from "../../config/config.ts";
import { isFailureKind } from "../../quotas/failure.ts";
import { oncePer } from "@gateway/base/memo";
import { digestOf } from "@gateway/base/sha256";
import { type FailureKind, REMEDIES } from "@gateway/codecs";

/** The kinds of failure that last until an administrator fixes them. */
export type LastingKind = {
  [Kind in FailureKind]: (typeof REMEDIES)[Kind] extends "administrator" ? Kind
    : never;
}[FailureKind];

/** Returns true when a kind of failure lasts until an administrator fixes it. */
export function isLastingKind(kind: unknown): kind is LastingKind {
  return isFailureKind(kind) && REMEDIES[kind] === "administrator";
}

/** The cause of a cool-down that lasts until an administrator fixes it. */
export interface LastingCause {
  readonly kind: LastingKind;
  /** The HTTP status of the failure, if it had one. */
  readonly status?: number | undefined;
}

/**
 * Returns the digest of a caller's name. Replicas send the digest in place of the name, because a store should hold no
 * names, and because a replica may not know a caller of an identity provider that another replica has seen.
 */
export const tokenDigest: (caller: Caller) => string = oncePer(
  ({ name }: Caller) => digestOf(name),
);

/**
 * The least length of a long wait, in milliseconds. Only providers ask for a long wait, because the gateway's own
 * cool-downs end within 15 seconds. No SDK waits longer than {@linkcode LONG_MS} by itself.
 */
export const LONG_MS = 60_000;

/** The state of a request that probes whether a provider's wait is over. */
export type LimitProbe = "begun" | "answered";

/** A cool-down of a connection, as threads and replicas send it to each other. */
export interface CoolDown {
  /** The connection's id. */
  readonly connectionId: string;
  /** The id of the only affected model; `undefined` for the whole connection. */
  readonly model?: string | undefined;
  /** The {@linkcode tokenDigest} of the only affected token; `undefined` for all tokens. */
  readonly token?: string | undefined;
  /** The length from now, in milliseconds. */
  readonly ms: number;
  /**
   * The wait that the upstream asked for, from now, in milliseconds. It can be longer than the cool-down. `undefined`
   * when the connection failed.
   */
  readonly requestedMs?: number | undefined;
  /** Defined for a probe of a cool-down that the upstream asked for. An `answered` probe ended the cool-down. */
  readonly probe?: LimitProbe | undefined;
  /** Defined only if an administrator must act. */
  readonly cause?: LastingCause | undefined;
}
