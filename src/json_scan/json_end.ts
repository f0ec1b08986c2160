import { JsonScanError } from "./scan_error.ts";
import { JsonWalker } from "./walker.ts";

/** Tells whether a JSON object that goes by came to its end. */
export class JsonEnd {
  readonly #walker = new JsonWalker();
  #isObject = true;

  /** Sees the next bytes; keeps none of them and never throws. */
  push(bytes: Uint8Array): void {
    if (!this.#isObject) return;
    this.#walker.feed(bytes);
    this.#isObject = this.#keepsTo(() => {
      while (this.#walker.next() !== undefined);
    });
  }

  /**
   * Whether what has come is only the beginning of an object, or nothing at all. What is no JSON object is never
   * cut: nobody knows where it ends.
   */
  isCut(): boolean {
    return this.#isObject && !this.#keepsTo(() => this.#walker.finish());
  }

  #keepsTo(check: () => void): boolean {
    try {
      check();
      return true;
    } catch (error) {
      if (error instanceof JsonScanError) return false;
      throw error;
    }
  }
}
