import type { LastingKind } from "../../protocols/canonical/failure/failure.ts";

/** Why a connection is left alone, where that lasts until an administrator mends it. */
export interface LastingCause {
  readonly kind: LastingKind;
  /** The HTTP status of the failure, where it had one. */
  readonly status?: number | undefined;
}

/** A connection is left alone for a while, as one gateway tells it to others. */
export interface CoolDown {
  /** The connection's. */
  readonly connectionId: string;
  /** The one model that is meant; `undefined`: all of the connection. */
  readonly model: string | undefined;
  /** The name of the one token whose requests are kept away; `undefined`: everybody's. */
  readonly token: string | undefined;
  /** From now on, in milliseconds. */
  readonly ms: number;
  /** Whether the upstream asked for it; else it failed. */
  readonly requestedByProvider: boolean;
  /** Absent where it may pass by itself. */
  readonly cause?: LastingCause | undefined;
}
