import assert from "node:assert/strict";
import { wordList } from "../../../src/base/collections.ts";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import { received } from "../../support/dialects/upstream_request.ts";

// "When reasoning effort is not none, remove temperature, top_p, and top_logprobs":
// https://developers.openai.com/api/docs/guides/deployment-checklist

const SAMPLING = { temperature: 0.2, top_p: 0.9 };

function toOpenAi(fields: JsonObject, model: string, service = "openai") {
  return received("chat", `responses ${service} ${model}`, fields);
}

Deno.test("a strict tool for OpenAI has no field beside a reference", () => {
  const closed = (properties: JsonObject) => ({
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  });
  const city = closed({ name: { type: "string" } });
  for (
    const target of ["chat openai-chat gpt-4.1", "responses openai gpt-4.1"]
  ) {
    const { body, dropped } = received("messages", target, {
      tools: [{
        name: "f",
        strict: true,
        input_schema: {
          ...closed({
            home: { $ref: "#/$defs/City", description: "Where" },
            work: { $ref: "#/$defs/City" },
          }),
          $defs: { City: city },
        },
      }],
    });
    assert.deepEqual(dropped, [], target);
    const text = JSON.stringify(body.tools);
    assert.match(text, /"strict":true/, target);
    const home = { description: "Where", anyOf: [{ $ref: "#/$defs/City" }] };
    assert.ok(
      text.includes(JSON.stringify({ home, work: { $ref: "#/$defs/City" } })),
      text,
    );
  }
});

Deno.test("a format for OpenAI has an object at its root, not a reference", () => {
  for (
    const target of ["chat openai-chat gpt-4.1", "responses openai gpt-4.1"]
  ) {
    const { body, dropped } = received("messages", target, {
      output_config: {
        format: {
          type: "json_schema",
          schema: {
            $ref: "#/definitions/Node",
            definitions: {
              Node: {
                type: "object",
                properties: { next: { $ref: "#/definitions/Node" } },
                required: ["next"],
                additionalProperties: false,
              },
            },
          },
        },
      },
    });
    assert.deepEqual(dropped, [], target);
    const text = JSON.stringify(body.response_format ?? body.text);
    assert.match(text, /"schema":\{[^{]*"type":"object"/, target);
  }
});

/** Models that reason by default, and unknown names. */
const REASONING_MODELS = wordList(`
  o3 o4-mini gpt-5 gpt-5-mini gpt-5-codex gpt-5-pro gpt-5.1-codex
  gpt-5.1-codex-max gpt-5.1-chat-latest gpt-5.2-codex gpt-5.2-pro
  gpt-5.3-codex gpt-5.4-pro gpt-5.5 gpt-5.5-2026-04-23 gpt-5.6-sol
  gpt-5.6-sol-pro gpt-5.7 gpt-6-astra gpt-6.1-terra gpt-6.2-sol
  gpt-6.3-codex-mini gpt-7 gpt-10-nano o9-pro openai/gpt-5.5
`);

for (const model of REASONING_MODELS) {
  Deno.test(`${model} gets no sampling from any service, and the dropped fields are named`, () => {
    for (const service of ["openai", "custom"]) {
      const { body, dropped } = toOpenAi(SAMPLING, model, service);
      assert.equal(body.temperature, undefined);
      assert.equal(body.top_p, undefined);
      assert.deepEqual(dropped, ["temperature", "top_p"]);
    }
  });
}

/** Models whose effort is `none` by default, or that never reason. */
const PLAIN_MODELS = wordList(`
  gpt-4.1 gpt-4o-2024-11-20 chatgpt-4o-latest gpt-5-chat-latest gpt-5.1
  gpt-5.1-2025-11-13 gpt-5.2 gpt-5.4-mini ft:gpt-4.1-mini:team::abc
`);

for (const model of PLAIN_MODELS) {
  Deno.test(`${model} gets the sampling settings, because it does not reason by default`, () => {
    const { body, dropped } = toOpenAi(SAMPLING, model);
    assert.equal(body.temperature, 0.2);
    assert.equal(body.top_p, 0.9);
    assert.deepEqual(dropped, []);
  });
}

Deno.test("a reasoning model gets the sampling settings when the effort is `none`", () => {
  for (const model of ["gpt-5.2", "gpt-5.5", "gpt-5.6-luna"]) {
    const { body, dropped } = toOpenAi(
      { ...SAMPLING, reasoning_effort: "none" },
      model,
    );
    assert.deepEqual(body.reasoning, { effort: "none" }, model);
    assert.equal(body.temperature, 0.2, model);
    assert.deepEqual(dropped, [], model);
  }
});

Deno.test("a model that does not reason by default gets no sampling beside an effort", () => {
  const { body, dropped } = toOpenAi(
    { ...SAMPLING, reasoning_effort: "low" },
    "gpt-5.2",
  );
  assert.deepEqual(body.reasoning, { effort: "low" });
  assert.equal(body.temperature, undefined);
  assert.deepEqual(dropped, ["temperature", "top_p"]);
});

Deno.test("a model that always reasons gets its least effort for `none`, and the dropped field is named", () => {
  const least: Record<string, string> = {
    "o3": "low",
    "gpt-5": "minimal",
    "gpt-5-pro": "high",
    "gpt-5.2-pro": "medium",
    "gpt-6-astra": "low",
  };
  for (const [model, effort] of Object.entries(least)) {
    const { body, dropped } = toOpenAi(
      { temperature: 0, reasoning_effort: "none" },
      model,
    );
    assert.deepEqual(body.reasoning, { effort }, model);
    assert.equal(body.temperature, undefined, model);
    assert.deepEqual(dropped, ["reasoning_effort", "temperature"], model);
  }
});

Deno.test("an effort that a model lacks becomes the nearest one, and the dropped field is named", () => {
  const cases: [model: string, asked: string, made: string, lost: boolean][] = [
    ["gpt-5", "xhigh", "high", true],
    ["gpt-5.1", "minimal", "low", true],
    ["gpt-5.2", "max", "xhigh", true],
    ["gpt-5.2-pro", "low", "medium", true],
    ["gpt-5-pro", "medium", "high", true],
    ["gpt-5.6-sol", "max", "max", false],
    ["gpt-6.2-sol", "max", "max", false],
    ["gpt-9", "max", "max", false],
  ];
  for (const [model, asked, made, lost] of cases) {
    const { body, dropped } = toOpenAi({ reasoning_effort: asked }, model);
    assert.deepEqual(body.reasoning, { effort: made }, `${model} ${asked}`);
    assert.deepEqual(dropped, lost ? ["reasoning_effort"] : [], model);
  }
});

Deno.test("a model that never reasons gets no effort, and the dropped field is named", () => {
  const { body, dropped } = toOpenAi({ reasoning_effort: "high" }, "gpt-4.1");
  assert.equal(body.reasoning, undefined);
  assert.equal(body.include, undefined);
  assert.deepEqual(dropped, ["reasoning_effort"]);
});

Deno.test("another provider's switch for reasoning becomes an effort for OpenAI", () => {
  for (
    const fields of [
      { reasoning: { enabled: true } },
      { thinking: { type: "enabled" } },
    ]
  ) {
    const on = toOpenAi(fields, "gpt-5.2");
    assert.deepEqual(on.body.reasoning, { effort: "medium" });
    assert.deepEqual(on.dropped, []);
    const never = toOpenAi(fields, "gpt-4.1");
    assert.equal(never.body.reasoning, undefined);
    assert.deepEqual(never.dropped, Object.keys(fields));
  }
});

Deno.test("a router and another gateway get the sampling and the effort unchanged", () => {
  for (const service of ["openrouter", "gateway"]) {
    const { body, dropped } = toOpenAi(
      { ...SAMPLING, reasoning_effort: "max" },
      "gpt-5.5",
      service,
    );
    assert.equal(body.temperature, 0.2, service);
    assert.deepEqual(body.reasoning, { effort: "max" }, service);
    assert.deepEqual(dropped, [], service);
  }
});

Deno.test("models of other makers get the sampling settings beside an effort", () => {
  const { body, dropped } = toOpenAi(
    { ...SAMPLING, reasoning_effort: "high" },
    "gpt-oss-120b",
    "custom",
  );
  assert.equal(body.temperature, 0.2);
  assert.deepEqual(body.reasoning, { effort: "high" });
  assert.deepEqual(dropped, []);
});

Deno.test("a strict connection rejects what would be dropped", () => {
  assert.throws(
    () =>
      received("chat", "responses openai gpt-5.5", { temperature: 0.2 }, true),
    /Cannot pass `temperature` on to this model/,
  );
});

const TOOL = { name: "f", input_schema: { type: "object" } };

function toChat(fields: JsonObject, model: string, service = "custom") {
  return received("messages", `chat ${service} ${model}`, fields);
}

// "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions."
// https://github.com/ItzCrazyKns/Vane/issues/1173
for (
  const model of [
    "gpt-5.4",
    "gpt-5.4-mini",
    "gpt-5.5",
    "gpt-5.6-sol",
    "gpt-6-luna",
    "gpt-6.1-terra",
  ]
) {
  Deno.test(`${model} gets no reasoning beside tools in Chat Completions`, () => {
    const effort = { output_config: { effort: "high" } };
    for (const service of ["openai", "custom"]) {
      const asked = toChat({ tools: [TOOL], ...effort }, model, service);
      assert.equal(asked.body.reasoning_effort, "none");
      assert.deepEqual(asked.dropped, ["output_config.effort"]);
      const plain = toChat(effort, model, service);
      assert.equal(plain.body.reasoning_effort, "high");
      assert.deepEqual(plain.dropped, []);
    }
    const { body, dropped } = received("chat", `responses openai ${model}`, {
      tools: [{ type: "function", function: { name: "f" } }],
      reasoning_effort: "high",
    });
    assert.ok(isJsonObject(body.reasoning));
    assert.equal(body.reasoning.effort, "high");
    assert.deepEqual(dropped, []);
  });
}

Deno.test("a model that reasons by default gets `none` beside tools, and nothing is named without a requested effort", () => {
  const at = (model: string) => toChat({ tools: [TOOL] }, model);
  assert.equal(at("gpt-5.5").body.reasoning_effort, "none");
  assert.deepEqual(at("gpt-5.5").dropped, []);
  assert.equal(at("gpt-5.4").body.reasoning_effort, undefined);
});

Deno.test("models that accept tools beside an effort get both", () => {
  const fields = { tools: [TOOL], output_config: { effort: "high" } };
  for (const model of ["gpt-5", "gpt-5.1", "gpt-5.2", "o3"]) {
    const { body, dropped } = toChat(fields, model);
    assert.equal(body.reasoning_effort, "high", model);
    assert.deepEqual(dropped, [], model);
  }
});

// "Unsupported parameter: 'stop' is not supported with this model."
for (const model of ["o3", "o4-mini", "gpt-5", "gpt-5.1", "gpt-5.5", "gpt-9"]) {
  Deno.test(`${model} gets no stop strings in Chat Completions, and the gateway cuts its answer`, () => {
    const fields = { stop_sequences: ["END"] };
    const asked = received("messages", `chat custom ${model}`, fields);
    assert.equal(asked.body.stop, undefined);
    assert.deepEqual(asked.cuts, ["END"]);
    assert.deepEqual(asked.dropped, ["stop_sequences"]);
  });
}

Deno.test("models that accept stop strings get them", () => {
  for (const model of ["gpt-4.1", "gpt-4o", "qwen3-coder", "gpt-oss-120b"]) {
    const { body, dropped } = toChat({ stop_sequences: ["END"] }, model);
    assert.deepEqual(body.stop, ["END"]);
    assert.deepEqual(dropped, []);
  }
});
