/** The number of events kept for a failure's report. */
const KEPT = 20_000;

/** The events of a history, in the order of virtual time. */
export class Trace {
  readonly #elapsedMs: () => number;
  #lines: { readonly atMs: number; readonly text: string }[] = [];
  /** A hash of all events. */
  digest = 0;

  /** @param elapsedMs Returns the virtual time since the start. */
  constructor(elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs;
  }

  /** Adds an event, such as `caller 17 leaves`. */
  note(text: string): void {
    const atMs = this.#elapsedMs();
    this.#lines.push({ atMs, text });
    if (this.#lines.length > 2 * KEPT) this.#lines = this.#lines.slice(-KEPT);
    for (let at = 0; at < text.length; at++) {
      this.digest = (Math.imul(this.digest, 31) + text.charCodeAt(at)) | 0;
    }
    this.digest = (Math.imul(this.digest, 31) + Math.round(atMs)) | 0;
  }

  /** Returns the last events, a line each. `about`, such as `#17`, selects those of one request. */
  last(count: number, about?: string): string[] {
    const found = about === undefined
      ? this.#lines
      : this.#lines.filter(({ text }) => text.split(" ").includes(about));
    return found.slice(-count)
      .map(({ atMs, text }) =>
        `${(atMs / 1000).toFixed(3).padStart(10)} s  ${text}`
      );
  }
}
