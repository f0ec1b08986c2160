/** Where bytes go at once, such as `Deno.stdout`. */
export interface SyncSink {
  /** Writes some of the bytes and returns how many. */
  writeSync(bytes: Uint8Array): number;
}

/** Writes all of a text; what a reader who has gone would have read is dropped. */
export function writeWhole(sink: SyncSink, text: string): void {
  let rest: Uint8Array = new TextEncoder().encode(text);
  try {
    while (rest.length > 0) rest = rest.subarray(sink.writeSync(rest));
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}
