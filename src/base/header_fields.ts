/** The headers of a message, read by name in lower case: a `Headers`, or the result of {@linkcode readHeaders}. */
export interface HeaderFields {
  get(name: string): string | null | undefined;
  has(name: string): boolean;
  keys(): Iterable<string>;
  forEach(take: (value: string, name: string) => void): void;
}

/**
 * Reads headers once for many look-ups: a look-up in a platform `Headers` takes ten times as long as one in a map.
 *
 * @returns Values by name in lower case. The values of a repeated header are joined by commas. Of `set-cookie` only the
 * last value is kept; the gateway forwards that header in neither direction.
 */
export function readHeaders(headers: HeaderFields): HeaderFields {
  if (headers instanceof Map) return headers;
  const fields = new Map<string, string>();
  headers.forEach((value, name) => fields.set(name, value));
  return fields;
}
