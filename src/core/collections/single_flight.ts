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
