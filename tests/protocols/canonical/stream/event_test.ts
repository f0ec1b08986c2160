import assert from "node:assert/strict";
import { isOutput } from "../../../../src/protocols/canonical/stream/event.ts";
import {
  callOf,
  deltaOf,
  END,
  endOf,
  failureOf,
  START,
  startOf,
} from "../../../support/wire/events.ts";

Deno.test("isOutput() returns true for events with output for the caller", () => {
  for (const event of [deltaOf(0, "a"), callOf(0, "f"), END]) {
    assert.equal(isOutput(event), true, event.type);
  }
  for (
    const event of [
      START,
      startOf(0),
      startOf(0, "reasoning"),
      endOf(0),
      failureOf("x"),
    ]
  ) {
    assert.equal(isOutput(event), false, event.type);
  }
});
