import type { Ids } from "@gateway/base/ids";
import { isDeepJson, parseJson } from "@gateway/base/json";
import type { Protocol } from "@gateway/base/protocol";
import { runStage } from "@gateway/base/stage";
import type { Answer, Usage } from "../canonical/answer/answer.ts";
import { foldAnswer, unfoldAnswer } from "../canonical/answer/fold.ts";
import type { RememberedReasoning } from "../canonical/answer/remembered_reasoning.ts";
import type { AnswerContext } from "../canonical/codec.ts";
import { unusableAnswer } from "../canonical/failure/failure.ts";
import type { CanonicalRequest } from "../canonical/request/request.ts";
import type { AnswerEvent } from "../canonical/stream/event.ts";
import type { AnswerEdits } from "../canonical/tools/restore_tools.ts";
import { CODECS } from "../codecs.ts";
import { editAnswer } from "../translate_stream.ts";
import { formatFrame } from "@gateway/base/streams/sse";
import { createReasoningWatch } from "./reasoning_watch.ts";
import { callerCodec, type CallerForm } from "./request_job.ts";

/*
 * As with a request, the translation of an answer is a pure function of plain data: the bytes are the same on each
 * thread.
 */

/** The maximum depth of a JSON body. No client sends a deeper body, and few upstreams accept one. */
export const MAX_DEPTH = 1000;

/** A whole answer to translate. */
export interface AnswerJob
  extends
    CallerForm,
    AnswerEdits,
    Omit<AnswerContext, "ids" | "drop" | "now" | "request"> {
  /** The bytes of the upstream's answer, or the answer that was collected from the upstream's stream. */
  readonly answer: Uint8Array<ArrayBuffer> | Answer;
  /** The upstream's protocol. */
  readonly to: Protocol;
  readonly request: CanonicalRequest;
}

/** A whole answer in the caller's protocol, and its facts for the record. */
export interface WrittenAnswer {
  /** One JSON object, or all events for a caller who requested a stream. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The model that the upstream names; empty if the upstream names no model. */
  readonly model: string;
  /** The canonical stop reason. */
  readonly stopReason: Answer["stop"]["reason"];
  readonly usage: Usage | undefined;
  /**
   * The upstream's reasons for leaving out earlier reasoning of the request; `undefined` if it left out no reasoning.
   */
  readonly reasoningDropped: readonly string[] | undefined;
  /** The reasoning that the upstream needs back with the results of the calls in its answer. */
  readonly reasoning: RememberedReasoning | undefined;
  /** The parts that the caller's protocol cannot express, by short names. */
  readonly droppedParts: readonly string[];
}

/**
 * Translates a whole answer.
 *
 * @throws {UpstreamFailure} When the body reports an error, or is not an answer.
 */
export function translateWhole(job: AnswerJob, ids: Ids): WrittenAnswer {
  const answer = foldAnswer(
    runStage(editAnswer(job, ids, true), eventsOf(readAnswer(job, ids))),
  );
  const droppedParts = new Set<string>();
  const text = writeAnswer(answer, job, {
    ...job,
    ids,
    drop: (part) => droppedParts.add(part),
  });
  return {
    bytes: encoder.encode(text),
    model: answer.model,
    stopReason: answer.stop.reason,
    usage: answer.usage,
    reasoningDropped: answer.reasoningDropped,
    reasoning: reasoningIn(answer, job),
    droppedParts: [...droppedParts],
  };
}

function reasoningIn(
  answer: Answer,
  job: AnswerJob,
): RememberedReasoning | undefined {
  const watch = createReasoningWatch(callerCodec(job), job);
  unfoldAnswer(answer, watch.see);
  return watch.reasoning();
}

function readAnswer({ answer, to }: AnswerJob, ids: Ids): Answer {
  if (!(answer instanceof Uint8Array)) return answer;
  const text = decoder.decode(answer);
  if (isDeepJson(text, MAX_DEPTH)) {
    throw unusableAnswer("it is nested too deeply");
  }
  const json = parseJson(text);
  if (json === undefined) throw unusableAnswer("it is not JSON");
  try {
    return CODECS[to].decodeAnswer(json, ids);
  } catch (error) {
    throw error instanceof RangeError
      ? unusableAnswer("it is nested too deeply")
      : error;
  }
}

function writeAnswer(
  answer: Answer,
  { request, ...form }: AnswerJob,
  context: AnswerContext,
): string {
  const from = callerCodec(form);
  return request.stream
    ? runStage(from.createStreamEncoder(context), eventsOf(answer))
      .map(formatFrame).join("")
    : JSON.stringify(from.encodeAnswer(answer, context));
}

function eventsOf(answer: Answer): readonly AnswerEvent[] {
  const events: AnswerEvent[] = [];
  unfoldAnswer(answer, (event) => {
    events.push(event);
  });
  return events;
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();
