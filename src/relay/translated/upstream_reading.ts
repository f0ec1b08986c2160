import type { Deadlines } from "../../core/deadlines.ts";
import type { Failure } from "../../protocols/canonical/failure/failure.ts";
import type { Translator } from "../../protocols/translate_stream.ts";
import { createByteReader } from "../../streams/byte_reader.ts";
import { createIdleWatch } from "../../streams/idle_watch.ts";
import type { Secrets } from "../../upstream/secrets.ts";

/** How an upstream's stream is read and understood. */
export interface ReadingOptions {
  /** What must not be seen in the stream. */
  readonly secrets: Pick<Secrets, "cover">;
  readonly translator: Translator;
  readonly deadlines: Deadlines;
  /** How long the upstream may be silent while the caller waits, in milliseconds; 0 means forever. */
  readonly idleMs: number;
  /** What a broken source means; told of the source's error. */
  readonly failureOf: (cause: unknown) => Failure;
  /** Ends the reading when it aborts, even where the source does not notice. */
  readonly signal?: AbortSignal | undefined;
  /** Takes what the chunks mean, in the caller's protocol. */
  readonly say: (text: string) => void;
}

/** The reading of an upstream's stream. */
export interface Reading {
  /** Reads one chunk and says what it means; whoever asks meanwhile gets the same chunk. */
  step(): Promise<void>;
  /**
   * Reads until `isEnough` says so, the answer is over, or it takes too long; the chunk that is late then comes
   * with the next step.
   *
   * @returns Whether it took too long.
   */
  readUntil(isEnough: () => boolean, withinMs: number): Promise<boolean>;
  /** Gives the upstream up. */
  stop(): void;
}

/** Begins to read `source`, a chunk when asked for one. Whatever goes wrong with it is said, too. */
export function createReading(
  source: ReadableStream<Uint8Array>,
  { secrets, translator, deadlines, idleMs, failureOf, signal, say }:
    ReadingOptions,
): Reading {
  const reader = secrets.cover(createByteReader(source));
  let reading: Promise<void> | undefined;
  let isSilent = false;

  const idle = createIdleWatch({
    deadlines,
    idleMs,
    onIdle() {
      isSilent = true;
      abandon();
    },
  });

  function abandon(): void {
    reader.cancel().catch(() => {
      // The source is given up already; how it takes that changes nothing.
    });
  }

  signal?.addEventListener("abort", abandon, { once: true });

  async function readChunk(): Promise<void> {
    idle.wait();
    try {
      const { done, value } = await reader.read();
      if (isSilent) say(translator.fail(SILENT));
      else if (signal?.aborted) say(translator.fail(failureOf(signal.reason)));
      else say(done ? translator.end() : translator.push(value));
    } catch (cause) {
      say(translator.fail(failureOf(cause)));
    } finally {
      idle.heard();
    }
  }

  function step(): Promise<void> {
    reading ??= readChunk().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  return {
    step,
    readUntil: (isEnough, withinMs) =>
      stepWhile(() => !translator.isOver && !isEnough(), {
        step,
        lateness: startLateness(deadlines, withinMs),
      }),
    stop() {
      signal?.removeEventListener("abort", abandon);
      idle.stop();
      abandon();
    },
  };
}

/** Returns whether there would be more to read when it got late. */
async function stepWhile(
  isMore: () => boolean,
  { step, lateness }: {
    readonly step: () => Promise<void>;
    readonly lateness: Lateness;
  },
): Promise<boolean> {
  try {
    while (!lateness.hasCome && isMore()) {
      await Promise.race([step(), lateness.coming]);
    }
  } finally {
    lateness.takeBack();
  }
  return isMore();
}

/** A moment after which nobody waits any more. */
interface Lateness {
  readonly hasCome: boolean;
  readonly coming: Promise<void>;
  takeBack(): void;
}

function startLateness(deadlines: Deadlines, withinMs: number): Lateness {
  const { promise, resolve } = Promise.withResolvers<void>();
  let hasCome = false;
  const takeBack = deadlines.start(withinMs, () => {
    hasCome = true;
    resolve();
  });
  return {
    get hasCome() {
      return hasCome;
    },
    coming: promise,
    takeBack,
  };
}

const SILENT: Failure = {
  kind: "timeout",
  status: 504,
  message: "The model's provider fell silent: try again later",
  code: "upstream_timeout",
};
