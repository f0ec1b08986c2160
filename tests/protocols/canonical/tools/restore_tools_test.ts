import assert from "node:assert/strict";
import { runStage } from "../../../../src/core/stage.ts";
import type { ToolAliases } from "../../../../src/protocols/canonical/tools/bridge_tools.ts";
import type { AnswerEvent } from "../../../../src/protocols/canonical/stream/event.ts";
import { foldAnswer } from "../../../../src/protocols/canonical/answer/fold.ts";
import {
  restoreAnswer,
  restoreTools,
} from "../../../../src/protocols/canonical/tools/restore_tools.ts";
import { createGrammar } from "../../../contract/grammar.ts";
import { plain } from "../../../contract/codec_contract.ts";
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

Deno.test("restoreTools() gives calls back their namespace, kind and input, and keeps the grammar", () => {
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

Deno.test("restoreTools() gives what is no `input` at the end of the call", () => {
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
