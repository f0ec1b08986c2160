/**
 * The value that a JSON pointer (RFC 6901) names.
 *
 * @param pointer Empty for `value` itself, else parts behind slashes, with `~1` for a slash and `~0` for
 * a tilde in a part.
 * @returns Undefined when there is no such value.
 */
export function valueAt(value: unknown, pointer: string): unknown {
  return pointer.split("/").slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce(memberOf, value);
}

/** A member of an object or an array; own members only, so that `constructor` names nothing. */
export function memberOf(value: unknown, part: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, part)?.value;
}
