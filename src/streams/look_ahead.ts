/**
 * What reads a body chunk by chunk: the reader of a stream, or one that can look ahead. Several stand one behind
 * another in each stream, and all of them wait for most of the time. So they go on with `then`: an `async` function
 * that waits takes a quarter of a KiB more, for each of them and anew for each chunk.
 */
export interface ByteReader
  extends Pick<ReadableStreamDefaultReader<Uint8Array>, "cancel"> {
  read(): Promise<ByteRead>;
}

/** One step of a {@linkcode ByteReader}. */
export type ByteRead = ReadableStreamReadResult<Uint8Array> & {
  /** The chunk as `byteText` has it, where that was made already. */
  readonly text?: string | undefined;
};

/** A reader whose next chunks can be seen before they are read. */
export interface LookAhead extends ByteReader {
  /** One chunk further than was seen so far; `read` gives all of them again, in order, but for empty ones. */
  peek(): Promise<ByteRead>;
}

/**
 * Puts the ability to look ahead on a reader; what is seen and not yet read is held in memory. An empty chunk, which is
 * only a sign that the source is at work, is not: there may be millions of them.
 */
export function createLookAhead(reader: ByteReader): LookAhead {
  const seen: Promise<ByteRead>[] = [];
  return {
    async peek() {
      const next = reader.read();
      seen.push(next);
      const read = await next;
      if (read.value?.length === 0 && seen.at(-1) === next) seen.pop();
      return read;
    },
    read: () => seen.shift() ?? reader.read(),
    cancel: (reason) => reader.cancel(reason),
  };
}
