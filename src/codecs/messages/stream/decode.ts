import { wordSet } from "@gateway/base/collections";
import type { SseFrame } from "@gateway/base/frame";
import type { Ids } from "@gateway/base/ids";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import type { Emit, Stage } from "@gateway/base/stage";
import { CONTEXT_FULL, settleStop } from "../../canonical/answer/answer.ts";
import { readDroppedReasoning } from "../../canonical/answer/reasoning.ts";
import { isErrorBody } from "../../canonical/failure/error_body.ts";
import { MAX_BLOCKS, MAX_HELD_CHARACTERS } from "../../canonical/max_sizes.ts";
import {
  type AnswerEvent,
  type BlockHead,
  brokenEvent,
  NAMELESS_CALL,
  oversizedEvent,
  type StartEvent,
} from "../../canonical/stream/event.ts";
import { readFrames, textIn } from "../../canonical/stream/read_frames.ts";
import { decodeFailedStop, decodeStop, refusalBefore } from "../answer/stop.ts";
import { decodeUsage, mergeUsage } from "../answer/usage.ts";
import { decodeFailure } from "../errors.ts";
import { metadataOf, optionalText, otherFields } from "../request/fields.ts";
import {
  type BlockTracker,
  type BlockTrackerOptions,
  trackBlock,
} from "./block_tracker.ts";

/**
 * The blocks of one answer while their events arrive. Several blocks may be open at a time. An event names its block by
 * its `index`. This class calls that index the place of the block. An event without an index refers to the last block
 * that began. Invalid events fail the answer.
 */
class OpenBlocks {
  readonly #options: BlockTrackerOptions;
  readonly #trackers = new Map<number, BlockTracker>();
  #lastPlace = -1;
  /** The index of the next canonical block. */
  #nextIndex = 0;
  #hasCalls = false;

  constructor(ids: Ids) {
    this.#options = { ids, open: (block, emit) => this.#open(block, emit) };
  }

  get hasCalls(): boolean {
    return this.#hasCalls;
  }

  get hasBlocks(): boolean {
    return this.#nextIndex > 0 || this.#trackers.size > 0;
  }

  /** Reads a `content_block_start`. */
  start(event: JsonObject, emit: Emit<AnswerEvent>): void {
    const block = event.content_block;
    if (!isJsonObject(block) || typeof block.type !== "string") {
      return emit(brokenEvent("The provider began a block without a type"));
    }
    if (block.type === "tool_use" && !optionalText(block.name)) {
      return emit(brokenEvent(NAMELESS_CALL));
    }
    if (this.#nextIndex + this.#trackers.size >= MAX_BLOCKS) {
      return emit(oversizedEvent("The provider's answer has too many parts"));
    }
    const place = typeof event.index === "number"
      ? event.index
      : this.#lastPlace + 1;
    this.#lastPlace = place;
    this.#stopAt(place, emit);
    this.#trackers.set(place, trackBlock(block, this.#options, emit));
    this.#checkHeld(emit);
  }

  /** Reads a `content_block_delta`. */
  push(event: JsonObject, emit: Emit<AnswerEvent>): void {
    const tracker = this.#trackers.get(this.#placeOf(event));
    if (tracker === undefined) {
      return emit(
        brokenEvent("The provider continued a block that is not open"),
      );
    }
    if (!isJsonObject(event.delta)) return;
    tracker.push(event.delta, emit);
    if (tracker.held() > 0) this.#checkHeld(emit);
  }

  /** Reads a `content_block_stop`. */
  stop(event: JsonObject, emit: Emit<AnswerEvent>): void {
    this.#stopAt(this.#placeOf(event), emit);
  }

  /** Closes the open blocks at the end of the answer. */
  stopAll(emit: Emit<AnswerEvent>): void {
    for (const place of [...this.#trackers.keys()]) this.#stopAt(place, emit);
  }

  #placeOf({ index }: JsonObject): number {
    return typeof index === "number" ? index : this.#lastPlace;
  }

  #stopAt(place: number, emit: Emit<AnswerEvent>): void {
    const tracker = this.#trackers.get(place);
    this.#trackers.delete(place);
    tracker?.stop(emit);
  }

  #open(block: BlockHead, emit: Emit<AnswerEvent>): number {
    this.#hasCalls ||= block.kind === "function_call";
    const index = this.#nextIndex++;
    emit({ type: "block-start", index, block });
    return index;
  }

  #checkHeld(emit: Emit<AnswerEvent>): void {
    let held = 0;
    for (const tracker of this.#trackers.values()) held += tracker.held();
    if (held <= MAX_HELD_CHARACTERS) return;
    emit(
      oversizedEvent(
        "The provider's answer is longer than the gateway can hold",
      ),
    );
  }
}

const TEXT_FIELDS = ["text", "thinking", "partial_json"];

/**
 * Reads a Messages stream. The data of an event holds its type. The `event:` line counts only when the data has no
 * type, because some servers leave the line out. Only `message_stop` ends the stream.
 */
export function createStreamDecoder(ids: Ids): Stage<SseFrame, AnswerEvent> {
  const reader = new EventReader(ids);
  return readFrames({
    textPlace: ({ delta }) => textIn(delta, TEXT_FIELDS),
    push(event, name, emit) {
      if (name === "error") {
        // In an error without an envelope, `type` is the type of the error.
        emit({ type: "failure", failure: decodeFailure(200, event) });
      } else if (typeof event.type === "string") {
        reader.push(event, emit);
      } else {
        reader.push({ ...event, type: name ?? "" }, emit);
      }
    },
    done() {},
    end(emit) {
      emit(brokenEvent("The provider's stream ended before the answer did"));
    },
  });
}

/** The fields of a `message_delta` and of its `delta` that are read elsewhere. All other fields become metadata. */
const DELTA_FIELDS = wordSet(`
  type delta usage stop_reason stop_sequence stop_details input_transformations
`);

const NO_FIELDS: ReadonlySet<string> = new Set();

/** Converts the events of one answer to canonical events. The caller must ignore events after an end or a failure. */
export class EventReader {
  readonly #blocks: OpenBlocks;
  #hasStarted = false;
  /** The provider's counts so far. */
  #usage: JsonObject | undefined;
  /** The fields about the end of the answer. */
  #ending: JsonObject = {};

  constructor(ids: Ids) {
    this.#blocks = new OpenBlocks(ids);
  }

  /** Reads the next event, and ignores unknown types. */
  push(event: JsonObject, emit: Emit<AnswerEvent>): void {
    switch (event.type) {
      case "content_block_delta":
        return this.#blocks.push(event, emit);
      case "content_block_start":
        this.#start({}, emit);
        return this.#blocks.start(event, emit);
      case "content_block_stop":
        return this.#blocks.stop(event, emit);
      case "message_start":
        return this.#start(event.message, emit);
      case "message_delta":
        return this.#pushEnding(event);
      case "message_stop":
        return this.#end(emit);
      default:
        if (isErrorBody(event)) {
          emit({ type: "failure", failure: decodeFailure(200, event) });
        }
    }
  }

  /** Begins the answer once, even when the first event is not `message_start`. */
  #start(message: JsonValue | undefined, emit: Emit<AnswerEvent>): void {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    const facts = isJsonObject(message) ? message : {};
    this.#usage = mergeUsage(this.#usage, facts.usage);
    emit(startOf(facts));
  }

  /**
   * Reads a `message_delta`. The last `message_delta` with a reason counts, because some providers send the usage in a
   * further `message_delta` without a reason.
   */
  #pushEnding(event: JsonObject): void {
    const delta = isJsonObject(event.delta) ? event.delta : {};
    const fields = otherFields({ ...event, ...delta }, NO_FIELDS);
    if (fields.stop_reason !== undefined) this.#ending = fields;
    this.#usage = mergeUsage(this.#usage, event.usage);
  }

  #end(emit: Emit<AnswerEvent>): void {
    if (!this.#hasStarted) {
      return emit(brokenEvent("The provider's stream contained no answer"));
    }
    const failure = decodeFailedStop(this.#ending);
    if (failure !== undefined) return emit({ type: "failure", failure });
    const stop = settleStop(decodeStop(this.#ending), this.#blocks);
    if (stop.reason === "context_full" && !this.#blocks.hasBlocks) {
      return emit({ type: "failure", failure: CONTEXT_FULL });
    }
    this.#blocks.stopAll(emit);
    const tier = optionalText(this.#usage?.service_tier);
    const usage = decodeUsage(this.#usage);
    const refusal = usage && refusalBefore(this.#ending, usage);
    emit({
      type: "end",
      stop,
      usage: usage && (refusal === undefined ? usage : { ...usage, refusal }),
      serviceTier: tier === undefined
        ? undefined
        : { protocol: "messages", value: tier },
      ...readDroppedReasoning(this.#ending.input_transformations),
      providerMetadata: metadataOf(this.#ending, DELTA_FIELDS),
    });
  }
}

/** Returns the start of the answer. An input count of 0 means that the provider counts later. */
function startOf(
  { id, model, usage, input_transformations }: JsonObject,
): StartEvent {
  const counted = decodeUsage(usage);
  return {
    type: "start",
    id: optionalText(id) ?? "",
    model: optionalText(model) ?? "",
    usage: counted?.inputTokens === 0 ? undefined : counted,
    ...readDroppedReasoning(input_transformations),
  };
}
