/** A synchronous destination of bytes, such as `Deno.stdout`. */
interface SyncSink {
  /** Writes some of the bytes and returns their count. */
  writeSync(bytes: Uint8Array): number;
}

/**
 * Matches a code that commands send to a terminal, and captures this code as a group. Also matches, without a group,
 * any other character that could control the terminal, or hide or reverse text.
 */
const CONTROL_REGEXP = new RegExp(
  String
    .raw`(^\x1b\[2J\x1b\[H|^\r|\x1b\[K$|\x1b\[\d+m|\r\n|[\t\n])|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]`,
  "gu",
);

/**
 * Writes a whole text without characters that could control a terminal. Returns false when the sink takes no more, and
 * drops the rest.
 *
 * @param onFailure Called with the reason of a failed write, unless the reader has closed the pipe.
 */
export function writeWhole(
  sink: SyncSink,
  text: string,
  onFailure: (reason: string) => void = () => {},
): boolean {
  const shown = text.replace(CONTROL_REGEXP, (_, own = "\ufffd") => own);
  let rest: Uint8Array = new TextEncoder().encode(shown);
  try {
    while (rest.length > 0) rest = rest.subarray(sink.writeSync(rest));
    return true;
  } catch (error) {
    const isClosed = error instanceof Error && error.name === "BrokenPipe";
    if (!isClosed) onFailure(reasonOf(error));
    return false;
  }
}

/** Returns the reason of a failed write. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
