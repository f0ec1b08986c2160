import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/core/json.ts";
import { estimateTokens } from "../../../src/relay/translated/request_job.ts";
import { CODECS } from "../../../src/protocols/mod.ts";

const BASE64 = "A".repeat(4_000_000);

/** Returns the estimate for a caller's body. */
function estimate(
  protocol: "chat" | "messages" | "responses",
  body: JsonObject,
): number {
  const request = CODECS[protocol].decodeRequest(body);
  return estimateTokens(JSON.stringify(body).length, request);
}

function messages(content: JsonObject[]): JsonObject {
  return { model: "m", max_tokens: 9, messages: [{ role: "user", content }] };
}

const IMAGE = {
  type: "image",
  source: { type: "base64", media_type: "image/png", data: BASE64 },
};

Deno.test("estimateTokens() counts text by its length", () => {
  const text = "x".repeat(40_000);
  const count = estimate("messages", messages([{ type: "text", text }]));
  assert.ok(count > 10_000 && count < 10_100, String(count));
});

Deno.test("estimateTokens() counts a picture, a file and sound by their content, at any place", () => {
  const pictures = [
    estimate("messages", messages([IMAGE])),
    estimate(
      "messages",
      messages([{ type: "tool_result", tool_use_id: "a", content: [IMAGE] }]),
    ),
    estimate(
      "messages",
      messages([{
        type: "document",
        source: { type: "content", content: [IMAGE] },
      }]),
    ),
    estimate("chat", {
      model: "m",
      messages: [{
        role: "user",
        content: [{
          type: "image_url",
          image_url: { url: `data:image/png;base64,${BASE64}` },
        }],
      }],
    }),
    estimate("responses", {
      model: "m",
      input: [{
        role: "user",
        content: [{
          type: "input_image",
          image_url: `data:image/png;base64,${BASE64}`,
        }],
      }],
    }),
  ];
  for (const count of pictures) {
    assert.ok(count >= 1600 && count < 1800, String(count));
  }
  const file = estimate(
    "messages",
    messages([{
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data: BASE64 },
    }]),
  );
  assert.ok(file >= 3000 && file < 3200, String(file));
  const sound = estimate("chat", {
    model: "m",
    messages: [{
      role: "user",
      content: [{
        type: "input_audio",
        input_audio: { format: "wav", data: BASE64 },
      }],
    }],
  });
  assert.ok(sound >= 1000 && sound < 1200, String(sound));
});

Deno.test("estimateTokens() counts a document of text and an address of a picture by their length", () => {
  const data = "x".repeat(40_000);
  const source = { type: "text", media_type: "text/plain", data };
  const text = estimate("messages", messages([{ type: "document", source }]));
  assert.ok(text > 10_000 && text < 10_100, String(text));
  const url = { type: "url", url: "https://example.com/a.png" };
  const shown = estimate(
    "messages",
    messages([{ type: "image", source: url }]),
  );
  assert.ok(shown >= 1600 && shown < 1700, String(shown));
});
