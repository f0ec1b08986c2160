/**
 * Caches a value for each object as long as the object lives. Use it for values that are expensive to compute.
 *
 * @param make Called once for each object.
 */
export function oncePer<Key extends object, Value>(
  make: (key: Key) => Value,
): (key: Key) => Value {
  const made = new WeakMap<Key, { readonly value: Value }>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known.value;
    const value = make(key);
    made.set(key, { value });
    return value;
  };
}

/** The longest text that is cached, in characters. A limit is needed because callers may send any text. */
const MAX_TEXT_LENGTH = 1024;

/** Caches the result of `make` for texts that occur often. Drops all results when there are `maxSize` texts. */
export function memoized<Value>(
  make: (text: string) => Value,
  maxSize: number,
): (text: string) => Value {
  const made = new Map<string, Value>();
  return (text) => {
    const known = made.get(text);
    if (known !== undefined) return known;
    const value = make(text);
    if (text.length > MAX_TEXT_LENGTH) return value;
    if (made.size >= maxSize) made.clear();
    made.set(text, value);
    return value;
  };
}

/** Runs work once for all concurrent callers with the same key. */
export class SingleFlight<Key, Value> {
  readonly #running = new Map<Key, Promise<Value>>();

  /**
   * Returns the result of `work`, or of the work that is already running for `key`. If a caller stops waiting, the work
   * continues for the other callers. No result is kept after the work settles, whether it succeeds or fails.
   */
  run(key: Key, work: () => Promise<Value>): Promise<Value> {
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const started = Promise.try(work).finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }
}
