import { wordSet } from "@gateway/base/collections";
import type { SseFrame } from "@gateway/base/frame";
import type { Ids } from "@gateway/base/ids";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import type { Emit, Stage } from "@gateway/base/stage";
import {
  CONTEXT_FULL,
  isGoodEnd,
  laterUsage,
  settleStop,
  type Stop,
  type Usage,
} from "../../canonical/answer/answer.ts";
import type { Citation } from "../../canonical/content/block.ts";
import { isErrorBody } from "../../canonical/failure/error_body.ts";
import {
  type AnswerEvent,
  brokenEvent,
  type StartEvent,
} from "../../canonical/stream/event.ts";
import {
  type PushText,
  readFrames,
  textIn,
  type TextPlace,
} from "../../canonical/stream/read_frames.ts";
import { pagesOf } from "../answer/citation.ts";
import { decodeEnd } from "../answer/stop.ts";
import { usageIn } from "../answer/usage.ts";
import { decodeFailure } from "../errors.ts";
import { DeltaReader } from "./delta_reader.ts";

/**
 * Reads a Chat Completions stream. The answer ends at `[DONE]`, because usage may follow the last chunk of the answer.
 * If a body ends without `[DONE]`, the answer is complete if a `finish_reason` arrived.
 */
export function createStreamDecoder(ids: Ids): Stage<SseFrame, AnswerEvent> {
  const reader = new ChunkReader(ids);
  return readFrames({
    textPlace,
    push(chunk, name, emit) {
      if (name === "error" || isErrorBody(chunk)) {
        emit({ type: "failure", failure: decodeFailure(200, chunk) });
      } else reader.push(chunk, emit);
    },
    pushText: reader.pushText,
    done: (emit) => reader.finish(emit),
    end(emit) {
      if (reader.hasFinishReason) return reader.finish(emit);
      emit(brokenEvent("The provider's stream ended before the answer did"));
    },
  });
}

/**
 * Converts the chunks of one answer to events. The caller must ignore events after an end or a failure. A whole answer
 * counts as one chunk with a `message` instead of a `delta`.
 */
export class ChunkReader {
  readonly #deltas: DeltaReader;
  #hasStarted = false;
  #hasDeltas = false;
  #stop: Stop | undefined;
  #usage: Usage | undefined;
  #pages: readonly Citation[] = [];
  #serviceTier: string | undefined;

  constructor(ids: Ids) {
    this.#deltas = new DeltaReader(ids);
  }

  /** True when a chunk has given the reason for the end. */
  get hasFinishReason(): boolean {
    return this.#stop !== undefined;
  }

  push(chunk: JsonObject, emit: Emit<AnswerEvent>): void {
    // Some providers first send a chunk without an id. It reports checks of the prompt.
    if (chunk.id) this.#start(chunk, emit);
    for (const choice of Array.isArray(chunk.choices) ? chunk.choices : []) {
      if (!isFirstChoice(choice)) continue;
      this.#start(chunk, emit);
      this.#readChoice(choice, emit);
    }
    const pages = pagesOf(chunk);
    if (pages.length > 0) this.#pages = pages;
    this.#usage = laterUsage(this.#usage, usageIn(chunk));
    if (typeof chunk.service_tier === "string") {
      this.#serviceTier = chunk.service_tier;
    }
  }

  /**
   * Takes the text of a chunk that differs from an earlier chunk only in this text. This is faster than {@linkcode
   * ChunkReader.push}.
   */
  readonly pushText: PushText = (text, field, emit) =>
    this.#deltas.emitText(
      field === "content" ? "text" : "reasoning",
      text,
      emit,
    );

  /** Closes the open blocks and ends the answer. If no chunk arrived, the answer ends with a failure. */
  finish(emit: Emit<AnswerEvent>): void {
    if (!this.#hasStarted) {
      return emit(brokenEvent("The provider's stream contained no answer"));
    }
    const given = this.#stop ?? { reason: "end" };
    this.#deltas.finish(given.reason, this.#pages, emit);
    const stop = settleStop(given, this.#deltas);
    if (stop.reason === "context_full" && !this.#deltas.hasBlocks) {
      return emit({ type: "failure", failure: CONTEXT_FULL });
    }
    emit({
      type: "end",
      stop,
      usage: this.#usage,
      serviceTier: this.#serviceTier === undefined
        ? undefined
        : { protocol: "chat", value: this.#serviceTier },
    });
  }

  #start(chunk: JsonObject, emit: Emit<AnswerEvent>): void {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    emit(startOf(chunk));
  }

  #readChoice(choice: JsonObject, emit: Emit<AnswerEvent>): void {
    if (isErrorBody(choice)) {
      return emit({ type: "failure", failure: decodeFailure(200, choice) });
    }
    this.#readDelta(choice, emit);
    this.#usage = laterUsage(this.#usage, usageIn(choice));
    this.#readEnd(choice, emit);
  }

  /** Reads the finish reason of a choice. A good reason does not replace a bad reason from an earlier chunk. */
  #readEnd(choice: JsonObject, emit: Emit<AnswerEvent>): void {
    const end = decodeEnd(choice);
    if (end === undefined) return;
    if ("failure" in end) return emit({ type: "failure", ...end });
    if (this.#stop === undefined || isGoodEnd(this.#stop)) {
      this.#stop = end.stop;
    }
  }

  /**
   * Reads the `delta` or `message` of a choice. A `message` after deltas is ignored, because it repeats all of the
   * deltas (github.com/abundantbeing/hermes-browser-extension/issues/11).
   */
  #readDelta({ delta, message }: JsonObject, emit: Emit<AnswerEvent>): void {
    if (isJsonObject(delta)) {
      this.#hasDeltas = true;
      this.#deltas.push(delta, false, emit);
    } else if (isJsonObject(message) && !this.#hasDeltas) {
      this.#deltas.push(message, true, emit);
    }
  }
}

function startOf(chunk: JsonObject): StartEvent {
  const { id, model, created } = chunk;
  return {
    type: "start",
    id: typeof id === "string" ? id : "",
    model: typeof model === "string" ? model : "",
    createdAtMs: typeof created === "number" && created > 0
      ? created * 1000
      : undefined,
  };
}

/**
 * Returns true for the first choice. The gateway reads no other choice. Choices without an index are parts of the first
 * choice: GitHub Copilot splits an answer of text and calls in this way.
 */
function isFirstChoice(choice: JsonValue): choice is JsonObject {
  return isJsonObject(choice) && (choice.index ?? 0) === 0;
}

/** The fields of a delta that hold text. A delta usually has one of these fields. */
const TEXT_FIELDS = ["content", "reasoning_content", "reasoning"];

/** The members of chunks, choices and deltas that add nothing to an answer that has begun. */
const QUIET = wordSet(`
  choices created delta id index model object role service_tier
  system_fingerprint
`);

/** Returns the place of text, reasoning or arguments in a chunk. */
function textPlace(chunk: JsonObject): TextPlace | undefined {
  const choice = firstOf(chunk.choices);
  const delta = choice?.delta;
  if (choice === undefined || !isJsonObject(delta)) return undefined;
  const place = textIn(delta, TEXT_FIELDS);
  if (place === undefined) {
    return textIn(firstOf(delta.tool_calls)?.function, ["arguments"]);
  }
  const isQuiet = (object: JsonObject) =>
    Object.entries(object).every(([name, value]) =>
      value === null || QUIET.has(name) ||
      TEXT_FIELDS.includes(name) && (value === "" || name === place.field)
    );
  const isOnly = Array.isArray(chunk.choices) && chunk.choices.length === 1;
  const isAlone = isOnly && isFirstChoice(choice) &&
    [chunk, choice, delta].every(isQuiet);
  return { ...place, isAlone };
}

function firstOf(list: JsonValue | undefined): JsonObject | undefined {
  const first = Array.isArray(list) ? list[0] : undefined;
  return isJsonObject(first) ? first : undefined;
}
