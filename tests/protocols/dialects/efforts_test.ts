import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../../src/core/json.ts";
import type { Protocol } from "../../../src/core/protocol.ts";
import {
  upstreamRequest,
  userRequest,
} from "../../support/dialects/upstream_request.ts";

const WORDS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

const TARGETS: readonly (readonly [Protocol, string, string])[] = [
  ["chat", "custom", "m"],
  ["chat", "groq", "openai/gpt-oss-120b"],
  ["chat", "gemini", "gemini-3.8-flash"],
  ["chat", "mistral", "mistral-medium-3-5"],
  ["chat", "zai", "glm-5.2"],
  ["chat", "kimi", "kimi-k3"],
  ["chat", "azure-chat", "gpt-5.1"],
  ["chat", "azure-chat", "gpt-6-astra"],
  ["responses", "openai", "gpt-5.1"],
  ["responses", "openai", "gpt-6.2-sol"],
  ["responses", "codex", "gpt-5.5"],
  ["messages", "anthropic", "claude-opus-5"],
];

function effortIn(body: JsonObject): unknown {
  const { reasoning, output_config: output } = body;
  if (isJsonObject(reasoning)) return reasoning.effort;
  return isJsonObject(output) ? output.effort : body.reasoning_effort;
}

for (const [to, service, model] of TARGETS) {
  Deno.test(`each changed effort for ${model} at ${service} is named`, () => {
    const changed = WORDS.filter((effort) => {
      const { body, dropped } = upstreamRequest(
        userRequest("responses", { reasoning: { effort } }),
        { from: "responses", to, service, model },
      );
      const sent = effortIn(body);
      const isOff = effort === "none" && sent === undefined;
      if (sent === effort || isOff) return false;
      assert.deepEqual(dropped, ["reasoning"], `${effort} as ${sent}`);
      return true;
    });
    assert.ok(changed.length > 0, "the case shows nothing");
  });
}

// "accepts `max` only on the Responses API": https://github.com/BerriAI/litellm-docs/pull/1173, and
// https://github.com/mnfst/modelparams.dev/pull/236
Deno.test("OpenAI's models get `max` in Responses alone", () => {
  for (const model of ["gpt-5.6", "gpt-6-astra", "gpt-6.2-sol"]) {
    const at = (to: Protocol, service: string) => {
      const { body, dropped } = upstreamRequest(
        userRequest("messages", {
          thinking: { type: "adaptive" },
          output_config: { effort: "max" },
        }),
        { from: "messages", to, service, model },
      );
      return [effortIn(body), dropped];
    };
    assert.deepEqual(at("responses", "openai"), ["max", []]);
    assert.deepEqual(at("chat", "azure-chat"), ["xhigh", ["thinking"]]);
  }
});

// https://developers.openai.com/api/docs/guides/async-tool-calling
for (const type of ["function", "custom"]) {
  Deno.test(`a running call of an async ${type} tool is not an interrupted one, and its late result moves to it`, () => {
    const history = (late: readonly JsonObject[]): JsonObject => ({
      tools: [{ type, name: "f", async: true }],
      input: [
        { role: "user", content: "Hello" },
        {
          type: type === "custom" ? "custom_tool_call" : "function_call",
          call_id: "c1",
          name: "f",
          ...(type === "custom" ? { input: "x" } : { arguments: "{}" }),
          async: true,
        },
        { role: "assistant", content: "Meanwhile." },
        ...late,
        { role: "user", content: "And now?" },
      ],
    });
    const result = {
      type: "function_call_output",
      call_id: "c1",
      output: "Done",
    };
    for (
      const [to, service, model] of [
        ["chat", "groq", "openai/gpt-oss-120b"],
        ["messages", "anthropic", "claude-opus-5"],
      ] as const
    ) {
      const at = (late: readonly JsonObject[]) =>
        upstreamRequest(history(late), {
          from: "responses",
          to,
          service,
          model,
        });
      const { body, dropped } = at([]);
      const text = JSON.stringify(body);
      assert.match(text, /no result yet: the tool is still running/);
      assert.doesNotMatch(text, /interrupted|"is_error":true|Error: /);
      assert.deepEqual(dropped, ["tools.async"]);
      assert.doesNotMatch(JSON.stringify(at([result]).body), /no result/);
    }
  });
}
