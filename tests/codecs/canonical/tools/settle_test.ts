import assert from "node:assert/strict";
import { runStage } from "../../../../src/base/stage.ts";
import type { AnswerEvent } from "../../../../src/codecs/canonical/stream/event.ts";
import {
  MAX_FRAME_CHARACTERS,
  MAX_HELD_CHARACTERS,
} from "../../../../src/codecs/canonical/max_sizes.ts";
import { settleCalls } from "../../../../src/codecs/canonical/tools/settle_calls.ts";
import type { StopReason } from "../../../../src/codecs/canonical/answer/answer.ts";
import {
  callOf,
  deltaOf,
  endOf,
  START,
  startOf,
} from "../../../support/wire/events.ts";
import {
  argumentsObject,
  argumentsText,
  givenArguments,
} from "../../../../src/codecs/canonical/tools/tool.ts";
import { fitId } from "../../../../src/codecs/canonical/tools/tool_call_id.ts";
import { steps } from "../../../support/steps.ts";

function ending(reason: StopReason): AnswerEvent {
  return { type: "end", stop: { reason } };
}

/** Returns an answer with one call whose arguments arrive in these chunks. */
function withArguments(
  pieces: readonly string[],
  reason: StopReason = "tool_calls",
): AnswerEvent[] {
  return [
    START,
    callOf(0, "f"),
    ...pieces.map((piece) => deltaOf(0, piece)),
    endOf(0),
    ending(reason),
  ];
}

function settled(events: readonly AnswerEvent[]): AnswerEvent[] {
  return runStage(settleCalls(), events);
}

function lastKind(events: readonly AnswerEvent[]): string | undefined {
  const last = events.at(-1);
  return last?.type === "failure" ? last.failure.kind : last?.type;
}

Deno.test("settleCalls() forwards the arguments of a call as they arrive", () => {
  const events = withArguments(['{"a', '":1}']);
  assert.deepEqual(settled(events), events);
});

Deno.test("settleCalls() forwards a call without arguments", () => {
  assert.deepEqual(settled(withArguments([])), withArguments([]));
});

Deno.test("settleCalls() treats null arguments as none", () => {
  assert.deepEqual(settled(withArguments(["nu", "ll"])), withArguments([]));
  assert.deepEqual(settled(withArguments([" null\n"])), withArguments([]));
});

Deno.test("settleCalls() fails an answer with an invalid call before the end of the call's block", async (t) => {
  const texts = {
    "that breaks off": '{"a":',
    "with text after the object": '{"a":1}}',
    "that is a list": "[1]",
    "that is a number": "7",
    "that is prose": "city = Köln",
    "that is JSON in a string": '"{}"',
  };
  await steps(t, Object.entries(texts), ([, text]) => {
    const events = settled(withArguments([text]));
    assert.equal(lastKind(events), "broken");
    assert.equal(events.some(({ type }) => type === "block-end"), false);
    assert.equal(JSON.stringify(events.at(-1)).includes(text), false);
  });
});

Deno.test("settleCalls() accepts an incomplete call in an answer that was cut off", () => {
  for (const reason of ["max_tokens", "context_full", "filtered"] as const) {
    const events = withArguments(['{"a":'], reason);
    assert.deepEqual(settled(events), events);
    const prose = withArguments(["city"], reason);
    assert.deepEqual(settled(prose), prose);
  }
});

Deno.test("settleCalls() changes only function calls", () => {
  const events: AnswerEvent[] = [
    START,
    startOf(0),
    deltaOf(0, "{not JSON"),
    endOf(0),
    {
      type: "block-start",
      index: 1,
      block: { kind: "custom_call", id: "c", name: "patch" },
    },
    deltaOf(1, "*** Begin"),
    endOf(1),
    ending("tool_calls"),
  ];
  assert.deepEqual(settled(events), events);
});

Deno.test("settleCalls() fails an answer when its calls exceed the limits", () => {
  const stage = settleCalls();
  const seen: AnswerEvent[] = [];
  const see = (event: AnswerEvent) => {
    seen.push(event);
  };
  stage.push(START, see);
  stage.push(callOf(0, "f"), see);
  const piece = "x".repeat(1 << 24);
  for (let size = 0; size <= MAX_HELD_CHARACTERS; size += piece.length) {
    stage.push(deltaOf(0, piece), see);
  }
  assert.equal(lastKind(seen), "oversized");
});

/** Counts the characters that are checked for white space while `run` runs. */
function trimmedDuring(run: () => void): number {
  const { trimStart } = String.prototype;
  let characters = 0;
  String.prototype.trimStart = function () {
    characters += this.length;
    return trimStart.call(this);
  };
  try {
    run();
  } finally {
    String.prototype.trimStart = trimStart;
  }
  return characters;
}

Deno.test("settleCalls() reads each piece of a call once", () => {
  for (const begin of ["[", "{", "x", " "]) {
    const events = withArguments([begin, ...Array<string>(1000).fill("0,")]);
    assert.ok(trimmedDuring(() => settled(events)) < 10_000, begin);
  }
});

Deno.test("settleCalls() fails a streamed answer with a call that takes long to check, but not a JSON answer", () => {
  const long = `{"a":"${"x".repeat(MAX_FRAME_CHARACTERS)}"}`;
  const heavy = `{"a":[${"0,".repeat(70_000)}0]}`;
  const deep = `{"a":${"[".repeat(70_000)}${"]".repeat(70_000)}}`;
  for (const text of [long, heavy, deep]) {
    const half = text.length / 2;
    const pieces = [text.slice(0, half), text.slice(half)];
    const last = settled(withArguments(pieces))
      .find(({ type }) => type === "failure");
    assert.ok(last?.type === "failure", text.slice(0, 20));
    assert.match(last.failure.message, /longer than the gateway can hold/);
    const whole = withArguments([text]);
    assert.deepEqual(runStage(settleCalls(true), whole), whole);
  }
});

Deno.test("argumentsObject() parses an object, and returns an empty one for empty text", () => {
  assert.deepEqual(argumentsObject('{"b":1,"a":2}'), { b: 1, a: 2 });
  assert.deepEqual(argumentsObject(" "), {});
  assert.deepEqual(argumentsObject("null"), {});
});

Deno.test("argumentsObject() keeps text that is no object in `_raw`", () => {
  for (const text of ['{"a":', "7", "[1]", '{"a":1}{"b":2}']) {
    assert.deepEqual(argumentsObject(text), { _raw: text });
  }
});

Deno.test("argumentsText() keeps the order of keys", () => {
  assert.equal(argumentsText({ b: 1, a: 2 }), '{"b":1,"a":2}');
  assert.equal(argumentsText({}), "{}");
  assert.equal(argumentsText(undefined), "");
  assert.equal(argumentsText([1]), "[1]");
});

Deno.test("givenArguments() accepts text, an object and every form of no arguments", () => {
  assert.equal(givenArguments('{"a":'), '{"a":');
  assert.equal(givenArguments({ a: 1 }), '{"a":1}');
  for (const none of ["", " ", "null", null, undefined]) {
    assert.equal(givenArguments(none), "");
  }
});

Deno.test("fitId() does not change a legal id", () => {
  assert.equal(fitId("call_1-A", { maxLength: 64 }), "call_1-A");
});

Deno.test("fitId() cleans illegal ids, and keeps different ids different", () => {
  const one = fitId("functions.add:0", { maxLength: 64 });
  const other = fitId("functions_add.0", { maxLength: 64 });
  assert.match(one, /^functions_add_0_[0-9a-f]{8}$/);
  assert.notEqual(one, other);
  assert.equal(fitId("functions.add:0", { maxLength: 64 }), one);
});

Deno.test("fitId() cuts a long id to the limit", () => {
  const one = fitId("x".repeat(65), { maxLength: 64 });
  assert.equal(one.length, 64);
  assert.notEqual(one, fitId("x".repeat(66), { maxLength: 64 }));
});

Deno.test("fitId() keeps unusual characters that the target allows", () => {
  const rule = { maxLength: 64, anyCharacter: true };
  assert.equal(fitId("functions.add:0", rule), "functions.add:0");
  assert.equal(fitId("é".repeat(65), rule).length, 64);
});
