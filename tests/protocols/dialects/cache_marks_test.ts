import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/core/json.ts";
import type { Protocol } from "../../../src/core/protocol.ts";
import { upstreamRequest } from "../../support/dialects/upstream_request.ts";

// OpenAI has explicit cache breakpoints from GPT-5.6 on, and on content parts alone:
// https://developers.openai.com/api/docs/guides/prompt-caching
// https://docs.langchain4j.dev/apidocs/dev/langchain4j/model/openaiofficial/OpenAiOfficialPromptCacheBreakpoint.html

const MARK = { cache_control: { type: "ephemeral" } };

const TOOLS: JsonObject = {
  tools: [{ name: "f", input_schema: { type: "object" }, ...MARK }],
};

const PARTS: JsonObject = {
  system: [{ type: "text", text: "Be brief.", ...MARK }],
};

/** Returns the marks in the sent request, and the names of what was dropped. */
function marks(
  fields: JsonObject,
  to: Protocol,
  service: string,
  model: string,
) {
  const { body, dropped } = upstreamRequest({
    max_tokens: 100,
    messages: [{ role: "user", content: "Hello" }],
    ...fields,
  }, { from: "messages", to, service, model });
  const text = JSON.stringify(body);
  return {
    sent: text.match(/cache_control|prompt_cache_breakpoint/g) ?? [],
    onTools: /cache_control|breakpoint/.test(JSON.stringify(body.tools ?? [])),
    isNamed: dropped.includes("cache_control"),
  };
}

for (const to of ["chat", "responses"] as const) {
  Deno.test(`OpenAI gets no cache mark on a tool in ${to}, and it is named`, () => {
    for (const model of ["gpt-5.6", "gpt-6-sol"]) {
      assert.deepEqual(
        marks({ ...TOOLS, ...PARTS }, to, "openai", model),
        { sent: ["prompt_cache_breakpoint"], onTools: false, isNamed: true },
        model,
      );
      const { isNamed } = marks(PARTS, to, "openai", model);
      assert.equal(isNamed, false, model);
    }
  });

  Deno.test(`OpenAI's models before GPT-5.6 get no cache mark at all in ${to}, and it is named`, () => {
    for (const model of ["gpt-4.1", "o3", "gpt-5-mini", "gpt-5.2", "gpt-5.5"]) {
      for (const fields of [TOOLS, PARTS]) {
        assert.deepEqual(
          marks(fields, to, "openai", model),
          { sent: [], onTools: false, isNamed: true },
          model,
        );
      }
    }
  });
}

Deno.test("an unknown model of OpenAI's service gets no cache mark", () => {
  for (const to of ["chat", "responses"] as const) {
    const { sent } = marks(PARTS, to, "openai", "of-an-unknown-name");
    assert.deepEqual(sent, []);
  }
});

Deno.test("a service that takes Anthropic's marks still gets them on tools", () => {
  for (const service of ["openrouter", "gateway"]) {
    assert.deepEqual(
      marks(TOOLS, "chat", service, "anthropic/claude-opus-5"),
      { sent: ["cache_control"], onTools: true, isNamed: false },
    );
  }
});
