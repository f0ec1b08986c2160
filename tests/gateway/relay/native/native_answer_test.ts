import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../../../src/base/json.ts";
import {
  type CallerResponse,
  connectionTo,
  openScene,
} from "../../../support/gateway/failover_scene.ts";
import { good } from "../../../support/upstream/bad_provider.ts";
import type { Protocol } from "../../../../src/base/protocol.ts";
import { CODECS } from "../../../../src/codecs/codecs.ts";
import { measureOutput } from "../../../../src/gateway/relay/native/meter.ts";

// OpenRouter reports the error of a model inside the choice that it ends, with status 200:
// https://openrouter.ai/docs/api-reference/errors

/** Returns an answer whose choice ended with an error, far from the beginning of the body. */
function answerWith(code: number): string {
  return JSON.stringify({
    id: "gen-1",
    model: "model-1",
    object: "chat.completion",
    choices: [{
      index: 0,
      message: { role: "assistant", content: "word ".repeat(200) },
      finish_reason: "error",
      error: { code, message: "The model stopped", metadata: {} },
    }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  });
}

/** The log's word for an error, and whether another attempt may help. */
const CODES = [
  [429, "rate_limited", true],
  [502, "trouble", true],
  [400, "refused", false],
] as const;

async function askOnce(
  body: string,
  { hasLength }: { readonly hasLength: boolean },
): Promise<CallerResponse> {
  const headers = {
    "content-type": "application/json",
    ...(hasLength ? { "content-length": `${body.length}` } : {}),
  };
  const scene = await openScene(
    [connectionTo("one", { protocol: "chat", mode: "native" })],
    { one: [() => new Response(body, { headers }), good] },
  );
  return await scene.ask("chat");
}

for (const [code, word, isRepeated] of CODES) {
  Deno.test(`an error ${code} inside the choice of a native JSON answer counts as ${word}`, async (t) => {
    const body = answerWith(code);
    await t.step("of known length", async () => {
      const received = await askOnce(body, { hasLength: true });
      assert.equal(received.status, 200);
      assert.equal(received.text === body, !isRepeated);
      const { attempts, failure } = received.line;
      if (!isRepeated) return assert.equal(failure, word);
      assert.ok(Array.isArray(attempts));
      const [first, ...others] = attempts;
      assert.ok(isJsonObject(first));
      assert.deepEqual([first.failure, others.length], [word, 1]);
    });
    await t.step("of unknown length", async () => {
      const received = await askOnce(body, { hasLength: false });
      assert.equal(received.text, body);
      assert.equal(received.line.failure, word);
    });
  });
}

Deno.test("an error inside a choice of a native JSON answer reaches the caller unchanged, and counts against the connection", async () => {
  const body = answerWith(503);
  const headers = {
    "content-type": "application/json",
    "content-length": `${body.length}`,
  };
  const scene = await openScene(
    [connectionTo("one", { protocol: "chat", mode: "native" })],
    { one: [() => new Response(body, { headers })] },
  );
  for (let count = 0; count < 3; count++) {
    const received = await scene.ask("chat");
    assert.deepEqual([received.status, received.text], [200, body]);
  }
  assert.match(scene.lines.text(), /"cooling_down".*"failure":"trouble"/);
});

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
