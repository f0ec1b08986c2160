/**
 * Counts free descriptors by opening some and closing them again, because Deno reads their limit in `/proc` only with
 * all permissions.
 *
 * @returns The number that could be opened; `undefined` when `enough` are free.
 */
export function countFree(enough: number): number | undefined {
  const opened: Deno.FsFile[] = [];
  try {
    while (opened.length < enough) opened.push(Deno.openSync("/dev/null"));
    return undefined;
  } catch (error) {
    const isLimit = error instanceof Error && "code" in error &&
      error.code === "EMFILE";
    return isLimit ? opened.length : undefined;
  } finally {
    for (const one of opened) one.close();
  }
}
