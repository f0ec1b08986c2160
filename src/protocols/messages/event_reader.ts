import type { Ids } from "../../core/ids.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { Emit } from "../../core/stage.ts";
import type { AnswerEvent, StartEvent } from "../canonical/event.ts";
import {
  brokenAnswer,
  type Failure,
  oversizedAnswer,
} from "../canonical/failure.ts";
import { MAX_BLOCKS, MAX_HELD_CHARACTERS } from "../canonical/limits.ts";
import { settleStop } from "../canonical/stop.ts";
import { type BlockTracker, trackBlock } from "./block_tracker.ts";
import { decodeFailure } from "./failure.ts";
import { marksOf, optionalText, otherFields } from "./fields.ts";
import { decodeStop } from "./stop.ts";
import { decodeUsage, mergeUsage } from "./usage.ts";

/** Turns the events of one answer into canonical ones. */
export interface EventReader {
  /** Takes the next event; one of a kind unknown here is ignored. */
  push(event: JsonObject, emit: Emit<AnswerEvent>): void;
  /** Ends the answer with a failure. */
  fail(failure: Failure, emit: Emit<AnswerEvent>): void;
}

/** What stands around a `message_delta`'s own fields, or inside its `delta`. */
const DELTA_FIELDS: ReadonlySet<string> = new Set([
  "type",
  "delta",
  "usage",
  "stop_reason",
  "stop_sequence",
  "stop_details",
]);

const NO_FIELDS: ReadonlySet<string> = new Set();

/** A reader for one answer. */
export function createEventReader(ids: Ids): EventReader {
  const open = new Map<number, BlockTracker>();
  let nextIndex = 0;
  let lastPlace = -1;
  let hasStarted = false;
  let hasCalls = false;
  let isOver = false;
  let usage: JsonObject | undefined;
  let ending: JsonObject = {};

  const options = {
    ids,
    open(block, emit) {
      hasCalls ||= block.kind === "function_call";
      emit({ type: "block-start", index: nextIndex, block });
      return nextIndex++;
    },
  } satisfies Parameters<typeof trackBlock>[1];

  function fail(failure: Failure, emit: Emit<AnswerEvent>): void {
    if (isOver) return;
    isOver = true;
    emit({ type: "failure", failure });
  }

  function breakOff(message: string, emit: Emit<AnswerEvent>): void {
    fail(brokenAnswer(message), emit);
  }

  /** The answer begins once, with its first event if that is not the one for it. */
  function start(message: JsonObject, emit: Emit<AnswerEvent>): void {
    if (hasStarted) return;
    hasStarted = true;
    usage = mergeUsage(usage, message.usage);
    emit(startOf(message));
  }

  function startBlock(event: JsonObject, emit: Emit<AnswerEvent>): void {
    start({}, emit);
    const block = event.content_block;
    if (!isJsonObject(block) || typeof block.type !== "string") {
      return breakOff("The provider began a block of no kind", emit);
    }
    if (block.type === "tool_use" && !optionalText(block.name)) {
      return breakOff("The provider called a tool without a name", emit);
    }
    if (nextIndex + open.size >= MAX_BLOCKS) {
      return fail(
        oversizedAnswer("The provider's answer has too many parts"),
        emit,
      );
    }
    lastPlace = typeof event.index === "number" ? event.index : lastPlace + 1;
    stopBlock(lastPlace, emit);
    open.set(lastPlace, trackBlock(block, options, emit));
    checkHeld(emit);
  }

  function pushDelta(event: JsonObject, emit: Emit<AnswerEvent>): void {
    const tracker = open.get(placeOf(event));
    if (tracker === undefined) {
      return breakOff("The provider continued a block that is not open", emit);
    }
    if (!isJsonObject(event.delta)) return;
    tracker.push(event.delta, emit);
    if (tracker.held > 0) checkHeld(emit);
  }

  function stopBlock(place: number, emit: Emit<AnswerEvent>): void {
    const tracker = open.get(place);
    open.delete(place);
    tracker?.stop(emit);
  }

  function placeOf({ index }: JsonObject): number {
    return typeof index === "number" ? index : lastPlace;
  }

  function checkHeld(emit: Emit<AnswerEvent>): void {
    let held = 0;
    for (const tracker of open.values()) held += tracker.held;
    if (held <= MAX_HELD_CHARACTERS) return;
    fail(
      oversizedAnswer(
        "The provider's answer is longer than the gateway can hold",
      ),
      emit,
    );
  }

  /** The last event with a reason counts: some upstreams send usage in one more without. */
  function pushEnding(event: JsonObject): void {
    const delta = isJsonObject(event.delta) ? event.delta : {};
    const fields = otherFields({ ...event, ...delta }, NO_FIELDS);
    if (fields.stop_reason !== undefined) ending = fields;
    usage = mergeUsage(usage, event.usage);
  }

  function end(emit: Emit<AnswerEvent>): void {
    if (!hasStarted) {
      return breakOff("The provider's stream held no answer", emit);
    }
    for (const place of [...open.keys()]) stopBlock(place, emit);
    isOver = true;
    const tier = optionalText(usage?.service_tier);
    emit({
      type: "end",
      stop: settleStop(decodeStop(ending), hasCalls),
      usage: decodeUsage(usage),
      serviceTier: tier === undefined
        ? undefined
        : { protocol: "messages", value: tier },
      marks: marksOf(ending, DELTA_FIELDS),
    });
  }

  return {
    push(event, emit) {
      if (isOver) return;
      switch (event.type) {
        case "content_block_delta":
          return pushDelta(event, emit);
        case "content_block_start":
          return startBlock(event, emit);
        case "content_block_stop":
          return stopBlock(placeOf(event), emit);
        case "message_start":
          return start(isJsonObject(event.message) ? event.message : {}, emit);
        case "message_delta":
          return pushEnding(event);
        case "message_stop":
          return end(emit);
        case "error":
          return fail(decodeFailure(200, event), emit);
        default:
          if (isJsonObject(event.error)) fail(decodeFailure(200, event), emit);
      }
    },
    fail,
  };
}

/** Counts of 0 and 0 mean that the upstream counts later. */
function startOf({ id, model, usage }: JsonObject): StartEvent {
  const counted = decodeUsage(usage);
  return {
    type: "start",
    id: optionalText(id) ?? "",
    model: optionalText(model) ?? "",
    usage: counted?.inputTokens === 0 ? undefined : counted,
  };
}
