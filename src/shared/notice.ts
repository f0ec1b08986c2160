import type { PlainReading } from "../limits/plain_reading.ts";
import type { CoolDown } from "../relay/routing/cool_down.ts";

/** What one gateway learned and the others should know: data alone, to be sent to another thread. */
export type Notice =
  | { readonly kind: "cool_down"; readonly coolDown: CoolDown }
  /** A quota that an endpoint told. */
  | {
    readonly kind: "polled";
    readonly connectionId: string;
    readonly reading: PlainReading;
    /** How long it stands yet, in milliseconds. */
    readonly ttlMs: number;
  }
  /** A quota that the headers of an answer told. */
  | {
    readonly kind: "harvested";
    readonly connectionId: string;
    readonly reading: PlainReading;
  }
  /** Whether the store that replicas share can be reached. */
  | { readonly kind: "store"; readonly isAway: boolean };

/** A way to the other gateways. Neither function throws or waits. */
export interface Notices {
  /** Tells all others. */
  tell(notice: Notice): void;
  /** Calls `listener` with what others tell from now on, never with what this one tells. */
  onHear(listener: (notice: Notice) => void): void;
}
