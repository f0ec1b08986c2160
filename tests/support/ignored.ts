/** What a test is called and whether it is ignored. */
export interface NamedTest {
  readonly name: string;
  readonly ignore: boolean;
}

/**
 * A test that needs what may not be here. Where it is ignored, its name says why, since nothing else of it is
 * printed.
 *
 * @param lacks What is wrong, such as `there is no nginx here`; anything but a text: nothing. The first one counts.
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
