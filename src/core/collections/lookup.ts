/**
 * What `table` holds under `key`; nothing for the keys that every object inherits, such as `constructor`. For
 * keys that come from outside.
 */
export function lookup<Value>(
  table: Readonly<Partial<Record<string, Value>>>,
  key: string,
): Value | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
