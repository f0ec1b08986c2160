import type { Ids } from "@gateway/base/ids";
import type { JsonObject } from "@gateway/base/json";
import { MAIN_OPERATIONS, type Protocol } from "@gateway/base/protocol";
import type { Target } from "../canonical/codec.ts";
import { brokenAnswer } from "../canonical/failure/failure.ts";
import { CODECS } from "../codecs.ts";
import { keptRequest } from "../kept_request.ts";
import { readRequest, writeRequest } from "../translate_request.ts";
import type { Translator } from "../translate_stream.ts";
import { translateWhole } from "./answer_job.ts";
import { estimateTokens, parseBody } from "./request_job.ts";
import { openTranslator } from "./stream_job.ts";

/** The two sides of a translation. */
interface Sides {
  /** The protocol of the request, and of the answer that its caller gets. */
  readonly from: Protocol;
  /** The provider's protocol. */
  readonly to: Protocol;
  /** The provider's service and model, such as `openai-chat` and `gpt-5.2`. The two determine the dialect. */
  readonly target: Pick<Target, "service" | "model"> & Partial<Target>;
  /** True to reject a request in place of dropping a field; default: false. */
  readonly strict?: boolean | undefined;
}

/** The sources of ids and of time that an answer needs. */
interface Sources {
  /** The source of ids for parts to which the provider gives no id. */
  readonly ids: Ids;
  /** Returns milliseconds since 1970, as `Date.now` does. */
  readonly now: () => number;
}

/** A request in the provider's protocol, and the translations of its answer. */
interface TranslatedRequest {
  /** The body to send, as JSON. */
  readonly body: JsonObject;
  /** The fields that had to be dropped, in the caller's spelling. */
  readonly dropped: ReadonlySet<string>;
  /**
   * Translates a whole answer.
   *
   * @throws {UpstreamFailure} When the body reports an error, or is not an answer.
   */
  answer(bytes: Uint8Array<ArrayBuffer>, sources: Sources): Uint8Array;
  /**
   * Returns a transform of one streamed answer: `response.body.pipeThrough(…)`. The transform never fails: an error, an
   * early end or a broken body ends the stream with an error in the caller's protocol. When the answer is over or the
   * reader leaves, the transform cancels the body.
   */
  answerStream(sources: Sources): ReadableWritablePair<Uint8Array, Uint8Array>;
}

/**
 * Translates one request, and later its answer, between any two protocols. Runs in any runtime with web streams.
 *
 * @param request The caller's body, as bytes or parsed.
 * @throws {GatewayError} `invalid_request` when the request is invalid, or when dropping a field would change the
 * answer.
 */
export function translateRequest(
  request: Uint8Array | JsonObject,
  { from, to, target: { connectionId = "", ...target }, strict }: Sides,
): TranslatedRequest {
  const codec = CODECS[from];
  const { bytes, json } = request instanceof Uint8Array
    ? { bytes: request.length, json: parseBody(request) }
    : { bytes: JSON.stringify(request).length, json: request };
  const read = readRequest(json, codec);
  const { body, dropped, ...edits } = writeRequest(read, {
    ...{ to: CODECS[to], strict: strict === true, streamOnly: false },
    ...{ force: {}, omit: [] },
    target: { maxOutputTokens: undefined, connectionId, ...target },
  });
  const context = {
    model: read.request.model,
    request: keptRequest(read.request, codec),
    estimatedInputTokens: estimateTokens(bytes, read.request),
    requestId: "",
    connectionId,
  };
  const operation = MAIN_OPERATIONS[from];
  return {
    body,
    dropped,
    answer: (answer, { ids, now }) =>
      translateWhole(
        { ...edits, ...context, answer, operation, to, nowMs: now() },
        ids,
      ).bytes,
    answerStream: ({ ids, now }) =>
      transformOf(openTranslator({
        ...{ from: codec, to, edits },
        context: { ...context, ids, now, nowMs: now(), drop() {} },
      })),
  };
}

/** Returns a translator as web streams. Each write is one step. The reader sets the pace of the steps. */
function transformOf(
  translator: Translator,
): ReadableWritablePair<Uint8Array, Uint8Array> {
  const encoder = new TextEncoder();
  const breakOff = () =>
    translator.fail(brokenAnswer("The model's provider broke off"));
  const steps = new TransformStream<() => string, Uint8Array>({
    transform(step, controller) {
      const text = translated(step);
      if (text !== "") controller.enqueue(encoder.encode(text));
      if (translator.isOver()) controller.terminate();
    },
  });
  const writer = steps.writable.getWriter();

  /**
   * Runs a step. An exception is a bug of the gateway. It ends the answer in the same way as an error of the provider.
   */
  function translated(step: () => string): string {
    try {
      return step();
    } catch {
      return breakOff();
    }
  }

  return {
    readable: steps.readable,
    writable: new WritableStream({
      start(controller) {
        // The reader has left, or the answer is over.
        writer.closed.catch((reason) => controller.error(reason));
      },
      write: (bytes) => writer.write(() => translator.push(bytes)),
      close: () => writer.write(() => translator.end()),
      abort: () => writer.write(breakOff),
    }),
  };
}
