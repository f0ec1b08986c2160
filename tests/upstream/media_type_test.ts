import assert from "node:assert/strict";
import { isEventStream, isJson } from "../../src/upstream/media_type.ts";

Deno.test("a stream of events is known by its media type, however it is written", () => {
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

Deno.test("JSON is known by its media type, whatever it is of", () => {
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
