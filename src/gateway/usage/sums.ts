/**
 * One counter of a window of time. The names of its table and field consist of names in the configuration, windows and
 * units, without secrets or parts of requests.
 */
export interface Sum {
  /**
   * The name of a group of sums that are read together and end together, such as the usage of one token in one hour.
   */
  readonly table: string;
  readonly field: string;
  /** The end of the window, in milliseconds since 1970. After the end, the sum is 0. */
  readonly endsAtMs: number;
  /** True for the usage of a caller whom no configuration lists. The number of such tables is bounded. */
  readonly isUnlisted?: boolean | undefined;
  /**
   * True for a table that begins with its first addition. If additions name different ends, the earliest end applies.
   */
  readonly isLife?: boolean | undefined;
  /**
   * For the usage of one session: the table that counts several sessions of the caller together. A new session is
   * counted there if the caller already has too many session tables.
   */
  readonly crowd?: string | undefined;
}

/** Amounts to add to sums of one table. */
export interface Addition extends Omit<Sum, "field"> {
  readonly amounts: readonly FieldAmount[];
}

/** An amount for one field of a table. */
export interface FieldAmount {
  readonly field: string;
  /** A whole number. */
  readonly amount: number;
}

/** The amount of a limit that a running request holds until the request ends. */
export interface Hold {
  /**
   * The key of the limit. Limits that count the same usage in different windows have the same key and thus the same
   * holds.
   */
  readonly key: string;
  /** The id of the request. */
  readonly id: string;
  /** A whole number. */
  readonly amount: number;
}

/** Changes that are made together, such as the usage of a request and the release of its holds. */
export interface Change {
  readonly additions: readonly Addition[];
  /** Holds to release. */
  readonly releases?: readonly Hold[];
  /** Holds to renew, for {@linkcode HOLD_MS} from now. */
  readonly holds?: readonly Hold[];
}

/** The amount that a limit counts: the total of some sums of one table, and all holds of running requests. */
export interface Counted {
  readonly sums: readonly Sum[];
  /** The key of the holds. */
  readonly key: string;
}

/** The claim of a request on one limit. */
export interface Claim extends Counted {
  /** The amount to hold for the request. */
  readonly amount: number;
  /** The maximum of the limit. The claim is rejected when the usage would exceed this maximum. */
  readonly most: number;
}

/** The use of a limit, in total. */
export interface LimitUse {
  /** The values of the limit's sums. */
  readonly counted: readonly number[];
  /** The total of the holds. */
  readonly held: number;
  /** The end of a life that has begun, in milliseconds since 1970. */
  readonly endsAtMs?: number | undefined;
}

/** The decision about the claims of a request. */
export interface Decision {
  /** True when every claim was granted, false when no claim was granted. */
  readonly isGranted: boolean;
  /** The use of each limit without the claim, in the order of the claims. */
  readonly uses: readonly LimitUse[];
}

/** A value, or a promise of the value when another process or thread must answer. */
export type Soon<Value> = Value | Promise<Value>;

/**
 * The lifetime of a hold of another process or thread after its last renewal, in milliseconds. When a process crashes,
 * its holds block a limit for no longer than this time.
 */
export const HOLD_MS = 120_000;

/**
 * Sums and holds, kept in this thread, in the main thread or in a store. No function throws or rejects: while the main
 * thread or the store is unreachable, results come from values that this thread knows.
 */
export interface Sums {
  /** The time since which everything is counted, in milliseconds since 1970, as far as this thread knows. */
  readonly sinceMs: number;
  /**
   * Makes changes: at once in this thread, a little later in the main thread or the store. Additions to sums that have
   * ended are ignored.
   */
  apply(change: Change): void;
  /**
   * Grants all claims of a request, or none. Two simultaneous requests never both get the last room. The request must
   * release its holds.
   *
   * @param id The id of the request.
   * @param lifetimeMs The lifetime of the holds; default: no end.
   */
  reserve(
    id: string,
    claims: readonly Claim[],
    lifetimeMs?: number,
  ): Soon<Decision>;
  /** Returns the use of each limit, in the order of `limits`. */
  uses(limits: readonly Counted[]): Soon<readonly LimitUse[]>;
  /** Returns the values in the order of `sums`. Each value was read at most `maxAgeMs` milliseconds ago; default 0. */
  read(sums: readonly Sum[], maxAgeMs?: number): Soon<readonly number[]>;
  /** Returns the sums of a table by field. */
  table(name: string): Soon<ReadonlyMap<string, number>>;
  /**
   * Returns true for the first call with the name. The call may take long, because no request waits for it.
   *
   * @param endsAtMs The time at which the name may be forgotten, in milliseconds since 1970.
   */
  once(name: string, endsAtMs: number): Soon<boolean>;
}

/** Applies a function to a value, now or after its promise resolves. */
export function soon<Value, Result>(
  value: Soon<Value>,
  use: (value: Value) => Soon<Result>,
): Soon<Result> {
  return value instanceof Promise ? value.then(use) : use(value);
}

/** Returns all values, or a promise when one of them is a promise. */
export function soonAll<Value>(
  list: readonly Soon<Value>[],
): Soon<readonly Value[]> {
  const ready = list.filter((one): one is Value => !(one instanceof Promise));
  return ready.length === list.length ? ready : Promise.all(list);
}

/** Decides about claims from the use of their limits. */
export function decide(
  claims: readonly Claim[],
  uses: readonly LimitUse[],
): Decision {
  const isGranted = claims.every(({ amount, most }, index) =>
    usedOf(uses[index]) + amount <= most
  );
  return { isGranted, uses };
}

/** Returns the total use of a limit. */
export function usedOf(use: LimitUse | undefined): number {
  if (use === undefined) return 0;
  return use.counted.reduce((used, amount) => used + amount, use.held);
}

/** Returns the holds of a request whose claims are granted: for each key, the largest claim. */
export function holdsOf(
  id: string,
  claims: readonly Claim[],
): readonly Hold[] {
  const amounts = new Map<string, number>();
  for (const { key, amount } of claims) {
    amounts.set(key, Math.max(amount, amounts.get(key) ?? 0));
  }
  return [...amounts].map(([key, amount]) => ({ key, id, amount }));
}
