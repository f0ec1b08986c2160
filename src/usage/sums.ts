/**
 * One sum that requests add to until a moment, which is its window's end. Neither name holds a secret or anything of
 * a request's content: they are made of names in the configuration, of windows and of units.
 */
export interface Sum {
  /** What is read together, such as all that one token used in one hour; its sums end together. */
  readonly table: string;
  /** Which sum of the table. */
  readonly field: string;
  /** Milliseconds since 1970; from then on the sum is nothing. */
  readonly endsAtMs: number;
}

/** Something to add. */
export interface Addition {
  readonly sum: Sum;
  /** A whole number; negative to give back. */
  readonly amount: number;
}

/** Something to add unless that is too much. */
export interface Reservation extends Addition {
  /** It is refused when the sum would pass this. */
  readonly most: number;
}

/** The first reservation that did not fit. */
export interface RefusedReservation {
  readonly reservation: Reservation;
  /** What the sum was, without it. */
  readonly used: number;
}

/**
 * Sums in this process, in one that it shares them with, or in a store. None of its functions throws or rejects: who
 * shares them goes on with what is known here when the others cannot be reached.
 */
export interface Sums {
  /** What the sums are as far as this process knows now, in the same order; 0 for what nobody has added to. */
  read(sums: readonly Sum[]): readonly number[];
  /**
   * Adds all of them or, when one does not fit, none. Two that run at once never both get the last that is left. No
   * sum stands in the list twice.
   *
   * @returns `undefined` when all were added; at once where no other process has to be asked.
   */
  reserve(
    list: readonly Reservation[],
  ):
    | RefusedReservation
    | undefined
    | Promise<RefusedReservation | undefined>;
  /** Adds, here at once, elsewhere a little later. What belongs to a sum that has ended is left out. */
  add(list: readonly Addition[]): void;
  /** The same for sums that nobody has added to yet, wherever; what others have begun stays as it is. */
  begin(list: readonly Addition[]): void;
  /** The sums of a table by their field; empty when there are none. */
  table(
    name: string,
  ): ReadonlyMap<string, number> | Promise<ReadonlyMap<string, number>>;
}
