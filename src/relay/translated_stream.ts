import type { Deadlines } from "../core/deadlines.ts";
import type { Failure } from "../protocols/canonical/failure.ts";
import type { Translator } from "../protocols/translate_stream.ts";
import { createByteReader } from "../streams/byte_reader.ts";
import { createIdleWatch, type IdleWatch } from "../streams/idle_watch.ts";
import { STALL_MS } from "../streams/pass_through.ts";

/** How a translated stream is read and told. */
export interface TranslatedStreamOptions {
  readonly translator: Translator;
  readonly deadlines: Deadlines;
  /** How long the upstream may be silent while the caller waits, in milliseconds; 0 means for ever. */
  readonly idleMs: number;
  /** What a broken source means; told of the source's error. */
  readonly failureOf: (cause: unknown) => Failure;
  /** Sees the text that goes out. */
  readonly onText: (text: string) => void;
  /** Called exactly once, when nothing more will happen. */
  readonly onEnd: (how: "over" | "cancelled") => void;
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

/** A caller hears something at least this often (design section 6), in milliseconds. */
const KEEP_ALIVE_MS = 15_000;

/**
 * Translates an upstream's stream as it comes, in one hop. Nothing is read ahead of the caller. Whatever goes
 * wrong with the upstream is told in the caller's protocol, and the stream never looks whole then.
 */
export function createTranslatedStream(
  source: ReadableStream<Uint8Array>,
  options: TranslatedStreamOptions,
): TranslatedStream {
  const { translator, deadlines } = options;
  const reader = createByteReader(source);
  const encoder = new TextEncoder();
  let held = "";
  let said = 0;
  let ended = false;
  let silence: Failure | undefined;
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let reading: Promise<void> | undefined;
  let isStallWatched = false;

  const idle = createIdleWatch({
    deadlines,
    idleMs: options.idleMs,
    onIdle() {
      silence = SILENT;
      abandon();
    },
  });
  /** Runs while the caller waits, from the last that it heard. */
  const keepAlive: IdleWatch = createIdleWatch({
    deadlines,
    idleMs: KEEP_ALIVE_MS,
    onIdle() {
      say(translator.keepAlive());
      keepAlive.wait();
    },
  });

  /** Runs from the first that the caller has not taken. */
  const stall = createIdleWatch({
    deadlines,
    idleMs: STALL_MS,
    onIdle() {
      isStallWatched = false;
      // What a pending read takes is taken without a further pull.
      if (controller?.desiredSize === 0) return;
      end("cancelled");
      controller?.error(new Error("The caller takes nothing"));
      abandon();
    },
  });

  function say(text: string): void {
    if (text === "" || ended) return;
    if (controller === undefined) {
      held += text;
      return;
    }
    said += text.length;
    options.onText(text);
    controller.enqueue(encoder.encode(text));
    keepAlive.wait();
    if (!isStallWatched) stall.wait();
    isStallWatched = true;
  }

  function end(how: "over" | "cancelled"): void {
    if (ended) return;
    ended = true;
    idle.stop();
    keepAlive.stop();
    stall.stop();
    options.onEnd(how);
  }

  function abandon(): void {
    reader.cancel().catch(() => {
      // The source is given up already; how it takes that changes nothing.
    });
  }

  /** Reads one chunk and says what it means. */
  async function step(): Promise<void> {
    idle.wait();
    try {
      const { done, value } = await reader.read();
      if (silence !== undefined) say(translator.fail(silence));
      else say(done ? translator.end() : translator.push(value));
    } catch (cause) {
      say(translator.fail(options.failureOf(cause)));
    } finally {
      idle.heard();
    }
  }

  /** One read at a time, whoever asks for it. */
  function stepOnce(): Promise<void> {
    reading ??= step().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  async function hold(
    isEnough: () => boolean,
    withinMs = KEEP_ALIVE_MS,
  ): Promise<boolean> {
    let isLate = false;
    const late = Promise.withResolvers<void>();
    const takeBack = deadlines.start(withinMs, () => {
      isLate = true;
      late.resolve();
    });
    try {
      while (!isLate && !translator.isOver && !isEnough()) {
        await Promise.race([stepOnce(), late.promise]);
      }
    } finally {
      takeBack();
    }
    return isLate && !translator.isOver && !isEnough();
  }

  /** Says what is held back, or else what comes next. */
  async function sayMore(): Promise<void> {
    const before = said;
    say(held);
    held = "";
    while (said === before && !translator.isOver && !ended) await stepOnce();
  }

  const body = new ReadableStream<Uint8Array>({
    async pull(itsController) {
      controller = itsController;
      isStallWatched = false;
      stall.heard();
      keepAlive.wait();
      try {
        await sayMore();
      } catch (error) {
        // Nobody foresaw it; the record must end all the same.
        end("over");
        abandon();
        throw error;
      }
      keepAlive.heard();
      if (ended || !translator.isOver) return;
      end("over");
      abandon();
      itsController.close();
    },
    cancel() {
      end("cancelled");
      abandon();
    },
  }, { highWaterMark: 0 });

  function discard(): void {
    ended = true;
    idle.stop();
    keepAlive.stop();
    stall.stop();
    abandon();
  }

  return { hold, body, discard };
}

const SILENT: Failure = {
  kind: "timeout",
  status: 504,
  message: "The model's provider fell silent: try again later",
  code: "upstream_timeout",
};
