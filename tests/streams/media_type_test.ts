import assert from "node:assert/strict";
import {
  bodyKind,
  isEventStream,
  isJson,
} from "../../src/streams/media_type.ts";

Deno.test("a stream of events is recognized by its media type in any spelling", () => {
  for (
    const type of [
      "text/event-stream",
      " Text/Event-Stream; charset=utf-8",
      "text/event-stream, text/event-stream",
    ]
  ) assert.ok(isEventStream(type), type);
  for (
    const type of [
      "",
      "application/json",
      "text/event-streams",
      "application/json; as=text/event-stream",
    ]
  ) assert.ok(!isEventStream(type), type);
});

Deno.test("JSON is recognized by its media type, with any prefix", () => {
  for (
    const type of [
      "application/json",
      "Application/Problem+JSON",
      "text/json; charset=utf-8",
    ]
  ) assert.ok(isJson(type), type);
  for (const type of ["", "text/plain", "text/event-stream"]) {
    assert.ok(!isJson(type), type);
  }
});

Deno.test("the first bytes of a body decide its kind, even a single one", () => {
  const starts:
    readonly (readonly [start: string, kind: string | undefined])[] = [
      ["{", "json"],
      ['\n [{"a":1}]', "json"],
      ["\ufeff{", "json"],
      ["d", "events"],
      ["data: {", "events"],
      ["\ufeffdata:", "events"],
      ["\r\n\nevent: a", "events"],
      ["id: 1\nevent:error", "events"],
      ["retry: 5", "events"],
      [": waiting", "events"],
      ["", undefined],
      [" \r\n", undefined],
      ["\ufeff", undefined],
      ["<html>", "other"],
      ["database is down", "other"],
      ["internal error", "other"],
      ['"text"', "other"],
    ];
  for (const [start, kind] of starts) {
    const bytes = new TextEncoder().encode(start);
    assert.equal(bodyKind(bytes), kind, JSON.stringify(start));
  }
});
