/** Where lines go in the end, such as `Deno.stdout`. */
export interface ByteSink {
  /** Writes some of the bytes and resolves to how many. */
  write(bytes: Uint8Array): Promise<number>;
}

/** Writes lines without making their writers wait. */
export interface LineWriter {
  /** Takes one line with its line feed. */
  readonly write: (line: string) => void;
  /** Resolves when everything taken so far is written. */
  flush(): Promise<void>;
}

/** How a {@linkcode LineWriter} trades time for calls. */
export interface LineWriterOptions {
  /** How long a line may wait for others, in milliseconds. */
  readonly delayMs?: number;
  /** How much may wait; what comes on top is dropped and counted, so that a stuck reader costs no memory. */
  readonly maxWaitingCharacters?: number;
}

/** Gathers lines for a moment and writes them together. */
export function createLineWriter(
  sink: ByteSink,
  options: LineWriterOptions = {},
): LineWriter {
  const { delayMs = 20, maxWaitingCharacters = 8 * 1024 * 1024 } = options;
  const encoder = new TextEncoder();
  let waiting = "";
  let dropped = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing: Promise<void> | undefined;

  async function writeOut(): Promise<void> {
    while (waiting !== "") {
      const text = waiting + droppedLine(dropped);
      waiting = "";
      dropped = 0;
      await writeAll(sink, encoder.encode(text));
    }
  }

  function start(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing ??= writeOut()
      .catch(() => {
        // Whoever read the lines is gone; the gateway serves on without them.
      })
      .finally(() => {
        writing = undefined;
      });
    return writing;
  }

  return {
    write(line) {
      if (waiting.length + line.length > maxWaitingCharacters) {
        dropped++;
        return;
      }
      waiting += line;
      if (writing === undefined) timer ??= setTimeout(start, delayMs);
    },
    async flush() {
      await start();
      if (waiting !== "") await start();
    },
  };
}

async function writeAll(sink: ByteSink, bytes: Uint8Array): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    written += await sink.write(bytes.subarray(written));
  }
}

function droppedLine(count: number): string {
  return count === 0
    ? ""
    : JSON.stringify({ level: "warn", event: "log_lines_dropped", count }) +
      "\n";
}
