import type { Ids } from "../../../core/ids.ts";
import { isJsonObject, type JsonObject } from "../../../core/json.ts";
import type { Emit } from "../../../core/stage.ts";
import {
  type AnswerEvent,
  type BlockHead,
  brokenEvent,
  oversizedEvent,
} from "../../canonical/stream/event.ts";
import { MAX_BLOCKS, MAX_HELD_CHARACTERS } from "../../canonical/limits.ts";
import {
  type BlockTracker,
  type BlockTrackerOptions,
  trackBlock,
} from "./block_tracker.ts";
import { optionalText } from "../request/fields.ts";

/**
 * The blocks of one answer while their events come: several may be open at a time. An event names its block by
 * the `index`, here called place; one without means the block that began last. Events that cannot be are the
 * answer's failure.
 */
export class OpenBlocks {
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
