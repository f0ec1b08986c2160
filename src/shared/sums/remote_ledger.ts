import type { Reservation, Sum } from "../../usage/sums.ts";

/** What is done to a sum: added to it, begun where nobody has, restored after a loss, or only read. */
export interface Operation {
  readonly kind: "add" | "begin" | "restore" | "get";
  readonly sum: Sum;
  /** Of `restore` what this process has added to it in all; 0 of `get`. */
  readonly amount: number;
  /**
   * Of `restore`, what the sum was as far as this process knows; else 0. A sum is restored to what all processes say
   * that they added, or to the most that one of them knows, whatever is more.
   */
  readonly known: number;
}

/** Operations that are sent together. */
export interface Batch {
  /** Counts up from 1; one that is sent again has the number that it had. */
  readonly number: number;
  /** How often the ledger had lost everything before; numbers count from 1 again then. */
  readonly losses: number;
  readonly operations: readonly Operation[];
}

/** What became of reservations. */
export type RemoteReservation =
  /** All were added; the sums are these now, in the order of the list. */
  | { readonly values: readonly number[] }
  /** None was added, because of the one at `refused` in the list, whose sum is `used`. */
  | { readonly refused: number; readonly used: number }
  /** None was added, because the ledger has lost what it had. */
  | "lost";

/** The sums that several keep together, in the process or the store that has them. What is sent first is done first. */
export interface RemoteLedger {
  /** Whether it cannot be reached now; then nobody waits for it. */
  readonly isAway: boolean;
  /**
   * Does the operations of a batch, once, however often it is sent.
   *
   * @returns What their sums are then, in the order of the operations; `lost` where it has lost what it had, and has
   * done nothing.
   * @throws Whatever the reason: it has to be sent again.
   */
  apply(batch: Batch): Promise<readonly number[] | "lost">;
  /**
   * Adds all of the list, or nothing.
   *
   * @throws When it is not known what became of it.
   */
  reserve(list: readonly Reservation[]): Promise<RemoteReservation>;
  /**
   * The sums of a table by their field.
   *
   * @throws When they cannot be had.
   */
  table(name: string): Promise<ReadonlyMap<string, number>>;
}
