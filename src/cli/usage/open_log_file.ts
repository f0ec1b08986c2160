/**
 * Opens a log for {@linkcode runUsage}.
 *
 * @param path A file; undefined for standard input.
 * @throws {Error} When it cannot be opened, with a reason for people.
 */
export async function openLogFile(
  path: string | undefined,
): Promise<AsyncIterable<Uint8Array>> {
  if (path === undefined) return Deno.stdin.readable;
  try {
    return (await Deno.open(path)).readable;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      throw new Error("there is no such file", { cause: error });
    }
    if (error instanceof Deno.errors.PermissionDenied) {
      throw new Error("it may not be read", { cause: error });
    }
    throw error;
  }
}
