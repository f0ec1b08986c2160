import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
} from "../../src/base/json.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import { received } from "../support/dialects/upstream_request.ts";
import { fromModel, fromUser } from "../support/wire/messages.ts";
import { requestOf } from "../support/wire/requests.ts";
import { targetOf } from "../support/dialects/targets.ts";

// Settings that both of OpenAI's protocols have, and the setting that makes reasoning visible.

function toResponses(fields: JsonObject, target = "openai gpt-5.6-sol") {
  return received("chat", `responses ${target}`, fields);
}

function toOpenAiChat(fields: JsonObject, model = "gpt-5.6-sol") {
  return received("responses", `chat openai ${model}`, fields);
}

const OPTIONS = { mode: "explicit", ttl: "30m" };

Deno.test("prompt_cache_options pass between OpenAI's protocols if the model accepts them", () => {
  const asked = { prompt_cache_options: OPTIONS };
  for (const { body, dropped } of [toResponses(asked), toOpenAiChat(asked)]) {
    assert.deepEqual(body.prompt_cache_options, OPTIONS);
    assert.deepEqual(dropped, []);
  }
  for (
    const { body, dropped } of [
      toResponses(asked, "openai gpt-5.2"),
      toResponses(asked, "codex gpt-5.6-sol"),
      toResponses(asked, "custom m"),
      toOpenAiChat(asked, "gpt-5.2"),
      received("chat", "messages anthropic claude-opus-5", asked),
    ]
  ) {
    assert.equal(body.prompt_cache_options, undefined);
    assert.deepEqual(dropped, ["prompt_cache_options"]);
  }
});

// "not supported by GPT-6 and later models; use prompt_cache_options instead": npm @ai-sdk/openai
Deno.test("prompt_cache_retention passes between OpenAI's protocols if the model accepts it", () => {
  const asked = { prompt_cache_retention: "24h" };
  for (const model of ["gpt-4.1", "gpt-5.2", "gpt-5.6-sol"]) {
    for (
      const { body, dropped } of [
        toResponses(asked, `openai ${model}`),
        toOpenAiChat(asked, model),
      ]
    ) {
      assert.equal(body.prompt_cache_retention, "24h", model);
      assert.deepEqual(dropped, [], model);
    }
  }
  for (
    const { body, dropped } of [
      toResponses(asked, "openai gpt-6-luna"),
      toResponses(asked, "openai gpt-8"),
      toResponses(asked, "custom m"),
      toOpenAiChat(asked, "gpt-6-luna"),
    ]
  ) {
    assert.equal(body.prompt_cache_retention, undefined);
    assert.deepEqual(dropped, ["prompt_cache_retention"]);
  }
});

Deno.test("encodeRequest() writes no extras of another protocol", () => {
  const foreign = Object.fromEntries(
    [
      "logprobs",
      "top_logprobs",
      "prompt_cache_options",
      "prompt_cache_retention",
      "safety_identifier",
      "user",
      "metadata",
    ].map((name) => [name, { value: true, weight: "ignore" as const }]),
  );
  const names = ["chat", "messages", "responses"] as const;
  for (const from of names) {
    for (const to of names) {
      if (from === to) continue;
      const request = requestOf({ extras: { [from]: foreign } });
      const context = {
        target: targetOf("openai", "gpt-4.1"),
        reportDropped: () => {},
      };
      assert.deepEqual(
        CODECS[to].encodeRequest(request, context),
        CODECS[to].encodeRequest(requestOf({}), context),
      );
    }
  }
});

Deno.test("a safety_identifier and a different user are both sent", () => {
  const asked = { user: "anna", safety_identifier: "hash-1" };
  for (const { body, dropped } of [toResponses(asked), toOpenAiChat(asked)]) {
    assert.equal(body.user, "anna");
    assert.equal(body.safety_identifier, "hash-1");
    assert.deepEqual(dropped, []);
  }
});

Deno.test("a single user id is sent in the provider's field", () => {
  for (
    const asked of [
      { user: "anna" },
      { safety_identifier: "anna" },
      { user: "anna", safety_identifier: "anna" },
    ]
  ) {
    const { body, dropped } = toResponses(asked);
    assert.equal(body.safety_identifier, "anna");
    assert.equal(body.user, undefined);
    assert.deepEqual(dropped, []);
  }
});

Deno.test("a provider with one field for users gets the user, and the safety_identifier is named", () => {
  const asked = { user: "anna", safety_identifier: "hash-1" };
  const { body, dropped } = toResponses(asked, "custom m");
  assert.equal(body.user, "anna");
  assert.equal(body.safety_identifier, undefined);
  assert.deepEqual(dropped, ["safety_identifier"]);
});

Deno.test("OpenAI gets the request for a reasoning summary in any spelling of a Chat caller", () => {
  const spellings: [JsonObject, JsonObject][] = [
    [{ reasoning: { summary: "detailed" } }, { summary: "detailed" }],
    [{ reasoning: { effort: "high", summary: "auto" } }, {
      effort: "high",
      summary: "auto",
    }],
    [{ reasoning_effort: "low", reasoning_summary: "concise" }, {
      effort: "low",
      summary: "concise",
    }],
    [{ reasoning_effort: { effort: "low", summary: "auto" } }, {
      effort: "low",
      summary: "auto",
    }],
    [{ include_reasoning: true }, { summary: "auto" }],
    [{ reasoning: { effort: "low", exclude: false } }, {
      effort: "low",
      summary: "auto",
    }],
    [{ reasoning: { effort: "low", exclude: true } }, { effort: "low" }],
    [{ reasoning_effort: "low" }, { effort: "low" }],
    [{ thinking: { type: "adaptive" } }, { effort: "medium" }],
  ];
  for (const [asked, expected] of spellings) {
    const { body, dropped } = toResponses(asked, "openai gpt-5.2");
    assert.deepEqual(body.reasoning, expected, JSON.stringify(asked));
    assert.deepEqual(dropped, [], JSON.stringify(asked));
  }
});

Deno.test("a request for a summary is named as dropped if there is no reasoning", () => {
  const { body, dropped } = toResponses(
    { reasoning: { summary: "auto" } },
    "openai gpt-4.1",
  );
  assert.equal(body.reasoning, undefined);
  assert.deepEqual(dropped, ["reasoning"]);
});

Deno.test("Anthropic is asked to omit thinking when a Chat caller excludes reasoning", () => {
  const asked = { reasoning: { enabled: true, exclude: true } };
  const { body } = received("chat", "messages anthropic claude-opus-5", asked);
  assert.deepEqual(body.thinking, { type: "adaptive", display: "omitted" });
});

Deno.test("only `strict` is named as dropped when a schema does not qualify for `strict`", () => {
  const parameters = { type: "object", properties: { a: {} } };
  const called = { name: "f", parameters, strict: true };
  const chat = { tools: [{ type: "function", function: called }] };
  for (const target of ["responses openai gpt-5.2", "messages custom glm-5"]) {
    const { body, dropped } = received("chat", target, chat);
    assert.match(JSON.stringify(body.tools), /"name":"f"/);
    assert.deepEqual(dropped, ["tools[].function.strict"]);
    assert.throws(() => received("chat", target, chat, true));
  }
  const responses = {
    tools: [{ type: "function", name: "f", parameters, strict: true }],
  };
  const { dropped } = received("responses", "chat openai gpt-5.2", responses);
  assert.deepEqual(dropped, ["tools[].strict"]);
});

Deno.test("a forced hosted tool is sent to its provider, named for others, and rejected on a strict connection", () => {
  const search = { type: "web_search_20250305", name: "web_search" };
  const asked = {
    tools: [search],
    tool_choice: { type: "tool", name: "web_search" },
  };
  const { body, dropped } = received("messages", "chat custom m", asked);
  assert.equal(body.tools, undefined);
  assert.equal(body.tool_choice, undefined);
  assert.deepEqual(dropped, ["tools", "tool_choice"]);
  assert.throws(() => received("messages", "chat custom m", asked, true));
  const own = received(
    "messages",
    "messages anthropic claude-sonnet-4-6",
    asked,
  );
  assert.deepEqual(own.body.tool_choice, { type: "tool", name: "web_search" });
  assert.deepEqual(own.dropped, []);
});

Deno.test("a forced choice is named as dropped when no tool is left", () => {
  const asked = { tools: [{ type: "web_search" }], tool_choice: "required" };
  const { dropped } = received("responses", "chat custom m", asked);
  assert.deepEqual(dropped, ["tools", "tool_choice"]);
});

Deno.test("an effort in a system message of Claude Code 2.1.330 applies to the request", () => {
  const user = (content: JsonValue = "Go") => fromUser(content);
  const answer = fromModel("Done.");
  const change = (effort: string, content: JsonValue = []) => ({
    role: "system",
    content,
    output_config: { effort },
  });
  const result = [{ type: "tool_result", tool_use_id: "a", content: "4" }];
  const call = fromModel([{ type: "tool_use", id: "a", name: "f", input: {} }]);
  const rows: readonly (readonly [string, JsonObject[]])[] = [
    ["high", [user()]],
    ["low", [user(), change("low")]],
    ["low", [user(), change("low", "You are here."), answer, user("On")]],
    ["low", [user(), answer, change("low"), user("On")]],
    ["medium", [user(), change("low"), answer, change("medium"), user("On")]],
    // Tool results are no new user input.
    ["low", [user(), change("low"), call, user(result)]],
    ["high", [user(), call, change("low"), user(result)]],
    ["low", [user(), call, user(result), change("low"), answer, user("On")]],
  ];
  for (const to of ["chat", "responses"] as const) {
    for (const [effort, messages] of rows) {
      const { body, dropped } = received("messages", `${to} openai gpt-5.2`, {
        messages,
        output_config: { effort: "high" },
      });
      const sent = to === "chat"
        ? body.reasoning_effort
        : isJsonObject(body.reasoning)
        ? body.reasoning.effort
        : undefined;
      assert.equal(sent, effort, JSON.stringify(messages));
      assert.deepEqual(dropped, []);
    }
  }
});

Deno.test("OpenAI gets a Messages format as strict if the schema qualifies, and otherwise `strict` is named as dropped", () => {
  const closed = {
    type: "object",
    properties: { a: { type: "string" } },
    required: ["a"],
    additionalProperties: false,
  };
  const rows: readonly (readonly [schema: JsonObject, isStrict: boolean])[] = [
    [closed, true],
    [{ ...closed, required: [] }, false],
    [{ type: "array", items: closed }, false],
    [{ ...closed, properties: { a: { type: "object" } } }, false],
  ];
  const formatOf = ({ text, response_format }: JsonObject) =>
    objectOf(objectOf(text).format ?? objectOf(response_format).json_schema);
  for (const [schema, isStrict] of rows) {
    const format = { type: "json_schema", schema };
    for (const target of ["responses openai gpt-5.5", "chat openai gpt-5.5"]) {
      for (
        const [field, fields] of Object.entries({
          "output_config.format": { output_config: { format } },
          "output_format": { output_format: format },
        })
      ) {
        const { body, dropped } = received("messages", target, fields);
        assert.deepEqual(formatOf(body).schema, schema);
        assert.equal(formatOf(body).strict, isStrict ? true : undefined);
        assert.deepEqual(dropped, isStrict ? [] : [field]);
      }
    }
    const own = received("messages", "messages bedrock claude-opus-5-5", {
      output_config: { format },
    });
    assert.doesNotMatch(JSON.stringify(own.body), /wanted/);
  }
});
