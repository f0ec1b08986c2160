import assert from "node:assert/strict";
import { measureOutput } from "../../../src/relay/native/meter.ts";

Deno.test("measureOutput() finds what a model wrote in an event of each protocol", () => {
  const events: readonly (readonly [event: object, length: number])[] = [
    [{ choices: [{ delta: { content: "Hello" } }] }, 5],
    [{ choices: [{ delta: { reasoning_content: "Hmm" } }] }, 3],
    [{
      choices: [{
        delta: { tool_calls: [{ id: "c", function: { arguments: "{}" } }] },
      }],
    }, 2],
    [{ choices: [{ text: "Hello" }] }, 5],
    [{
      type: "content_block_delta",
      delta: { type: "text_delta", text: "Hello" },
    }, 5],
    [{
      type: "content_block_delta",
      delta: { type: "input_json_delta", partial_json: '{"a' },
    }, 3],
    [{ type: "response.output_text.delta", delta: "Hello" }, 5],
    [{ candidates: [{ content: { parts: [{ text: "Hello" }] } }] }, 5],
    [{ type: "ping" }, 0],
  ];
  for (const [event, textLength] of events) {
    const data = JSON.stringify(event);
    assert.deepEqual(measureOutput(event, data), {
      textLength,
      envelopeBytes: "data: ".length + data.length - textLength,
    });
  }
});
