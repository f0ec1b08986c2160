import { JsonScanError } from "./scan_error.ts";
import { JsonWalker } from "./walker.ts";

/** Tells whether a JSON object that goes by came to its end. */
export interface JsonEnd {
  /** Sees the next bytes; keeps none of them and never throws. */
  push(bytes: Uint8Array): void;
  /**
   * Whether what has come is only the beginning of an object, or nothing at all. What is no JSON object is never
   * cut: nobody knows where it ends.
   */
  readonly isCut: boolean;
}

/** Has seen nothing yet. */
export function createJsonEnd(): JsonEnd {
  const walker = new JsonWalker();
  let isObject = true;

  function keepsTo(check: () => void): boolean {
    try {
      check();
      return true;
    } catch (error) {
      if (error instanceof JsonScanError) return false;
      throw error;
    }
  }

  return {
    push(bytes) {
      if (!isObject) return;
      walker.feed(bytes);
      isObject = keepsTo(() => {
        while (walker.next() !== undefined);
      });
    },
    get isCut() {
      return isObject && !keepsTo(() => walker.finish());
    },
  };
}
