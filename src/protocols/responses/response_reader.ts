import type { Ids } from "../../core/ids.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../core/json.ts";
import type { Emit } from "../../core/stage.ts";
import { lookup } from "../../core/lookup.ts";
import type { AnswerEvent } from "../canonical/event.ts";
import { type Failure, oversizedAnswer } from "../canonical/failure.ts";
import { MAX_BLOCKS } from "../canonical/limits.ts";
import { settleStop } from "../canonical/stop.ts";
import { createBlockWriter } from "./block_writer.ts";
import { decodeFailure } from "./failure.ts";
import { createItemReader, type ItemReader } from "./item_reader.ts";
import { textOf } from "./marks.ts";
import { decodeStop } from "./stop.ts";
import { decodeUsage } from "./usage.ts";

/**
 * Turns the events of one answer into canonical ones. A whole answer is a terminal event without any before
 * it: the terminal event tells again, or for the first time, what the items hold.
 */
export interface ResponseReader {
  /** Takes the next event by its type; ignores what it does not know. */
  push(type: string, event: JsonObject, emit: Emit<AnswerEvent>): void;
}

/** An item that has begun. */
interface Item {
  readonly type: JsonValue | undefined;
  readonly id: JsonValue | undefined;
  readonly reader: ItemReader;
  isDone: boolean;
}

/** What kind of item an event is about, where the item's own beginning was not told. */
const TYPE_BY_EVENT: Readonly<Record<string, string>> = {
  "response.output_text.delta": "message",
  "response.refusal.delta": "message",
  "response.reasoning_summary_text.delta": "reasoning",
  "response.reasoning_text.delta": "reasoning",
};

/** A reader for one answer. */
export function createResponseReader(ids: Ids): ResponseReader {
  let sink: Emit<AnswerEvent> = () => {};
  const emit: Emit<AnswerEvent> = (event) => sink(event);
  const writer = createBlockWriter(emit);
  /** By `output_index`, since some proxies give every event another id. */
  const items = new Map<JsonValue, Item>();
  let lastKey: JsonValue = 0;
  let hasStarted = false;

  function start(response: JsonObject): void {
    if (hasStarted) return;
    hasStarted = true;
    const { id, model, created_at } = response;
    emit({
      type: "start",
      id: textOf(id) ?? "",
      model: textOf(model) ?? "",
      createdAtMs: typeof created_at === "number" && created_at > 0
        ? created_at * 1000
        : undefined,
    });
  }

  function fail(failure: Failure): void {
    emit({ type: "failure", failure });
  }

  function begin(item: JsonObject, key: JsonValue): Item {
    if (items.size >= MAX_BLOCKS) {
      fail(oversizedAnswer("The provider's answer has too many items"));
    }
    const { type, id } = item;
    const reader = createItemReader(item, { writer, ids });
    const begun = { type, id, reader, isDone: false };
    items.set(key, begun);
    lastKey = key;
    return begun;
  }

  /** The item that an event is about; begun now where its beginning was not told. */
  function itemOf(type: string, event: JsonObject): Item | undefined {
    const key = event.output_index ?? lastKey;
    const implied = lookup(TYPE_BY_EVENT, type);
    return items.get(key) ??
      (implied === undefined ? undefined : begin({ type: implied }, key));
  }

  function finish(item: Item, whole?: JsonObject): void {
    if (item.isDone) return;
    item.isDone = true;
    item.reader.finish(whole);
  }

  function add({ item, output_index }: JsonObject): void {
    const key = output_index ?? items.size;
    if (isJsonObject(item) && !items.has(key)) begin(item, key);
  }

  function done({ item, output_index }: JsonObject): void {
    if (!isJsonObject(item)) return;
    const key = output_index ?? lastKey;
    finish(items.get(key) ?? begin(item, key), item);
  }

  /** Closes what is open, and gives the items that were never told of. */
  function settle(output: readonly JsonObject[]): void {
    const begun = [...items.values()];
    begun.forEach((item, position) =>
      finish(item, counterpart(item, position, output))
    );
    const ownIds = new Set(begun.map(({ id }) => id));
    const untold = output.filter(({ id }) =>
      id === undefined || !ownIds.has(id)
    );
    for (const item of untold.slice(0, output.length - begun.length)) {
      finish(begin(item, `untold ${items.size}`), item);
    }
  }

  function complete(
    status: "completed" | "incomplete",
    response: JsonObject,
  ): void {
    settle(
      Array.isArray(response.output)
        ? response.output.filter(isJsonObject)
        : [],
    );
    const tier = textOf(response.service_tier);
    emit({
      type: "end",
      stop: settleStop(decodeStop(status, response), writer.hasCalls),
      usage: decodeUsage(response.usage),
      serviceTier: tier === undefined
        ? undefined
        : { protocol: "responses", value: tier },
    });
  }

  function read(type: string, event: JsonObject): void {
    const response = isJsonObject(event.response) ? event.response : {};
    switch (type) {
      case "response.failed":
        return fail(decodeFailure(200, { error: response.error ?? null }));
      case "error":
        return fail(decodeFailure(200, event));
      case "response.created":
      case "response.queued":
      case "response.in_progress":
        return start(response);
    }
    if (!type.startsWith("response.")) return;
    start(response);
    switch (type) {
      case "response.output_item.added":
        return add(event);
      case "response.output_item.done":
        return done(event);
      case "response.completed":
        return complete("completed", response);
      case "response.incomplete":
        return complete("incomplete", response);
      default: {
        const item = itemOf(type, event);
        if (item?.isDone === false) item.reader.take(type, event);
      }
    }
  }

  return {
    push(type, event, nextSink) {
      sink = nextSink;
      read(type, event);
    },
  };
}

/** The finished form of an item that began: by its id, else by its place. */
function counterpart(
  { id, type }: Item,
  position: number,
  output: readonly JsonObject[],
): JsonObject | undefined {
  const named = id === undefined
    ? undefined
    : output.find((item) => item.id === id);
  const found = named ?? output[position];
  return found?.type === type ? found : undefined;
}
