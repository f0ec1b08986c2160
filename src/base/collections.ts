import type { Clock } from "./time/timers.ts";

/**
 * A cache whose values expire. There is no timer: an expired value is dropped when it is next read. To bound the size,
 * use {@linkcode TtlCache.retain} or the `maxSize` of {@linkcode TtlCache.set}.
 */
export class TtlCache<Key, Value> {
  readonly #entries = new Map<
    Key,
    { value: Value; expiresAtMs: number; owner: string }
  >();
  /** The keys of each owner, in the order in which they were set. */
  readonly #keys = new Map<string, Set<Key>>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The number of values, including expired ones that are not dropped yet. */
  get size(): number {
    return this.#entries.size;
  }

  /** Returns the value of `key`, or `undefined` when there is none or it has expired. */
  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (this.#clock.elapsedMs() < entry.expiresAtMs) return entry.value;
    this.#delete(key);
    return undefined;
  }

  /** Returns the time for which the value of `key` is still kept, in milliseconds; 0 when there is none. */
  ttlMs(key: Key): number {
    const { expiresAtMs = 0 } = this.#entries.get(key) ?? {};
    return Math.max(0, expiresAtMs - this.#clock.elapsedMs());
  }

  /**
   * Keeps `value` for `ttlMs` milliseconds. If there are then more than `maxSize` values, drops the oldest value of the
   * owner with the most values, so that no owner crowds out other owners.
   */
  set(
    key: Key,
    value: Value,
    { ttlMs, maxSize = Infinity, owner = "" }: {
      readonly ttlMs: number;
      readonly maxSize?: number;
      readonly owner?: string;
    },
  ): void {
    // Deleted first, because a map keeps the position in which a key was first set.
    this.#delete(key);
    this.#keys.set(owner, (this.#keys.get(owner) ?? new Set()).add(key));
    this.#entries.set(key, {
      value,
      expiresAtMs: this.#clock.elapsedMs() + ttlMs,
      owner,
    });
    if (this.#entries.size > maxSize) this.#dropOne();
  }

  #dropOne(): void {
    let most = new Set<Key>();
    for (const own of this.#keys.values()) if (own.size > most.size) most = own;
    for (const key of most) return this.#delete(key);
  }

  #delete(key: Key): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    const own = this.#keys.get(entry.owner);
    own?.delete(key);
    if (own?.size === 0) this.#keys.delete(entry.owner);
  }

  /** Drops every value whose key is not among `keys`. */
  retain(keys: ReadonlySet<Key>): void {
    for (const key of this.#entries.keys()) {
      if (!keys.has(key)) this.#delete(key);
    }
  }
}

interface Node<T> {
  readonly value: T;
  previous: Node<T> | undefined;
  next: Node<T> | undefined;
  isIn: boolean;
}

/** Removes a value from its list. Only the first call has an effect. */
export type TakeOut = () => void;

/**
 * A list in the order of insertion, from which any value can be removed in constant time.
 *
 * It suits values that come and go with every request. A long-lived `Set` often replaces its table, and V8 links each
 * old table, with its values, to the next. Once one of these old tables is in V8's old generation, the cheap collection
 * of young garbage frees neither the later tables nor their values.
 */
export class LinkedList<T> implements Iterable<T> {
  #first: Node<T> | undefined;
  #last: Node<T> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The oldest value in the list; `undefined` when the list is empty. */
  get first(): T | undefined {
    return this.#first?.value;
  }

  /** Adds a value at the end. */
  add(value: T): TakeOut {
    const node: Node<T> = {
      value,
      previous: this.#last,
      next: undefined,
      isIn: true,
    };
    if (node.previous === undefined) this.#first = node;
    else node.previous.next = node;
    this.#last = node;
    this.#size++;
    return () => {
      if (node.isIn) this.#remove(node);
    };
  }

  /** Removes the oldest value and returns it. */
  shift(): T | undefined {
    const first = this.#first;
    if (first !== undefined) this.#remove(first);
    return first?.value;
  }

  /** Iterates from the oldest value on. During the iteration, only the value that was yielded last may be removed. */
  *[Symbol.iterator](): Iterator<T> {
    let node = this.#first;
    while (node !== undefined) {
      const { next } = node;
      yield node.value;
      node = next;
    }
  }

  /** Clears the links of a removed node. The links would keep the node's neighbours in memory. */
  #remove(node: Node<T>): void {
    const { previous, next } = node;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    node.previous = undefined;
    node.next = undefined;
    node.isIn = false;
    this.#size--;
  }
}

/**
 * Returns the entry of `table` under `key`, for keys that come from outside. Keys that every object inherits, such as
 * `constructor`, have no entry.
 */
export function lookup<Value>(
  table: Readonly<Partial<Record<string, Value>>>,
  key: string,
): Value | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** Splits a text at white space, so that a long list of names can be written as one text. */
export function wordList(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

/** Splits a text as {@linkcode wordList} does, and returns the words as a set. */
export function wordSet(text: string): ReadonlySet<string> {
  return new Set(wordList(text));
}

/** Returns true when a list has elements. */
export function isNonEmpty<Value>(
  list: readonly Value[],
): list is readonly [Value, ...Value[]] {
  return list.length > 0;
}
