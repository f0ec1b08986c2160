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
 * Joins a Chat Completions stream into its answer, and fails where the stream breaks the grammar:
 * unnamed events of one answer; the role once and first; each tool call announced once with id,
 * type and name, and numbered from 0; one finish reason after all else; usage alone at the end;
 * `[DONE]` last.
 */
export function foldChat(text: string): JsonObject {
  const frames = framesOf(text);
  assert.equal(frames.pop()?.data, "[DONE]", "the stream ends with [DONE]");
  const chunks = frames.map(({ event, data }) => {
    assert.equal(event, undefined, "chat frames have no name");
    const chunk = parseJson(data);
    assert(isJsonObject(chunk), "every frame holds an object");
    return chunk;
  });
  const [first] = chunks;
  assert(first !== undefined, "there is a chunk");
  const message = foldDeltas(chunks.filter(hasChoice).map(deltaOf));
  const usage = checkTail(chunks);
  for (const chunk of chunks) checkFrame(chunk, first);
  return {
    id: first.id,
    object: "chat.completion",
    created: first.created,
    model: first.model,
    choices: [{
      index: 0,
      message,
      logprobs: null,
      finish_reason: finishOf(chunks),
    }],
    ...(usage === undefined ? {} : { usage }),
    system_fingerprint: first.system_fingerprint ?? null,
  };
}

function checkFrame(chunk: JsonObject, first: JsonObject): void {
  assert.equal(chunk.object, "chat.completion.chunk");
  for (const field of ["id", "created", "model"]) {
    assert.equal(chunk[field], first[field], `${field} stays the same`);
  }
  for (const choice of objectsOf(chunk.choices)) {
    assert.equal(choice.index, 0);
    assert("finish_reason" in choice, "finish_reason is always there");
  }
}

function hasChoice(chunk: JsonObject): boolean {
  return listOf(chunk.choices).length > 0;
}

function deltaOf(chunk: JsonObject): JsonObject {
  return objectOf(objectsOf(chunk.choices)[0]?.delta);
}

function finishOf(chunks: readonly JsonObject[]): string {
  const choices = chunks.flatMap((chunk) => objectsOf(chunk.choices));
  const finishes = choices.filter((choice) => choice.finish_reason !== null);
  assert.equal(finishes.length, 1, "there is one finish reason");
  assert.equal(choices.at(-1), finishes[0], "nothing follows it");
  return textOf(finishes[0]?.finish_reason);
}

function checkTail(chunks: readonly JsonObject[]): JsonObject | undefined {
  const counted = chunks.filter((chunk) => isJsonObject(chunk.usage));
  assert(counted.length <= 1, "usage comes once");
  const [last] = counted;
  if (last === undefined) {
    assert(chunks.every(hasChoice), "no chunk is without a choice");
    return undefined;
  }
  assert.equal(last, chunks.at(-1), "usage comes last");
  assert.deepEqual(last.choices, [], "usage comes without a choice");
  for (const chunk of chunks.slice(0, -1)) assert.equal(chunk.usage, null);
  return objectOf(last.usage);
}

function foldDeltas(deltas: readonly JsonObject[]): JsonObject {
  assert.equal(deltas[0]?.role, "assistant", "the first delta has the role");
  const message: JsonObject = {};
  for (const [index, { tool_calls: _calls, ...fields }] of deltas.entries()) {
    if (index > 0) assert(!("role" in fields), "the role comes once");
    for (const [name, value] of Object.entries(fields)) {
      message[name] = typeof message[name] === "string"
        ? textOf(message[name]) + textOf(value)
        : value;
    }
  }
  const calls = foldCalls(
    deltas.flatMap((delta) => objectsOf(delta.tool_calls)),
  );
  return calls.length === 0 ? message : { ...message, tool_calls: calls };
}

function foldCalls(deltas: readonly JsonObject[]): JsonObject[] {
  const calls: JsonObject[] = [];
  for (const { index, ...delta } of deltas) {
    const call = calls[Number(index)];
    if (call === undefined) {
      assert.equal(index, calls.length, "calls are numbered from 0");
      assert(textOf(delta.id) !== "", "a call has an id");
      const { name } = objectOf(delta[textOf(delta.type)]);
      assert(textOf(name) !== "", "a call has a name");
      calls.push(delta);
      continue;
    }
    assert.equal(index, calls.length - 1, "calls do not interleave");
    assert(!("id" in delta) && !("type" in delta), "a call opens once");
    const kind = textOf(call.type);
    const field = kind === "custom" ? "input" : "arguments";
    const opened = objectOf(call[kind]);
    const added = objectOf(delta[kind]);
    assert.deepEqual(Object.keys(added), [field], "only input is added");
    call[kind] = {
      ...opened,
      [field]: textOf(opened[field]) + textOf(added[field]),
    };
  }
  return calls;
}
