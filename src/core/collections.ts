import type { Clock } from "./time/timers.ts";

/**
 * Values that expire. There is no timer: a value past its time is dropped when it is next asked for, and
 * its owner bounds the size with {@linkcode TtlCache.retain} or {@linkcode TtlCache.dropOldest}.
 */
export class TtlCache<Key, Value> {
  readonly #entries = new Map<Key, { value: Value; expiresAtMs: number }>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many values are held, the expired ones that nobody asked for included. */
  get size(): number {
    return this.#entries.size;
  }

  /** The value of `key`; undefined when there is none or its time is over. */
  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (this.#clock.elapsedMs() < entry.expiresAtMs) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  /** Holds `value` for `ttlMs` milliseconds from now. */
  set(key: Key, value: Value, { ttlMs }: { readonly ttlMs: number }): void {
    // Deleted first, for a map keeps a key where it was first set.
    this.#entries.delete(key);
    this.#entries.set(key, {
      value,
      expiresAtMs: this.#clock.elapsedMs() + ttlMs,
    });
  }

  /** Drops the value that was set longest ago. */
  dropOldest(): void {
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  /** Drops every value whose key is not among `keys`. */
  retain(keys: ReadonlySet<Key>): void {
    for (const key of this.#entries.keys()) {
      if (!keys.has(key)) this.#entries.delete(key);
    }
  }
}

interface Node<T> {
  readonly value: T;
  previous: Node<T> | undefined;
  next: Node<T> | undefined;
  isIn: boolean;
}

/** Takes a value out of its list; only the first call counts. */
export type TakeOut = () => void;

/**
 * Values in the order in which they were added, any of which can be taken out at once.
 *
 * It is for what comes and goes with every request. A `Set` that lives long gets a new table again and again, and
 * V8 links each old table, with what it held, to the next: once one of them counts as old, all that follow outlive
 * the cheap collections of young garbage, and so does whatever was in them.
 */
export class LinkedList<T> implements Iterable<T> {
  #first: Node<T> | undefined;
  #last: Node<T> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The value that has been in the list for longest; `undefined` when there is none. */
  get first(): T | undefined {
    return this.#first?.value;
  }

  /** Adds a value behind the others. */
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

  /** Takes out the value that has been in the list for longest. */
  shift(): T | undefined {
    const first = this.#first;
    if (first !== undefined) this.#remove(first);
    return first?.value;
  }

  /** From the oldest on; no value but the one that was given last may be taken out meanwhile. */
  *[Symbol.iterator](): Iterator<T> {
    let node = this.#first;
    while (node !== undefined) {
      const { next } = node;
      yield node.value;
      node = next;
    }
  }

  /** A node that is out must not lead to others, or it would keep them as a table of a `Set` does. */
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
 * What `table` holds under `key`; nothing for the keys that every object inherits, such as `constructor`. For
 * keys that come from outside.
 */
export function lookup<Value>(
  table: Readonly<Partial<Record<string, Value>>>,
  key: string,
): Value | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** Whether a list holds anything. */
export function isNonEmpty<Value>(
  list: readonly Value[],
): list is readonly [Value, ...Value[]] {
  return list.length > 0;
}

/** Bounds of a {@linkcode Recent}. */
interface RecentOptions {
  readonly clock: Clock;
  /** How long a value is kept after it was set, in milliseconds. */
  readonly ttlMs: number;
  /** How many are kept; what was set longest ago goes first. */
  readonly maxSize: number;
}

/** Values that were set recently. There is no timer: what is too old goes when it is asked for or pushed out. */
export class Recent<Value> {
  readonly #options: RecentOptions;
  readonly #cache: TtlCache<string, Value>;

  constructor(options: RecentOptions) {
    this.#options = options;
    this.#cache = new TtlCache(options.clock);
  }

  /** How many are held, those that nobody asked for since they expired included. */
  get size(): number {
    return this.#cache.size;
  }

  get(key: string): Value | undefined {
    return this.#cache.get(key);
  }

  set(key: string, value: Value): void {
    const { ttlMs, maxSize } = this.#options;
    this.#cache.set(key, value, { ttlMs });
    if (this.#cache.size > maxSize) this.#cache.dropOldest();
  }
}
