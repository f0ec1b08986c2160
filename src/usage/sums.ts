/**
 * One counter of a window of time. Its names are made of names in the configuration, of windows and of units: they
 * hold no secret and nothing of a request.
 */
export interface Sum {
  /** What is read together, such as all that one token used in one hour; the sums of a table end together. */
  readonly table: string;
  readonly field: string;
  /** Milliseconds since 1970; from then on the sum is 0. */
  readonly endsAtMs: number;
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

/** What a running request holds of a limit until it ends. */
export interface Hold {
  /** Names the limit; limits that count the same in different windows share their holds. */
  readonly key: string;
  /** Names the request. */
  readonly id: string;
  /** A whole number. */
  readonly amount: number;
}

/** Changes that belong together, such as what a request used and the end of its holds. */
export interface Change {
  readonly additions: readonly Addition[];
  /** Holds that end. */
  readonly releases?: readonly Hold[];
  /** Holds that go on, for {@linkcode HOLD_MS} from now. */
  readonly holds?: readonly Hold[];
}

/** What counts for a limit: the total of some sums of one table, and all that running requests hold. */
export interface Counted {
  readonly sums: readonly Sum[];
  /** The key of the holds. */
  readonly key: string;
}

/** What a request asks of one limit. */
export interface Claim extends Counted {
  /** What the request is to hold. */
  readonly amount: number;
  /** The claim is refused when more than this would be used. */
  readonly most: number;
}

/** How far a limit is used: all of it together. */
export interface LimitUse {
  /** Each of its sums. */
  readonly counted: readonly number[];
  /** What running requests hold. */
  readonly held: number;
}

/** The answer to the claims of a request. */
export interface Decision {
  /** Whether every claim was granted; else none was. */
  readonly isGranted: boolean;
  /** How far each limit is used without the claim, in the order of the claims. */
  readonly uses: readonly LimitUse[];
}

/** A value, or a promise of it where another process or thread has to be asked. */
export type Soon<Value> = Value | Promise<Value>;

/**
 * A hold of another process or thread ends this long after its last sign of life, in milliseconds, so that a crash
 * blocks no limit for longer.
 */
export const HOLD_MS = 120_000;

/**
 * Sums and holds, kept in this thread, in the main thread or in a store. No function throws or rejects: while the
 * keeper is out of reach, the answers come from what is known here.
 */
export interface Sums {
  /** Since when everything is counted, in milliseconds since 1970, as far as is known here. */
  readonly sinceMs: number;
  /** Makes changes: here at once, at the keeper a little later. Additions to sums that have ended are left out. */
  apply(change: Change): void;
  /**
   * Grants all claims of a request, or none. Two requests that ask at once never both get the last that is left. The
   * request has to release its holds.
   *
   * @param id Names the request.
   * @param lifetimeMs When the holds end by themselves; default never.
   */
  reserve(
    id: string,
    claims: readonly Claim[],
    lifetimeMs?: number,
  ): Soon<Decision>;
  /** Returns how far limits are used, in the same order. */
  uses(limits: readonly Counted[]): Soon<readonly LimitUse[]>;
  /** Returns sums in the same order, none read longer than `maxAgeMs` ago; default 0. */
  read(sums: readonly Sum[], maxAgeMs?: number): Soon<readonly number[]>;
  /** Returns the sums of a table by their field. */
  table(name: string): Soon<ReadonlyMap<string, number>>;
  /**
   * Returns whether this is the first call with the name. No request waits for it, so that the answer may take long.
   *
   * @param endsAtMs When the name may be forgotten, in milliseconds since 1970.
   */
  once(name: string, endsAtMs: number): Soon<boolean>;
}

/** Goes on with a value at once, or as soon as it is there. */
export function soon<Value, Result>(
  value: Soon<Value>,
  use: (value: Value) => Soon<Result>,
): Soon<Result> {
  return value instanceof Promise ? value.then(use) : use(value);
}

/** Returns all values at once, or as soon as the last is there. */
export function soonAll<Value>(
  list: readonly Soon<Value>[],
): Soon<readonly Value[]> {
  const ready = list.filter((one): one is Value => !(one instanceof Promise));
  return ready.length === list.length ? ready : Promise.all(list);
}

/** Decides claims by how far their limits are used. */
export function decide(
  claims: readonly Claim[],
  uses: readonly LimitUse[],
): Decision {
  const isGranted = claims.every(({ amount, most }, index) =>
    usedOf(uses[index]) + amount <= most
  );
  return { isGranted, uses };
}

/** Returns all that is used of a limit. */
export function usedOf(use: LimitUse | undefined): number {
  if (use === undefined) return 0;
  return use.counted.reduce((used, amount) => used + amount, use.held);
}

/** Returns what a request holds once its claims are granted. */
export function holdsOf(
  id: string,
  claims: readonly Claim[],
): readonly Hold[] {
  return claims.map(({ key, amount }) => ({ key, id, amount }));
}
