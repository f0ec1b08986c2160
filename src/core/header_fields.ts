/**
 * A message's headers for whoever looks one up by its name in lower case: a `Headers`, or what {@linkcode readHeaders}
 * made of one.
 */
export interface HeaderFields {
  get(name: string): string | null | undefined;
  has(name: string): boolean;
  keys(): Iterable<string>;
  forEach(take: (value: string, name: string) => void): void;
}

/**
 * Reads headers once, for all who look one up: the platform takes ten times as long for each look-up as a map does.
 *
 * @returns Values by names in lower case. The values of a header that was repeated are joined by commas; of
 * `set-cookie`, which passes the gateway in neither direction, the last one stands for all.
 */
export function readHeaders(headers: Headers): HeaderFields {
  const fields = new Map<string, string>();
  headers.forEach((value, name) => fields.set(name, value));
  return fields;
}
