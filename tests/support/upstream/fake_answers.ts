import type { JsonObject } from "../../../src/base/json.ts";

/** Returns the shortest answer of the operation at a URL. */
export function answerAt(url: string): JsonObject {
  if (url.endsWith("/chat/completions")) {
    return {
      ...{ id: "c1", object: "chat.completion", created: 1, model: "m" },
      choices: [{
        index: 0,
        message: { role: "assistant", content: "Hi. END of it" },
        finish_reason: "stop",
      }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    };
  }
  if (/\/messages$|:rawPredict$/.test(url)) {
    return {
      ...{ id: "m1", type: "message", role: "assistant", model: "m" },
      content: [{ type: "text", text: "Hi." }],
      ...{ stop_reason: "end_turn", stop_sequence: null },
      usage: { input_tokens: 1, output_tokens: 1 },
    };
  }
  if (url.endsWith("/responses")) {
    return {
      ...{ id: "r1", object: "response", created_at: 1, model: "m" },
      status: "completed",
      output: [{
        ...{ id: "o1", type: "message", role: "assistant" },
        status: "completed",
        content: [{ type: "output_text", text: "Hi.", annotations: [] }],
      }],
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    };
  }
  return {
    ...{ id: "t1", object: "text_completion", created: 1, model: "m" },
    choices: [{ index: 0, text: "Hi.", finish_reason: "stop", logprobs: null }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
}
