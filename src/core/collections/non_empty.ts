/** Whether a list holds anything. */
export function isNonEmpty<Value>(
  list: readonly Value[],
): list is readonly [Value, ...Value[]] {
  return list.length > 0;
}
