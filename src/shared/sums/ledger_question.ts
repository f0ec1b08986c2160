import type { Reservation } from "../../usage/sums.ts";
import type { Batch, RemoteReservation } from "./remote_ledger.ts";

/** What a thread asks whoever keeps the sums of the process: data alone, to be sent. */
export type LedgerQuestion =
  | { readonly kind: "apply"; readonly batch: Batch }
  | { readonly kind: "reserve"; readonly list: readonly Reservation[] }
  | { readonly kind: "table"; readonly name: string };

/** The answer, of the same kind. */
export type LedgerAnswer =
  | { readonly kind: "apply"; readonly values: readonly number[] }
  | { readonly kind: "reserve"; readonly told: RemoteReservation }
  | { readonly kind: "table"; readonly table: ReadonlyMap<string, number> };
