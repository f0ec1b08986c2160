import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  objectOf,
  parseJson,
} from "../../../src/base/json.ts";
import { textOf } from "../upstream/strict_provider/ask.ts";
import { framesOf } from "../wire/sse_frames.ts";

/**
 * Joins a Messages stream into its answer, and fails where the stream breaks the grammar: each
 * event named for its type; `message_start` first; one block after the other, numbered from 0;
 * deltas of the block's own kind; a signature once and last; one `message_delta`; `message_stop`
 * last.
 */
export function foldMessages(text: string): JsonObject {
  const events = framesOf(text).map(({ event, data }) => {
    const payload = parseJson(data);
    assert(isJsonObject(payload), "every frame holds an object");
    assert.equal(event, payload.type, "every frame is named for its type");
    return payload;
  }).filter((event) => event.type !== "ping");
  const start = events.shift();
  assert.equal(start?.type, "message_start");
  assert.equal(events.pop()?.type, "message_stop");
  const end = events.pop();
  assert.equal(end?.type, "message_delta");
  const message = objectOf(start?.message);
  assert.deepEqual(message.content, []);
  assert.equal(message.stop_reason, null);
  return {
    ...message,
    ...objectOf(end?.delta),
    content: foldBlocks(events),
    usage: { ...objectOf(message.usage), ...objectOf(end?.usage) },
  };
}

function foldBlocks(events: readonly JsonObject[]): JsonObject[] {
  const blocks: JsonObject[] = [];
  let deltas: JsonObject[] | undefined;
  for (const event of events) {
    if (event.type === "content_block_start") {
      assert.equal(deltas, undefined, "one block is open at a time");
      assert.equal(event.index, blocks.length, "blocks are numbered from 0");
      deltas = [];
      blocks.push(objectOf(event.content_block));
      continue;
    }
    assert(deltas !== undefined, `a block is open before ${event.type}`);
    assert.equal(event.index, blocks.length - 1, "only the open block grows");
    if (event.type === "content_block_delta") {
      deltas.push(objectOf(event.delta));
      continue;
    }
    assert.equal(event.type, "content_block_stop");
    blocks.push(foldBlock(blocks.pop() ?? {}, deltas));
    deltas = undefined;
  }
  assert.equal(deltas, undefined, "every block is closed");
  return blocks;
}

function foldBlock(
  opening: JsonObject,
  deltas: readonly JsonObject[],
): JsonObject {
  switch (opening.type) {
    case "text":
      assert.equal(opening.text, "");
      return { ...opening, text: joined(deltas, "text_delta", "text") };
    case "thinking": {
      assert.equal(opening.thinking, "");
      assert.equal(opening.signature, "");
      const signature = deltas.at(-1);
      assert.equal(signature?.type, "signature_delta");
      const thinking = deltas.slice(0, -1);
      return {
        ...opening,
        thinking: joined(thinking, "thinking_delta", "thinking"),
        signature: signature?.signature,
      };
    }
    case "tool_use": {
      assert.deepEqual(opening.input, {});
      const json = joined(deltas, "input_json_delta", "partial_json");
      return { ...opening, input: parseJson(json === "" ? "{}" : json) };
    }
    default:
      return assert.fail(`unknown block ${textOf(opening.type)}`);
  }
}

function joined(
  deltas: readonly JsonObject[],
  type: string,
  field: string,
): string {
  return deltas.map((delta) => {
    assert.equal(delta.type, type);
    return textOf(delta[field]);
  }).join("");
}
