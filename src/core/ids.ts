/** Where fresh identifiers come from; tests inject their own. */
export interface Ids {
  /**
   * A new identifier of 32 hexadecimal digits behind `prefix`, such as `req_0f3a…`.
   *
   * @param prefix Written before the digits, with an underscore between.
   */
  next(prefix: string): string;
}

/** Refilled for each identifier. */
const bytes = new Uint8Array(16);

/** Unguessable identifiers. */
export const randomIds: Ids = {
  // A text that V8 has only noted as the sum of two makes JSON.stringify() take its slow way; join() gives it whole.
  next: (prefix) => [prefix, crypto.getRandomValues(bytes).toHex()].join("_"),
};
