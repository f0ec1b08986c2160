import { CallerLeft } from "../../upstream/call.ts";
import { GatewayError } from "@gateway/base/error";
import type { Deadlines } from "@gateway/base/time/deadlines";
import {
  brokenAnswer,
  type Failure,
  type openTranslator,
} from "@gateway/codecs";
import {
  abandon,
  type ByteRead,
  type ByteReader,
  readOut,
} from "@gateway/base/streams/byte_reader";
import { IdleError } from "@gateway/base/streams/watched_reader";
import { reasonOf } from "../../upstream/failure.ts";
import { isTokenRemoved } from "../request/admission.ts";

interface TranslatingReaderOptions {
  readonly translator: ReturnType<typeof openTranslator>;
  /** Converts the error of an upstream that broke off to a failure. Throws if the caller must not receive a failure. */
  readonly failureOf: (cause: unknown) => Failure;
  readonly deadlines: Deadlines;
}

/**
 * Reads a stream of one protocol and returns it in another protocol. Each chunk of the upstream gives one chunk. This
 * chunk is empty if the upstream's chunk adds nothing for the caller.
 *
 * An upstream's error is written in the caller's protocol. The stream ends with this error and without a regular end.
 * The reader itself throws only the errors of `failureOf`, and bugs. After the answer, it reads the rest of the
 * upstream's stream, so that the connection can serve again. If the rest does not end soon, it is cancelled.
 */
export function createTranslatingReader(
  upstream: ByteReader,
  { translator, failureOf, deadlines }: TranslatingReaderOptions,
): ByteReader {
  const encoder = new TextEncoder();

  function give(text: string): ByteRead {
    return { done: false, value: encoder.encode(text) };
  }

  function breakOff(cause: unknown): ByteRead {
    const text = translator.fail(failureOf(cause));
    abandon(upstream);
    return give(text);
  }

  function translate({ done, value }: ByteRead): ByteRead {
    try {
      const text = done ? translator.end() : translator.push(value);
      if (!done && translator.isOver()) readOut(upstream, deadlines);
      return give(text);
    } catch (cause) {
      return breakOff(cause);
    }
  }

  return {
    read: () =>
      translator.isOver()
        ? Promise.resolve({ done: true })
        : upstream.read().then(translate, breakOff),
    cancel: (reason) => upstream.cancel(reason),
  };
}

/**
 * Returns the failure that the caller receives when the upstream's bytes break off.
 *
 * @param signal The signal of the attempt.
 * @throws {CallerLeft} When the caller disconnected. A disconnect is not a failure of the upstream.
 */
export function failureOfBreak(
  cause: unknown,
  signal: AbortSignal,
): Failure {
  if (signal.reason instanceof CallerLeft) throw signal.reason;
  if (signal.reason instanceof GatewayError) {
    const { message, code } = signal.reason;
    return isTokenRemoved(signal.reason)
      ? { kind: "unauthenticated", message, code }
      : { kind: "overloaded", message };
  }
  if (cause instanceof IdleError) return SILENT;
  return brokenAnswer(`The model's provider broke off: ${reasonOf(cause)}`);
}

const SILENT: Failure = {
  kind: "silent",
  status: 504,
  message:
    "Cannot finish the answer: the model's provider sent nothing in time. Try again later.",
  code: "upstream_timeout",
};
