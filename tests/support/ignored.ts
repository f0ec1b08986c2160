/** A test's name, and whether to ignore it. */
export interface NamedTest {
  readonly name: string;
  readonly ignore: boolean;
}

/**
 * Builds the name and the `ignore` flag of a test that needs an optional program. The runner prints
 * nothing but the name of an ignored test, so the name includes the reason.
 *
 * @param lacks Each is a reason, such as `there is no nginx here`, or any other value when nothing
 *   is missing. The first reason counts.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual(needing("it serves", false, "there is no nginx here"), {
 *   name: "it serves (ignored: there is no nginx here)",
 *   ignore: true,
 * });
 * assert.deepEqual(needing("it serves", undefined), {
 *   name: "it serves",
 *   ignore: false,
 * });
 * ```
 */
export function needing(
  name: string,
  ...lacks: readonly (string | false | undefined)[]
): NamedTest {
  const reason = lacks.find((one) => typeof one === "string");
  return reason === undefined
    ? { name, ignore: false }
    : { name: `${name} (ignored: ${reason})`, ignore: true };
}
