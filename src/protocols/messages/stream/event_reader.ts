import type { Ids } from "../../../core/ids.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";
import type { Emit } from "../../../core/stage.ts";
import {
  type AnswerEvent,
  brokenEvent,
  type StartEvent,
} from "../../canonical/stream/event.ts";
import { isErrorBody } from "../../canonical/failure/error_body.ts";
import { readDroppedReasoning } from "../../canonical/answer/reasoning.ts";
import { CONTEXT_FULL, settleStop } from "../../canonical/answer/stop.ts";
import { decodeFailure } from "../failure.ts";
import { marksOf, optionalText, otherFields } from "../request/fields.ts";
import { OpenBlocks } from "./open_blocks.ts";
import { decodeFailedStop, decodeStop } from "../answer/stop.ts";
import { decodeUsage, mergeUsage } from "../answer/usage.ts";

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
      marks: marksOf(this.#ending, DELTA_FIELDS),
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
