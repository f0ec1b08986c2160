/**
 * Remembers what is made of an object for as long as that is there: for what takes longer to work out than to keep.
 *
 * @param make Asked once for each object.
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

/** Lets concurrent askers for the same thing share one piece of work. */
export class SingleFlight<Key, Value> {
  readonly #running = new Map<Key, Promise<Value>>();

  /**
   * The result of `work`, or of the work for `key` that is already running. Askers who stop waiting
   * leave it running for the others. Nothing is kept once it has settled, failures neither.
   */
  run(key: Key, work: () => Promise<Value>): Promise<Value> {
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const started = Promise.try(work).finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }
}
