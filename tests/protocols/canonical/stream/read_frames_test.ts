import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/core/json.ts";
import { runStage } from "../../../../src/core/stage.ts";
import { readFrames } from "../../../../src/protocols/canonical/stream/read_frames.ts";
import { createSseParser } from "../../../../src/streams/sse_parse.ts";

/** What a decoder is told of a stream's bytes; a failure ends the list. */
function told(text: string): unknown[] {
  const heard: unknown[] = [];
  const stage = readFrames({
    push(event, name) {
      heard.push(name === undefined ? event : { name, ...event });
    },
    done: () => heard.push("done"),
    end() {},
  });
  const frames = runStage(createSseParser({ maxFrameCharacters: 1 << 16 }), [
    new TextEncoder().encode(text),
  ]);
  for (const event of runStage(stage, frames)) heard.push(event.type);
  return heard;
}

const FIRST: JsonObject = { a: 1 };
const SECOND: JsonObject = { b: 2 };

/** What providers and proxies send between events, which says nothing. */
const SILENT = {
  "an empty data line": "data:\n\n",
  "a data line with a space": "data: \n\n",
  "a word": "data: ping\n\n",
  "a comment in the data": "data: : keep-alive\n\n",
  "a word in brackets": "data: [heartbeat]\n\n",
  "OpenRouter's words": ": OPENROUTER PROCESSING\n\n",
  "OpenRouter's words as data": "data: OPENROUTER PROCESSING\n\n",
  "null": "data: null\n\n",
  "a word as JSON": 'data: "ping"\n\n',
  "a name alone": "event: ping\n\n",
  "a name with empty data": "event: ping\ndata:\n\n",
  "an id and a retry": "id: 7\nretry: 100\n\n",
};

for (const [name, text] of Object.entries(SILENT)) {
  Deno.test(`readFrames() passes over ${name}`, () => {
    assert.deepEqual(
      told(`data: {"a":1}\n\n${text}data: {"b":2}\n\n${text}data: [DONE]\n\n`),
      [FIRST, SECOND, "done"],
    );
  });
}

Deno.test("readFrames() knows the end, however it is spelled", () => {
  const ends = [
    "data: [DONE]\n\n",
    "data:[DONE]\n\n",
    "data: [DONE] \n\n",
    "data:  [DONE]\r\n\r\n",
    'data: "[DONE]"\n\n',
    "data: [done]\n\n",
    "data: [DONE]",
    "event: done\ndata: [DONE]\n\n",
  ];
  for (const end of ends) {
    assert.deepEqual(told(`\ufeffdata: {"a":1}\n\n${end}`), [FIRST, "done"]);
  }
});

Deno.test("readFrames() reads events that no blank line parts, and lists of events", () => {
  assert.deepEqual(told('data: {"a":1}\ndata: {"b":2}\ndata: [DONE]\n\n'), [
    FIRST,
    SECOND,
    "done",
  ]);
  assert.deepEqual(told('data: [{"a":1},{"b":2}]\n\n'), [FIRST, SECOND]);
});

Deno.test("readFrames() reads an object over several lines as the one that it is", () => {
  assert.deepEqual(told('data: {"a":\ndata: 1}\n\n'), [FIRST]);
});

Deno.test("readFrames() reads an error in words", () => {
  assert.deepEqual(told("event: error\ndata: Bad Gateway\n\n"), [
    { name: "error", error: { message: "Bad Gateway" } },
  ]);
});

Deno.test("readFrames() fails at what may be a piece of the answer", () => {
  const texts = [
    '{"a":',
    "7",
    "true",
    "[1]",
    "[]",
    '{"a":1} {"b":2}',
    '<p class="x">',
  ];
  for (const text of texts) {
    assert.deepEqual(told(`data: ${text}\n\n`), ["failure"], text);
  }
});

Deno.test("readFrames() fails at an event that would take long to parse, however it takes long", () => {
  const long: Readonly<Record<string, string>> = {
    "of many values": `{"a":[${"0,".repeat(70_000)}0]}`,
    "that is deep": "[".repeat(70_000),
    "of many lines": '{"a":1}\ndata: '.repeat(70_000),
  };
  for (const [name, data] of Object.entries(long)) {
    const failures: unknown[] = [];
    const stage = readFrames({ push() {}, done() {}, end() {} });
    const frames = [{ data: data.replaceAll("\ndata: ", "\n") }];
    for (const event of runStage(stage, frames)) {
      if (event.type === "failure") failures.push(event.failure.kind);
    }
    assert.deepEqual(failures, ["oversized"], name);
  }
});
