/** A folder of a test, which is removed at the end. */
export interface TempFolder extends AsyncDisposable {
  readonly path: string;
}

/** Creates an empty folder. */
export async function openTempFolder(): Promise<TempFolder> {
  const path = await Deno.makeTempDir();
  const remove = () => Deno.remove(path, { recursive: true });
  return { path, [Symbol.asyncDispose]: remove };
}
