/**
 * Remembers what is made of an object for as long as that is there: for what takes longer to work out than to keep.
 *
 * @param make Asked once for each object.
 */
export function oncePer<Key extends object, Value>(
  make: (key: Key) => Value,
): (key: Key) => Value {
  const made = new WeakMap<Key, { readonly value: Value }>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known.value;
    const value = make(key);
    made.set(key, { value });
    return value;
  };
}
