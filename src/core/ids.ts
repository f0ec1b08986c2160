/** Where fresh identifiers come from; tests inject their own. */
export interface Ids {
  /**
   * A new identifier of 32 hexadecimal digits behind `prefix`, such as `req_0f3a…`.
   *
   * @param prefix Written before the digits, with an underscore between.
   */
  next(prefix: string): string;
}

/** Unguessable identifiers. */
export const randomIds: Ids = {
  next: (prefix) => `${prefix}_${crypto.randomUUID().replaceAll("-", "")}`,
};
