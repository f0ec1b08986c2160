/** The name of a test, and whether it is ignored. */
export interface NamedTest {
  readonly name: string;
  readonly ignore: boolean;
}

/** A reason to ignore a test, or none. */
type Lack = string | false | undefined;

/**
 * Returns the name of a test with requirements that this machine may lack. The name of an ignored test contains the
 * reason, because nothing else of it is printed.
 *
 * @param lacks The reasons to ignore the test, such as `there is no nginx here`. The first text counts; other values
 * are no reason.
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
export function needing(name: string, ...lacks: readonly Lack[]): NamedTest {
  const reason = lacks.find((one) => typeof one === "string");
  return reason === undefined
    ? { name, ignore: false }
    : { name: `${name} (ignored: ${reason})`, ignore: true };
}

/**
 * Registers a test with requirements that this machine may lack.
 *
 * @param lacks The reasons to ignore the test, as {@linkcode needing} takes them.
 */
export function testNeeding(
  name: string,
  lacks: Lack | readonly Lack[],
  fn: (t: Deno.TestContext) => void | Promise<void>,
): void {
  Deno.test({ ...needing(name, ...[lacks].flat()), fn });
}
