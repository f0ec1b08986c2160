import { createReading, type ReadingOptions } from "./upstream_reading.ts";
import { createSpeaking, KEEP_ALIVE_MS } from "./caller_writer.ts";

/** How a translated stream ended: by itself, or because its caller left, or takes nothing any more. */
export type TranslatedEnd = "over" | "cancelled" | "stalled";

/** How a translated stream is read and told. */
export interface TranslatedStreamOptions extends Omit<ReadingOptions, "say"> {
  /** Sees the text that goes out. */
  readonly onText: (text: string) => void;
  /** Called exactly once, when nothing more will happen. */
  readonly onEnd: (how: TranslatedEnd) => void;
}

/** A translated stream that can be looked into before it is given away. */
export interface TranslatedStream {
  /**
   * Reads and translates the upstream until `isEnough` says so, the answer is over, or the caller has waited
   * for long enough; what has come is held back until then.
   *
   * @param withinMs How long the caller waits, in milliseconds; default: as long as for a keep-alive.
   * @returns Whether the caller has waited in vain.
   */
  hold(isEnough: () => boolean, withinMs?: number): Promise<boolean>;
  /** What has been held back and all that follows, for the caller. */
  readonly body: ReadableStream<Uint8Array>;
  /** Gives the upstream up, in place of giving `body` away; `onEnd` is not called. */
  discard(): void;
}

/**
 * Translates an upstream's stream as it comes, in one hop. Nothing is read ahead of the caller. Whatever goes
 * wrong with the upstream is told in the caller's protocol, and the stream never looks whole then.
 */
export function createTranslatedStream(
  source: ReadableStream<Uint8Array>,
  options: TranslatedStreamOptions,
): TranslatedStream {
  const { translator, deadlines, onText } = options;
  let isEnded = false;

  const speaking = createSpeaking({
    deadlines,
    keepAlive: () => translator.keepAlive(),
    onText,
    onStall: () => end("stalled"),
  });
  const reading = createReading(source, { ...options, say: speaking.say });

  function discard(): void {
    isEnded = true;
    speaking.stop();
    reading.stop();
  }

  function end(how: TranslatedEnd): void {
    if (isEnded) return;
    discard();
    options.onEnd(how);
  }

  /** Reads until the caller hears something, if it has not heard what was held back. */
  async function sayMore(): Promise<void> {
    while (!speaking.isHeard && !translator.isOver && !isEnded) {
      await reading.step();
    }
  }

  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        speaking.listen(controller);
        await sayMore();
      } catch (error) {
        // Nobody foresaw it; the record must end all the same.
        end("over");
        throw error;
      }
      speaking.rest();
      if (isEnded || !translator.isOver) return;
      end("over");
      controller.close();
    },
    cancel() {
      end("cancelled");
    },
  }, { highWaterMark: 0 });

  return {
    hold: (isEnough, withinMs = KEEP_ALIVE_MS) =>
      reading.readUntil(isEnough, withinMs),
    body,
    discard,
  };
}
