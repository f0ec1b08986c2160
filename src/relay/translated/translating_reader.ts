import {
  brokenAnswer,
  type Failure,
} from "../../protocols/canonical/failure/failure.ts";
import type { Translator } from "../../protocols/translate_stream.ts";
import { abandon } from "../../streams/discard.ts";
import type { ByteRead, ByteReader } from "../../streams/look_ahead.ts";

/**
 * Most bytes of a translated stream without any output, inflated: far more than an event may have. Compressed, they may
 * be a few hundred.
 */
export const MAX_EMPTY_BYTES: number = 16 * 1024 * 1024;

/** The failure of a stream with more of them. */
export const EMPTY_ANSWER: Failure = brokenAnswer(
  "The provider sent 16 MiB without any output",
);

/** How an upstream's bytes become the caller's. */
export interface TranslatingReaderOptions {
  readonly translator: Translator;
  /**
   * What it means that the upstream's bytes break off, by their error; throws where that means nothing to the caller.
   */
  readonly failureOf: (cause: unknown) => Failure;
}

/**
 * Reads a stream of one protocol as one of another: a chunk for each of the upstream's, an empty one where that means
 * nothing to the caller. Whatever goes wrong with the upstream is told in the caller's protocol, which ends the stream
 * then without looking whole; it throws only what `failureOf` throws, and what nobody foresaw. The upstream is given
 * up as soon as the answer is over, however long it lingers.
 */
export function createTranslatingReader(
  upstream: ByteReader,
  { translator, failureOf }: TranslatingReaderOptions,
): ByteReader {
  const encoder = new TextEncoder();
  let emptyBytes = 0;

  function give(text: string): ByteRead {
    if (translator.isOver()) abandon(upstream);
    return { done: false, value: encoder.encode(text) };
  }

  const breakOff = (cause: unknown) => give(translator.fail(failureOf(cause)));

  function translate({ done, value }: ByteRead): ByteRead {
    try {
      return give(done ? translator.end() : push(value));
    } catch (cause) {
      return breakOff(cause);
    }
  }

  function push(bytes: Uint8Array): string {
    const text = translator.push(bytes);
    emptyBytes = text === "" ? emptyBytes + bytes.length : 0;
    return emptyBytes > MAX_EMPTY_BYTES ? translator.fail(EMPTY_ANSWER) : text;
  }

  return {
    read: () =>
      translator.isOver()
        ? Promise.resolve({ done: true })
        : upstream.read().then(translate, breakOff),
    cancel: (reason) => upstream.cancel(reason),
  };
}
