/** A source of fresh identifiers; tests inject their own. */
export interface Ids {
  /**
   * Returns a new identifier: `prefix` and 32 hexadecimal digits, such as `req_0f3a…`.
   *
   * @param prefix Written before the digits, with an underscore between.
   */
  next(prefix: string): string;
}

/** The size of an identifier, in bytes. */
const ID_BYTES = 16;

/** Random bytes for the next identifiers. Each call of the platform's source costs as much as the rest. */
const pool = new Uint8Array(256 * ID_BYTES);
let used = pool.length;

function nextDigits(): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  return pool.subarray(used, used += ID_BYTES).toHex();
}

/** Returns unguessable identifiers. */
export const randomIds: Ids = {
  // join() returns a flat string. With a concatenated one, JSON.stringify() takes V8's slow path.
  next: (prefix) => [prefix, nextDigits()].join("_"),
};
