import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/core/json.ts";
import type { Protocol } from "../../../src/core/protocol.ts";
import { CODECS } from "../../../src/protocols/mod.ts";
import { measureOutput } from "../../../src/relay/native/meter.ts";

type Row = readonly [event: JsonObject, length: number];

Deno.test("measureOutput() finds the model's text in each protocol", () => {
  const rows: Readonly<Record<Protocol, readonly Row[]>> = {
    chat: [
      [{ choices: [{ delta: { content: "Hello" } }] }, 5],
      [{ choices: [{ delta: { reasoning_content: "Hmm" } }] }, 3],
      [{
        choices: [{
          delta: { tool_calls: [{ id: "c", function: { arguments: "{}" } }] },
        }],
      }, 2],
      [{ choices: [{ text: "Hello" }] }, 5],
      [{
        choices: [{
          delta: {
            content: [{ type: "thinking", thinking: [{ text: "Hmm" }] }],
          },
        }],
      }, 3],
    ],
    messages: [
      [{
        type: "content_block_delta",
        delta: { type: "text_delta", text: "Hello" },
      }, 5],
      [{
        type: "content_block_delta",
        delta: { type: "thinking_delta", thinking: "Hmm" },
      }, 3],
      [{
        type: "content_block_delta",
        delta: { type: "input_json_delta", partial_json: '{"a' },
      }, 3],
      [{
        type: "content_block_delta",
        delta: { type: "signature_delta", signature: "AbC=" },
      }, 0],
      [{ type: "ping" }, 0],
    ],
    responses: [
      [{ type: "response.output_text.delta", delta: "Hello" }, 5],
      [{
        type: "response.output_item.done",
        item: { type: "function_call", name: "n", arguments: "{}" },
      }, 2],
    ],
  };
  for (const protocol of ["chat", "messages", "responses"] as const) {
    for (const [event, textLength] of rows[protocol]) {
      const data = JSON.stringify(event);
      assert.deepEqual(measureOutput(event, data, CODECS[protocol].watch), {
        textLength,
        envelopeBytes: "data: ".length + data.length - textLength,
      });
    }
  }
});
