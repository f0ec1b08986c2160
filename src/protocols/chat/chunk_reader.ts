import type { Ids } from "../../core/ids.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../core/json.ts";
import type { Emit } from "../../core/stage.ts";
import type { AnswerEvent, StartEvent } from "../canonical/event.ts";
import {
  brokenAnswer,
  type Failure,
  oversizedAnswer,
} from "../canonical/failure.ts";
import { MAX_BLOCKS, MAX_HELD_CHARACTERS } from "../canonical/limits.ts";
import { settleStop, type Stop } from "../canonical/stop.ts";
import type { Usage } from "../canonical/usage.ts";
import { createBlockWriter } from "./block_writer.ts";
import { type DeltaSinks, readDelta } from "./delta_reader.ts";
import { decodeFailure } from "./failure.ts";
import { createDetailsGatherer } from "./reasoning_details.ts";
import { decodeStop } from "./stop.ts";
import { createToolCallTracker } from "./tool_call_tracker.ts";
import { decodeUsage } from "./usage.ts";

/** Turns the chunks of one answer into events. A whole answer is one chunk with a `message` for its `delta`. */
export interface ChunkReader {
  /** Takes the next chunk. */
  push(chunk: JsonObject, emit: Emit<AnswerEvent>): void;
  /** Closes what is open and ends the answer; a failure where nothing ever came. */
  finish(emit: Emit<AnswerEvent>): void;
  /** Ends the answer with a failure. */
  fail(failure: Failure, emit: Emit<AnswerEvent>): void;
  readonly hasFinishReason: boolean;
}

/** A reader for one answer. */
export function createChunkReader(ids: Ids): ChunkReader {
  let hasStarted = false;
  let isOver = false;
  let stop: Stop | undefined;
  let usage: Usage | undefined;
  let serviceTier: string | undefined;
  const details = createDetailsGatherer();
  const writer = createBlockWriter({ fail, takeSealed: () => details.take() });
  const calls = createToolCallTracker({
    ids,
    open: (head, emit) => writer.open(head, emit),
  });
  const sinks: DeltaSinks = { writer, details, calls };

  function fail(failure: Failure, emit: Emit<AnswerEvent>): void {
    if (isOver) return;
    isOver = true;
    emit({ type: "failure", failure });
  }

  function start(chunk: JsonObject, emit: Emit<AnswerEvent>): void {
    if (hasStarted) return;
    hasStarted = true;
    emit(startOf(chunk));
  }

  function readChoice(choice: JsonObject, emit: Emit<AnswerEvent>): void {
    if (choice.error !== undefined && choice.error !== null) {
      return fail(decodeFailure(200, { error: choice.error }), emit);
    }
    const delta = choice.delta ?? choice.message;
    if (isJsonObject(delta)) readDelta(delta, sinks, emit);
    if (
      typeof choice.finish_reason === "string" && choice.finish_reason !== ""
    ) {
      stop = decodeStop(choice.finish_reason);
    }
    if (choice.usage !== undefined) usage = decodeUsage(choice.usage) ?? usage;
  }

  return {
    push(chunk, emit) {
      if (isOver) return;
      // Some providers send checks of the prompt before the answer has an id.
      if (chunk.id) start(chunk, emit);
      for (const choice of Array.isArray(chunk.choices) ? chunk.choices : []) {
        if (!isFirstChoice(choice)) continue;
        start(chunk, emit);
        readChoice(choice, emit);
      }
      if (chunk.usage !== undefined) usage = decodeUsage(chunk.usage) ?? usage;
      if (typeof chunk.service_tier === "string") {
        serviceTier = chunk.service_tier;
      }
      if (
        calls.held + details.held > MAX_HELD_CHARACTERS ||
        calls.count > MAX_BLOCKS
      ) {
        fail(
          oversizedAnswer(
            "The provider's answer is longer than the gateway can hold",
          ),
          emit,
        );
      }
    },
    finish(emit) {
      if (isOver) return;
      if (!hasStarted) {
        return fail(brokenAnswer("The provider's stream held no answer"), emit);
      }
      writer.close(emit);
      calls.finish(emit);
      const sealed = details.take();
      if (sealed !== undefined) writer.giveSealed(sealed, emit);
      if (isOver) return;
      isOver = true;
      emit({
        type: "end",
        stop: settleStop(stop ?? { reason: "end" }, calls.hasBegun),
        usage,
        serviceTier: serviceTier === undefined
          ? undefined
          : { protocol: "chat", value: serviceTier },
      });
    },
    fail,
    get hasFinishReason() {
      return stop !== undefined;
    },
  };
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
 * Whether it is the choice that the gateway reads: the first one asked for. Without an index it may come in
 * several pieces, as GitHub Copilot tells an answer of text and calls.
 */
function isFirstChoice(choice: JsonValue): choice is JsonObject {
  return isJsonObject(choice) && (choice.index ?? 0) === 0;
}
