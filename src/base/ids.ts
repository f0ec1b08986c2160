/** A source of fresh identifiers; tests inject their own. */
export interface Ids {
  /**
   * Returns a new identifier: `prefix` and 32 hexadecimal digits, such as `req_0f3a…`.
   *
   * @param prefix Written before the digits, with an underscore between.
   */
  next(prefix: string): string;
}

/** A buffer that is refilled for each identifier. */
const bytes = new Uint8Array(16);

/** Returns unguessable identifiers. */
export const randomIds: Ids = {
  // join() returns a flat string. With a concatenated one, JSON.stringify() takes V8's slow path.
  next: (prefix) => [prefix, crypto.getRandomValues(bytes).toHex()].join("_"),
};
