import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  listOf,
  objectOf,
  objectsOf,
  parseJson,
} from "../../../src/base/json.ts";
import { textOf } from "../upstream/strict_provider/ask.ts";
import { framesOf } from "../wire/sse_frames.ts";

/**
 * Joins a Responses stream into its answer, and fails where the stream breaks the grammar: events
 * named for their type and numbered from 0; `created` and `in_progress` first; one item after the
 * other, numbered from 0; each part announced before its deltas, and repeated whole when it is
 * done; one terminal event last, whose output equals the items.
 */
export function foldResponses(text: string): JsonObject {
  const events = framesOf(text).map(({ event, data }, index) => {
    const payload = parseJson(data);
    assert(isJsonObject(payload), "every frame holds an object");
    assert.equal(event, payload.type, "every frame is named for its type");
    assert.equal(payload.sequence_number, index, "frames are numbered from 0");
    return payload;
  });
  const created = events.shift();
  assert.equal(created?.type, "response.created");
  assert.equal(events.shift()?.type, "response.in_progress");
  const begun = objectOf(created?.response);
  assert.equal(begun.status, "in_progress");
  assert.deepEqual(begun.output, []);
  const terminal = events.pop();
  const answer = objectOf(terminal?.response);
  assert.equal(terminal?.type, `response.${textOf(answer.status)}`);
  assert.equal(answer.id, begun.id, "the answer keeps its id");
  assert.deepEqual(foldItems(events), answer.output);
  return answer;
}

function foldItems(events: readonly JsonObject[]): JsonObject[] {
  const items: JsonObject[] = [];
  let own: JsonObject[] | undefined;
  for (const event of events) {
    assert.equal(
      event.output_index,
      event.type === "response.output_item.added"
        ? items.length
        : items.length - 1,
      "only the open item grows",
    );
    if (event.type === "response.output_item.added") {
      assert.equal(own, undefined, "one item is open at a time");
      own = [];
      items.push(objectOf(event.item));
      continue;
    }
    assert(own !== undefined, `an item is open before ${event.type}`);
    if (event.type !== "response.output_item.done") {
      assert.equal(event.item_id, items.at(-1)?.id);
      own.push(event);
      continue;
    }
    const item = objectOf(event.item);
    items.push(foldItem(items.pop() ?? {}, { ...item }, own));
    assert.deepEqual(items.at(-1), item, "an item equals its events");
    own = undefined;
  }
  assert.equal(own, undefined, "every item is done");
  return items;
}

/** Checks the last event of an item, and adds the status and sealed content that only it has. */
function foldItem(
  opening: JsonObject,
  done: JsonObject,
  events: readonly JsonObject[],
): JsonObject {
  assert.equal(done.id, opening.id, "an item keeps its id");
  assert.equal(done.call_id, opening.call_id, "a call keeps its id");
  const last = done.status === undefined ? {} : { status: done.status };
  const sealed = done.encrypted_content === undefined
    ? {}
    : { encrypted_content: done.encrypted_content };
  const item = { ...opening, ...last, ...sealed };
  switch (opening.type) {
    case "message":
      assert.equal(opening.status, "in_progress");
      return { ...item, content: foldParts(events, TEXT_EVENTS) };
    case "reasoning":
      return { ...item, summary: foldParts(events, SUMMARY_EVENTS) };
    case "function_call":
      return {
        ...item,
        arguments: foldInput(events, "function_call_arguments", "arguments"),
      };
    case "custom_tool_call":
      return {
        ...item,
        input: foldInput(events, "custom_tool_call_input", "input"),
      };
    default:
      assert.equal(events.length, 0);
      return item;
  }
}

const TEXT_EVENTS = {
  part: "response.content_part",
  text: "response.output_text",
  index: "content_index",
};

const SUMMARY_EVENTS = {
  part: "response.reasoning_summary_part",
  text: "response.reasoning_summary_text",
  index: "summary_index",
};

function foldParts(
  events: readonly JsonObject[],
  names: typeof TEXT_EVENTS,
): JsonObject[] {
  const parts: JsonObject[] = [];
  let open: PartFold | undefined;
  for (const event of events) {
    if (event.type === `${names.part}.added`) {
      assert.equal(open, undefined, "one part is open at a time");
      assert.equal(event[names.index], parts.length);
      open = createPartFold(objectOf(event.part), names.text);
      parts.push({});
      continue;
    }
    assert.equal(event[names.index], parts.length - 1);
    assert(open !== undefined, "a part is open");
    if (event.type === `${names.part}.done`) {
      parts[parts.length - 1] = open.finish(event);
      open = undefined;
    } else open.push(event);
  }
  assert.equal(open, undefined, "every part is done");
  return parts;
}

interface PartFold {
  push(event: JsonObject): void;
  finish(done: JsonObject): JsonObject;
}

/** Joins a part of text, or of a refusal, which has other field names. */
function createPartFold(opening: JsonObject, textEvent: string): PartFold {
  const isRefusal = opening.type === "refusal";
  const field = isRefusal ? "refusal" : "text";
  const name = isRefusal ? "response.refusal" : textEvent;
  const annotations: JsonObject[] = [];
  let text = "";
  assert.equal(opening[field], "", "a part begins empty");
  return {
    push(event) {
      if (event.type === `${name}.delta`) {
        text += textOf(event.delta);
      } else if (event.type === "response.output_text.annotation.added") {
        assert.equal(event.annotation_index, annotations.length);
        annotations.push(objectOf(event.annotation));
      } else {
        assert.equal(event.type, `${name}.done`);
        assert.equal(event[field], text);
      }
    },
    finish({ part }) {
      const cited = annotations.length === 0 ? {} : { annotations };
      assert.deepEqual(part, { ...opening, [field]: text, ...cited });
      return objectOf(part);
    },
  };
}

function foldInput(
  events: readonly JsonObject[],
  name: string,
  field: string,
): string {
  const done = events.at(-1);
  assert.equal(done?.type, `response.${name}.done`);
  const input = events.slice(0, -1).map((event) => {
    assert.equal(event.type, `response.${name}.delta`);
    return textOf(event.delta);
  }).join("");
  assert.equal(done?.[field], input);
  return input;
}

/** Joins the texts of an answer's message items. */
export function outputTextOf(answer: JsonObject): string {
  return listOf(answer.output).flatMap((item) =>
    objectsOf(objectOf(item).content).map((part) => textOf(part.text))
  ).join("");
}
