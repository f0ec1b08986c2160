import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/base/json.ts";
import { GatewayError } from "../../../src/base/error.ts";
import { responsesInChatCodec } from "../../../src/codecs/responses_in_chat/mod.ts";
import { cursorBody, cursorTurn, PATCH } from "../../support/wire/cursor.ts";

const { decodeRequest } = responsesInChatCodec;

Deno.test("decodeRequest() reads tools and choices in the spelling of Responses and of Chat", () => {
  const flat = decodeRequest(cursorBody("m", {
    tool_choice: { type: "function", name: "Shell" },
  }));
  const nested = decodeRequest(cursorBody("m", {
    tools: [
      {
        type: "function",
        function: {
          name: "Shell",
          description: "Runs a command",
          strict: false,
          parameters: {
            type: "object",
            properties: { command: { type: "string" } },
            required: ["command"],
          },
        },
      },
      {
        type: "custom",
        custom: {
          name: "ApplyPatch",
          description: "Edits files",
          format: {
            type: "grammar",
            grammar: {
              syntax: "lark",
              definition: "start: begin_patch hunk end_patch",
            },
          },
        },
      },
    ],
    tool_choice: { type: "function", function: { name: "Shell" } },
  }));
  assert.deepEqual(nested.tools, flat.tools);
  assert.deepEqual(nested.toolChoice, flat.toolChoice);
  assert.equal(flat.tools[1]?.kind, "custom");
});

Deno.test("decodeRequest() restores calls of custom tools, which Cursor sends as functions", () => {
  const body = cursorBody("m");
  const items: JsonObject[] = [
    {
      type: "function_call",
      call_id: "call_0",
      name: "Shell",
      arguments: "{}",
    },
    { type: "function_call_output", call_id: "call_0", output: "ok" },
  ];
  const { turns } = decodeRequest({
    ...body,
    input: [{ role: "user", content: "Hi" }, ...items, ...cursorTurn("call_1")],
  });
  const blocks = turns.flatMap((turn) => turn.blocks);
  assert.deepEqual(
    blocks.map(({ kind }) => kind),
    ["text", "function_call", "tool_result", "custom_call", "tool_result"],
  );
  const [, , other, call, result] = blocks;
  assert.ok(call?.kind === "custom_call" && result?.kind === "tool_result");
  assert.equal(call.input, PATCH);
  assert.equal(result.callKind, "custom");
  assert.ok(other?.kind === "tool_result");
  assert.equal(other.callKind, "function");
});

Deno.test("decodeRequest() does not change calls when no custom tool is offered", () => {
  const { tools: _, ...body } = cursorBody("m");
  const { turns } = decodeRequest({
    ...body,
    input: [{ role: "user", content: "Hi" }, ...cursorTurn("call_1")],
  });
  const kinds = turns.flatMap(({ blocks }) => blocks).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["text", "function_call", "tool_result"]);
});

Deno.test("decodeRequest() rejects an invalid Responses request", () => {
  const refused: readonly (readonly [JsonObject, string])[] = [
    [{ input: [] }, "input"],
    [{ tools: [{ type: "custom" }] }, "tools[0].name"],
    [{ tools: [{ name: "x" }] }, "tools[0].type"],
    [{ conversation: "conv_1" }, "conversation"],
  ];
  for (const [overrides, param] of refused) {
    assert.throws(() => decodeRequest(cursorBody("m", overrides)), (error) => {
      assert.ok(error instanceof GatewayError);
      assert.equal(error.param, param);
      return true;
    });
  }
});
