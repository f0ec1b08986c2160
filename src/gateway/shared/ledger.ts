import type { Change, Claim, Decision } from "../usage/sums.ts";

/** Changes that are made together. If a batch is sent again, its changes are still made only once. */
export interface Batch extends Required<Change> {
  /** The unguessable id of the batch. */
  readonly id: string;
}

/** The claims of a request. */
interface Reservation {
  /** The id of the request. If the id is `""`, the ledger only returns the use of the limits. */
  readonly id: string;
  readonly claims: readonly Claim[];
}

/** A name for {@linkcode Ledger.once}. */
interface OnceName {
  readonly name: string;
  /** The time at which the name may be forgotten, in milliseconds since 1970. */
  readonly endsAtMs: number;
}

/**
 * The time since which a ledger counts everything, in milliseconds since 1970; `undefined` before the ledger counts.
 */
interface Since {
  readonly sinceMs: number | undefined;
}

/**
 * The sums that several processes or threads share, in the main thread or in a store. The ledger handles calls in the
 * order in which they were sent. Each function rejects when the ledger is unreachable or the outcome of the call is
 * unknown.
 */
export interface Ledger {
  /** True while the ledger is unreachable. Requests do not wait for an unreachable ledger. */
  readonly isAway: boolean;
  /** Makes the changes of a batch; a failed batch must be sent again. */
  apply(batch: Batch): Promise<void>;
  /** Grants all claims or none, as `Sums.reserve()` of `usage/sums.ts` does. */
  reserve(reservation: Reservation): Promise<Decision & Since>;
  /** Returns the values of a table. */
  table(
    name: string,
  ): Promise<Since & { readonly values: ReadonlyMap<string, number> }>;
  /** Returns true for the first call with the name. */
  once(name: OnceName): Promise<boolean>;
}
