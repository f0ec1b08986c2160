import assert from "node:assert/strict";
import { runStage } from "../../../../src/core/stage.ts";
import { foldAnswer } from "../../../../src/protocols/canonical/answer/fold.ts";
import type { AnswerEvent } from "../../../../src/protocols/canonical/stream/event.ts";
import type { ToolAliases } from "../../../../src/protocols/canonical/tools/bridge_tools.ts";
import {
  createCustomInput,
  restoreAnswer,
  restoreTools,
} from "../../../../src/protocols/canonical/tools/restore_tools.ts";
import { plain } from "../../../contract/codec_contract.ts";
import { createGrammar } from "../../../contract/grammar.ts";
import {
  callOf,
  deltaOf,
  END,
  endOf,
  START,
  startOf,
} from "../../../support/wire/events.ts";

const ALIASES: ToolAliases = new Map([
  ["mcp__read", { kind: "function", name: "read", namespace: "mcp" }],
  ["patch", { kind: "custom", name: "patch" }],
]);

const EVENTS: readonly AnswerEvent[] = [
  START,
  startOf(0),
  deltaOf(0, "so"),
  endOf(0),
  callOf(1, "mcp__read"),
  callOf(2, "patch"),
  callOf(3, "weather"),
  deltaOf(2, '{"inp'),
  deltaOf(1, "{}"),
  deltaOf(2, 'ut":"a\\'),
  deltaOf(2, 'nb"}'),
  deltaOf(3, "{}"),
  endOf(1),
  endOf(2),
  endOf(3),
  END,
];

const RESTORED = [
  { kind: "text", text: "so" },
  {
    kind: "function_call",
    id: "id-mcp__read",
    name: "read",
    namespace: "mcp",
    arguments: "{}",
  },
  { kind: "custom_call", id: "id-patch", name: "patch", input: "a\nb" },
  { kind: "function_call", id: "id-weather", name: "weather", arguments: "{}" },
];

Deno.test("restoreTools() restores the namespace, kind and input of calls, and keeps the grammar", () => {
  const events = runStage(
    createGrammar(),
    runStage(restoreTools(ALIASES), EVENTS),
  );
  assert.deepEqual(plain(foldAnswer(events).blocks), RESTORED);
});

Deno.test("restoreAnswer() does the same to a whole answer", () => {
  assert.deepEqual(
    plain(restoreAnswer(foldAnswer(EVENTS), ALIASES).blocks),
    RESTORED,
  );
});

Deno.test("restoreTools() emits arguments without `input` at the end of the call", () => {
  const events = runStage(restoreTools(ALIASES), [
    START,
    callOf(0, "patch"),
    deltaOf(0, "raw"),
    endOf(0),
    END,
  ]);
  assert.deepEqual(events.slice(2), [deltaOf(0, "raw"), endOf(0), END]);
});

Deno.test("restoreAnswer() returns the answer itself when nothing was bridged", () => {
  const answer = foldAnswer(EVENTS);
  assert.equal(restoreAnswer(answer, new Map()), answer);
});

function read(text: string, size: number): string {
  const input = createCustomInput();
  let read = "";
  for (let from = 0; from < text.length; from += size) {
    read += input.push(text.slice(from, from + size));
  }
  return read + input.end();
}

Deno.test("a custom input is read from arguments in any pieces", async (t) => {
  const inputs: Record<string, [text: string, input: string]> = {
    "plain": ['{"input":"hello"}', "hello"],
    "with spaces": [' {\n "input" : "hello" } ', "hello"],
    "with escapes": [
      JSON.stringify({ input: 'a\n\t"b"\\ \u2028 é 👋 \u0007' }),
      'a\n\t"b"\\ \u2028 é 👋 \u0007',
    ],
    "with escaped surrogates": ['{"input":"\\ud83d\\udc4b"}', "👋"],
    "empty": ['{"input":""}', ""],
    "behind another key": ['{"other":1,"input":"hello"}', "hello"],
    "before another key": ['{"input":"hello","other":1}', "hello"],
    "of another kind": ['{"input":7}', '{"input":7}'],
    "as bare text": ["*** Begin Patch", "*** Begin Patch"],
    "as long bare text": ["x".repeat(500), "x".repeat(500)],
    "of nothing": ["", ""],
    "with an escape that is none": ['{"input":"a\\uZZZZb"}', "auZZZZb"],
    "without its end": ['{"input":"abc', "abc"],
  };
  for (const [name, [text, input]] of Object.entries(inputs)) {
    for (const size of [1, 3, 1000]) {
      await t.step(
        `${name}, by ${size}`,
        () => assert.equal(read(text, size), input),
      );
    }
  }
});

Deno.test("a custom input streams before its end", () => {
  const input = createCustomInput();
  assert.equal(input.push('{"input":"ab'), "ab");
  assert.equal(input.push("c\\"), "c");
  assert.equal(input.push("nd"), "\nd");
  assert.equal(input.push('"}'), "");
  assert.equal(input.end(), "");
});
