import type { SseFrame } from "../../../core/frame.ts";
import type { Ids } from "../../../core/ids.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";
import type { Emit, Stage } from "../../../core/stage.ts";
import { CONTEXT_FULL, settleStop } from "../../canonical/answer/answer.ts";
import { readDroppedReasoning } from "../../canonical/answer/reasoning.ts";
import { isErrorBody } from "../../canonical/failure/error_body.ts";
import { MAX_BLOCKS, MAX_HELD_CHARACTERS } from "../../canonical/max_sizes.ts";
import {
  type AnswerEvent,
  type BlockHead,
  brokenEvent,
  oversizedEvent,
  type StartEvent,
} from "../../canonical/stream/event.ts";
import { readFrames, textIn } from "../../canonical/stream/read_frames.ts";
import { decodeFailedStop, decodeStop } from "../answer/stop.ts";
import { decodeUsage, mergeUsage } from "../answer/usage.ts";
import { decodeFailure } from "../errors.ts";
import { marksOf, optionalText, otherFields } from "../request/fields.ts";
import {
  type BlockTracker,
  type BlockTrackerOptions,
  trackBlock,
} from "./block_tracker.ts";

/**
 * The blocks of one answer while their events come: several may be open at a time. An event names its block by
 * the `index`, here called place; one without means the block that began last. Events that cannot be are the
 * answer's failure.
 */
class OpenBlocks {
  readonly #options: BlockTrackerOptions;
  readonly #trackers = new Map<number, BlockTracker>();
  #lastPlace = -1;
  /** Of the next canonical block. */
  #nextIndex = 0;
  #hasCalls = false;

  /** @param ids For calls that come without an id. */
  constructor(ids: Ids) {
    this.#options = { ids, open: (block, emit) => this.#give(block, emit) };
  }

  /** Whether a tool call has begun. */
  get hasCalls(): boolean {
    return this.#hasCalls;
  }

  /** Whether any block has. */
  get hasBlocks(): boolean {
    return this.#nextIndex > 0 || this.#trackers.size > 0;
  }

  /** Takes a `content_block_start`. */
  start(event: JsonObject, emit: Emit<AnswerEvent>): void {
    const block = event.content_block;
    if (!isJsonObject(block) || typeof block.type !== "string") {
      return emit(brokenEvent("The provider began a block of no kind"));
    }
    if (block.type === "tool_use" && !optionalText(block.name)) {
      return emit(brokenEvent("The provider called a tool without a name"));
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

  /** Takes a `content_block_delta`. */
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

  /** Takes a `content_block_stop`. */
  stop(event: JsonObject, emit: Emit<AnswerEvent>): void {
    this.#stopAt(this.#placeOf(event), emit);
  }

  /** Closes what is open, as the answer ends. */
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

  #give(block: BlockHead, emit: Emit<AnswerEvent>): number {
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
 * Reads a Messages stream. The kind of an event stands in its data; the `event:` line, which some servers leave
 * out, counts only where the data names no kind. The end is `message_stop` and nothing else.
 */
export function createStreamDecoder(ids: Ids): Stage<SseFrame, AnswerEvent> {
  const reader = new EventReader(ids);
  return readFrames({
    textPlace: ({ delta }) => textIn(delta, TEXT_FIELDS),
    push(event, name, emit) {
      if (name === "error") {
        // Of an error without an envelope, `type` is its own.
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

/** What stands around a `message_delta`'s own fields, or inside its `delta`. */
const DELTA_FIELDS: ReadonlySet<string> = new Set([
  "type",
  "delta",
  "usage",
  "stop_reason",
  "stop_sequence",
  "stop_details",
  "input_transformations",
]);

const NO_FIELDS: ReadonlySet<string> = new Set();

/** Turns the events of one answer into canonical ones; what comes after an end or a failure is not to be used. */
export class EventReader {
  readonly #blocks: OpenBlocks;
  #hasStarted = false;
  /** What the upstream has counted so far. */
  #usage: JsonObject | undefined;
  /** What the upstream has said of the answer's end. */
  #ending: JsonObject = {};

  /** @param ids For calls that come without an id. */
  constructor(ids: Ids) {
    this.#blocks = new OpenBlocks(ids);
  }

  /** Takes the next event; one of a kind unknown here is ignored. */
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

  /** The answer begins once, with its first event if that is not the one for it. */
  #start(message: JsonValue | undefined, emit: Emit<AnswerEvent>): void {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    const facts = isJsonObject(message) ? message : {};
    this.#usage = mergeUsage(this.#usage, facts.usage);
    emit(startOf(facts));
  }

  /** The last event with a reason counts: some upstreams send usage in one more without. */
  #pushEnding(event: JsonObject): void {
    const delta = isJsonObject(event.delta) ? event.delta : {};
    const fields = otherFields({ ...event, ...delta }, NO_FIELDS);
    if (fields.stop_reason !== undefined) this.#ending = fields;
    this.#usage = mergeUsage(this.#usage, event.usage);
  }

  #end(emit: Emit<AnswerEvent>): void {
    if (!this.#hasStarted) {
      return emit(brokenEvent("The provider's stream held no answer"));
    }
    const failure = decodeFailedStop(this.#ending);
    if (failure !== undefined) return emit({ type: "failure", failure });
    const stop = settleStop(decodeStop(this.#ending), this.#blocks);
    if (stop.reason === "context_full" && !this.#blocks.hasBlocks) {
      return emit({ type: "failure", failure: CONTEXT_FULL });
    }
    this.#blocks.stopAll(emit);
    const tier = optionalText(this.#usage?.service_tier);
    emit({
      type: "end",
      stop,
      usage: decodeUsage(this.#usage),
      serviceTier: tier === undefined
        ? undefined
        : { protocol: "messages", value: tier },
      ...readDroppedReasoning(this.#ending.input_transformations),
      providerMetadata: marksOf(this.#ending, DELTA_FIELDS),
    });
  }
}

/** Counts of 0 and 0 mean that the upstream counts later. */
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
