/** The number of descriptors that are opened in one turn of the event loop. Opening them takes about a millisecond. */
const SLICE = 64;

/** An open descriptor. */
type Descriptor = Pick<Deno.FsFile, "close">;

/**
 * Counts free descriptors by opening some and closing them again, because Deno reads their limit in `/proc` only with
 * all permissions. They are opened in slices of 64, and requests run between two slices. Up to 64 descriptors are
 * closed again before the call returns.
 *
 * @param open Opens a descriptor; default: one of `/dev/null`.
 * @returns The number of free descriptors; `undefined` when at least `enough` descriptors are free.
 */
export async function countFree(
  enough: number,
  open: () => Descriptor = () => Deno.openSync("/dev/null"),
): Promise<number | undefined> {
  const opened: Descriptor[] = [];
  const openUpTo = (count: number) => {
    while (opened.length < count) opened.push(open());
  };
  try {
    openUpTo(Math.min(enough, SLICE));
    while (opened.length < enough) {
      // Unlike an immediate, a timer lets Deno read from its sockets.
      await new Promise((resolve) => setTimeout(resolve, 0));
      openUpTo(Math.min(enough, opened.length + SLICE));
    }
    return undefined;
  } catch (error) {
    const isLimit = error instanceof Error && "code" in error &&
      error.code === "EMFILE";
    return isLimit ? opened.length : undefined;
  } finally {
    for (const one of opened) one.close();
  }
}
