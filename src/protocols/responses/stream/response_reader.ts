import type { Ids } from "../../../core/ids.ts";
import { isJsonObject, type JsonObject } from "../../../core/json.ts";
import type { Emit } from "../../../core/stage.ts";
import type {
  AnswerEvent,
  EndEvent,
  StartEvent,
} from "../../canonical/stream/event.ts";
import { settleStop, type Stop } from "../../canonical/answer/stop.ts";
import { decodeFailure } from "../failure.ts";
import { textOf } from "../fields.ts";
import { OutputReader } from "../answer/output_reader.ts";
import { decodeStop } from "../answer/stop.ts";
import { decodeUsage } from "../answer/usage.ts";

/**
 * Turns the events of one answer into canonical ones; what comes after an end or a failure is not to be used. A
 * whole answer is a terminal event without any before it: the terminal event tells again, or for the first time,
 * what the items hold.
 */
export class ResponseReader {
  readonly #output: OutputReader;
  #sink: Emit<AnswerEvent> = () => {};
  #hasStarted = false;

  /** @param ids For calls that come without an id. */
  constructor(ids: Ids) {
    this.#output = new OutputReader(ids, (event) => this.#sink(event));
  }

  /** Takes the next event by its type; ignores what it does not know. */
  push(type: string, event: JsonObject, emit: Emit<AnswerEvent>): void {
    this.#sink = emit;
    const response = isJsonObject(event.response) ? event.response : {};
    if (type === "error") return fail(event, emit);
    if (type === "response.failed") {
      return fail({ error: response.error ?? null }, emit);
    }
    if (!type.startsWith("response.")) return;
    this.#start(response);
    switch (type) {
      case "response.created":
      case "response.queued":
      case "response.in_progress":
        return;
      case "response.completed":
        return this.#end("completed", response);
      case "response.incomplete":
        return this.#end("incomplete", response);
      default:
        this.#output.push(type, event);
    }
  }

  /** The answer begins once, with its first event if that is not the one for it. */
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

function startOf({ id, model, created_at }: JsonObject): StartEvent {
  return {
    type: "start",
    id: textOf(id) ?? "",
    model: textOf(model) ?? "",
    createdAtMs: typeof created_at === "number" && created_at > 0
      ? created_at * 1000
      : undefined,
  };
}

function endOf(
  { usage, service_tier }: JsonObject,
  stop: Stop,
): EndEvent {
  const tier = textOf(service_tier);
  return {
    type: "end",
    stop,
    usage: decodeUsage(usage),
    serviceTier: tier === undefined
      ? undefined
      : { protocol: "responses", value: tier },
  };
}

/** @param error What an error body would hold. */
function fail(error: JsonObject, emit: Emit<AnswerEvent>): void {
  emit({ type: "failure", failure: decodeFailure(200, error) });
}
