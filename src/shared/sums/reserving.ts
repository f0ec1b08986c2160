import type {
  Addition,
  RefusedReservation,
  Reservation,
} from "../../usage/sums.ts";
import { type Entries, valueOf } from "./entries.ts";
import type { RemoteReservation } from "./remote_ledger.ts";

/** A reservation that the ledger decides, or this process when the ledger takes too long. Each is decided once. */
export interface Reserving {
  /** Resolves to the first that did not fit; `undefined`: all were added. */
  readonly decision: Promise<RefusedReservation | undefined>;
  /** Decides by what is known here; what the ledger says afterwards is made good. */
  decideHere(): void;
  /**
   * The ledger has decided.
   *
   * @returns What has to be added, since it was decided otherwise here before.
   */
  decided(told: Exclude<RemoteReservation, "lost">): readonly Addition[];
  /**
   * It is not known what the ledger did, which counts as if it had done nothing.
   *
   * @returns What has to be added.
   */
  failed(): readonly Addition[];
}

/** Begins a reservation. Until it is decided it counts here, so that others who ask meanwhile see it. */
export function createReserving(
  list: readonly Reservation[],
  entries: Entries,
): Reserving {
  const { promise, resolve } = Promise.withResolvers<
    RefusedReservation | undefined
  >();
  let outcome: "open" | "granted" | "refused" = "open";
  let isHeld = false;

  function hold(shouldHold: boolean): void {
    if (shouldHold === isHeld) return;
    isHeld = shouldHold;
    for (const { sum, amount } of list) {
      const entry = entries.open(sum);
      if (entry !== undefined) entry.held += shouldHold ? amount : -amount;
    }
  }

  function decide(refused: RefusedReservation | undefined): void {
    outcome = refused === undefined ? "granted" : "refused";
    resolve(refused);
  }

  function decideHere(): void {
    if (outcome !== "open") return;
    hold(false);
    const refused = refusedHere(list, entries);
    decide(refused);
    hold(refused === undefined);
  }

  hold(true);
  return {
    decision: promise,
    decideHere,
    decided(told) {
      hold(false);
      const refused = refusalOf(list, told);
      if (outcome === "open") {
        decide(refused);
        return [];
      }
      const isCounted = refused === undefined;
      if (isCounted === (outcome === "granted")) return [];
      return isCounted ? list.map(negative) : list;
    },
    failed() {
      decideHere();
      hold(false);
      return outcome === "granted" ? list : [];
    },
  };
}

/** The first that does not fit by what is known here. */
export function refusedHere(
  list: readonly Reservation[],
  entries: Entries,
): RefusedReservation | undefined {
  for (const reservation of list) {
    const entry = entries.find(reservation.sum);
    const used = entry === undefined ? 0 : valueOf(entry);
    if (used + reservation.amount > reservation.most) {
      return { reservation, used };
    }
  }
  return undefined;
}

function refusalOf(
  list: readonly Reservation[],
  told: Exclude<RemoteReservation, "lost">,
): RefusedReservation | undefined {
  if ("values" in told) return undefined;
  const reservation = list[told.refused];
  return reservation && { reservation, used: told.used };
}

function negative({ sum, amount }: Addition): Addition {
  return { sum, amount: -amount };
}
