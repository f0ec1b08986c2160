import { lookup, wordList } from "@gateway/base/collections";
import type { SseFrame } from "@gateway/base/frame";
import type { Ids } from "@gateway/base/ids";
import { isJsonObject, type JsonObject } from "@gateway/base/json";
import type { Emit, Stage } from "@gateway/base/stage";
import { settleStop, type Stop } from "../../canonical/answer/answer.ts";
import { readDroppedReasoning } from "../../canonical/answer/reasoning.ts";
import { isErrorBody } from "../../canonical/failure/error_body.ts";
import {
  type AnswerEvent,
  brokenEvent,
  type EndEvent,
  type StartEvent,
} from "../../canonical/stream/event.ts";
import { readFrames } from "../../canonical/stream/read_frames.ts";
import { decodeStop } from "../answer/stop.ts";
import { usageIn } from "../answer/usage.ts";
import { decodeFailure } from "../errors.ts";
import { textOf } from "../fields.ts";
import { OutputReader } from "./output_reader.ts";

/** Reads a Responses stream. The type of an event is read from its data, because `event:` lines may be missing. */
export function createStreamDecoder(ids: Ids): Stage<SseFrame, AnswerEvent> {
  const reader = new ResponseReader(ids);
  return readFrames({
    push: (event, name, emit) => reader.push(typeOf(event, name), event, emit),
    done() {},
    end(emit) {
      emit(brokenEvent("The provider's stream ended before the answer did"));
    },
  });
}

/** Returns the type of an event. An error body has the type `error`, even if the body names another type or none. */
function typeOf(event: JsonObject, name: string | undefined): string {
  if (name === "error" || isErrorBody(event)) return "error";
  const type = textOf(event.type) || name;
  if (type) return type;
  return event.detail === undefined || event.detail === null ? "" : "error";
}

/**
 * Converts the events of one answer to canonical events. The caller must ignore events after an end or a failure. A
 * JSON answer is read as a terminal event without earlier events. A terminal event may have items that were in no
 * earlier event.
 */
export class ResponseReader {
  readonly #output: OutputReader;
  #sink: Emit<AnswerEvent> = () => {};
  #hasStarted = false;

  constructor(ids: Ids) {
    this.#output = new OutputReader(ids, (event) => this.#sink(event));
  }

  /** Reads the next event by its type, and ignores unknown types. */
  push(type: string, event: JsonObject, emit: Emit<AnswerEvent>): void {
    this.#sink = emit;
    const response = isJsonObject(event.response) ? event.response : {};
    if (type === "error") return fail(event, emit);
    if (!type.startsWith("response.")) return;
    const ending = endingOf(type, response);
    if (ending === "failed") {
      return fail({ error: response.error ?? null }, emit);
    }
    this.#start(response);
    if (ending !== undefined) return this.#end(ending, response);
    if (!PROGRESS_EVENTS.includes(type)) this.#output.push(type, event);
  }

  /** Begins the answer once, even when the first event is not `response.created`. */
  #start(response: JsonObject): void {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    this.#sink(startOf(response));
  }

  #end(status: "completed" | "incomplete", response: JsonObject): void {
    const { output } = response;
    this.#output.finish(
      Array.isArray(output) ? output.filter(isJsonObject) : [],
    );
    const stop = decodeStop(status, response);
    this.#sink(endOf(response, settleStop(stop, this.#output)));
  }
}

/** The events that only report the progress of the answer. */
const PROGRESS_EVENTS = wordList(
  "response.created response.queued response.in_progress",
);

/** The endings of an answer, from good to bad. */
const ENDINGS = ["completed", "incomplete", "failed"] as const;

type Ending = typeof ENDINGS[number];

const ENDING_BY_EVENT: Readonly<Record<string, Ending>> = {
  "response.completed": "completed",
  // Some servers end every answer with this event (https://github.com/can1357/oh-my-pi/pull/4692).
  "response.done": "completed",
  "response.incomplete": "incomplete",
  "response.failed": "failed",
};

const ENDING_BY_STATUS: Readonly<Record<string, Ending>> = {
  incomplete: "incomplete",
  failed: "failed",
  cancelled: "failed",
};

/**
 * Returns how an event ends the answer, or `undefined` for an event that ends nothing. If the event and its response
 * name different endings, the worse ending is returned.
 */
function endingOf(
  type: string,
  { status, incomplete_details }: JsonObject,
): Ending | undefined {
  const named = lookup(ENDING_BY_EVENT, type);
  if (named === undefined) return undefined;
  const reported = lookup(ENDING_BY_STATUS, textOf(status) ?? "");
  const isCut = isJsonObject(incomplete_details) &&
    typeof incomplete_details.reason === "string";
  return ENDINGS.findLast((ending) =>
    ending === named || ending === reported || isCut && ending === "incomplete"
  );
}

function startOf(
  { id, model, created_at, input_transformations }: JsonObject,
): StartEvent {
  return {
    type: "start",
    id: textOf(id) ?? "",
    model: textOf(model) ?? "",
    createdAtMs: typeof created_at === "number" && created_at > 0
      ? created_at * 1000
      : undefined,
    ...readDroppedReasoning(input_transformations),
  };
}

function endOf(response: JsonObject, stop: Stop): EndEvent {
  const { service_tier, input_transformations } = response;
  const tier = textOf(service_tier);
  return {
    type: "end",
    stop,
    usage: usageIn(response),
    serviceTier: tier === undefined
      ? undefined
      : { protocol: "responses", value: tier },
    ...readDroppedReasoning(input_transformations),
  };
}

/** @param error The content of an error body. */
function fail(error: JsonObject, emit: Emit<AnswerEvent>): void {
  emit({ type: "failure", failure: decodeFailure(200, error) });
}
