/** A synchronous destination of bytes, such as `Deno.stdout`. */
interface SyncSink {
  /** Writes some of the bytes and returns their count. */
  writeSync(bytes: Uint8Array): number;
}

/**
 * Writes a whole text. Returns false when the sink takes no more, and drops the rest.
 *
 * @param onFailure Called with the reason, unless the reader has closed the pipe.
 */
export function writeWhole(
  sink: SyncSink,
  text: string,
  onFailure: (reason: string) => void = () => {},
): boolean {
  let rest: Uint8Array = new TextEncoder().encode(text);
  try {
    while (rest.length > 0) rest = rest.subarray(sink.writeSync(rest));
    return true;
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) onFailure(reasonOf(error));
    return false;
  }
}

/** Returns the reason of a failed write. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
