import assert from "node:assert/strict";
import { GatewayError } from "../../src/core/error.ts";
import { isJsonObject, type JsonObject } from "../../src/core/json.ts";
import type { Protocol } from "../../src/core/protocol.ts";
import {
  upstreamRequest,
  userRequest,
} from "../support/dialects/upstream_request.ts";

// The patterns in schemas. OpenAI compiles them with Python's engine, and its newer models with an
// engine without lookaround. Each request of Claude Code 2.1.265 and later has a pattern that such
// an engine rejects with a 400 (https://github.com/anthropics/claude-code/issues/92969,
// https://github.com/vercel/ai/pull/21037).

/** The pattern of Claude Code's tool `Artifact`. */
const ARTIFACT =
  '^(?!__.*__$)[^\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}"\\\\./[\\]]{1,200}$';

const LOOKAHEAD = "^(?=.*@).+$";

function schemaOf(properties: JsonObject, more: JsonObject = {}): JsonObject {
  return { type: "object", properties, ...more };
}

/** Returns the schema of the only tool, as a provider receives it. */
function parametersIn(body: JsonObject): unknown {
  assert.ok(Array.isArray(body.tools));
  const [tool] = body.tools;
  assert.ok(isJsonObject(tool));
  return isJsonObject(tool.function)
    ? tool.function.parameters
    : tool.parameters ?? tool.input_schema;
}

function artifact(input_schema: JsonObject): JsonObject {
  return userRequest("messages", {
    tools: [{ name: "Artifact", input_schema }],
  });
}

/** Removes `max_tokens`, which ChatGPT's back end lacks, too. */
function named(dropped: readonly string[]): string[] {
  return dropped.filter((name) => name !== "max_tokens");
}

/** Providers that compile patterns, and OpenAI's models at other services. */
const COMPILING: readonly (readonly [
  to: Protocol,
  service: string,
  model: string,
])[] = [
  ["chat", "openai", "gpt-5.2"],
  ["chat", "openai", "of-an-unknown-name"],
  ["chat", "custom", "gpt-5.6-luna"],
  ["chat", "openrouter", "openai/gpt-6-astra"],
  ["responses", "openai", "gpt-5.2"],
  ["responses", "codex", "gpt-6-astra"],
  ["responses", "openrouter", "openai/gpt-5.5"],
];

const OTHERS: readonly (readonly [Protocol, string, string])[] = [
  ["chat", "custom", "some-model"],
  ["chat", "deepseek", "deepseek-chat"],
  ["chat", "gateway", "some-model"],
  ["responses", "custom", "some-model"],
];

Deno.test("a pattern that OpenAI cannot compile moves into the description of its property, and is named", () => {
  for (const [to, service, model] of COMPILING) {
    for (const pattern of [ARTIFACT, LOOKAHEAD]) {
      const { body, dropped } = upstreamRequest(
        artifact(schemaOf({
          field: { type: "string", pattern, description: "The field." },
          other: { type: "string", pattern },
          id: { type: "string", pattern: "^[0-9a-f]{32}$" },
        })),
        { from: "messages", to, service, model },
      );
      assert.deepEqual(
        parametersIn(body),
        schemaOf({
          field: {
            type: "string",
            description:
              `The field.\n\nMust match the regular expression ${pattern}`,
          },
          other: {
            type: "string",
            description: `Must match the regular expression ${pattern}`,
          },
          id: { type: "string", pattern: "^[0-9a-f]{32}$" },
        }),
        `${to} ${service} ${model}`,
      );
      assert.deepEqual(named(dropped), ["pattern"]);
    }
  }
});

Deno.test("patterns stay for providers that take them", () => {
  for (const [to, service, model] of OTHERS) {
    const parameters = schemaOf({ f: { type: "string", pattern: ARTIFACT } });
    const { body, dropped } = upstreamRequest(artifact(parameters), {
      from: "messages",
      to,
      service,
      model,
    });
    assert.deepEqual(parametersIn(body), parameters, `${to} ${service}`);
    assert.deepEqual(dropped, []);
  }
});

Deno.test("a pattern is found at every place of a schema, and nowhere else", () => {
  const bad = { type: "string", pattern: LOOKAHEAD };
  const good = {
    type: "string",
    description: `Must match the regular expression ${LOOKAHEAD}`,
  };
  const of = (one: JsonObject): JsonObject =>
    schemaOf({
      list: { type: "array", items: one, contains: one },
      tuple: { type: "array", prefixItems: [one, one], items: false },
      choice: { anyOf: [one, { oneOf: [one] }, { allOf: [one] }] },
      map: {
        type: "object",
        propertyNames: one,
        additionalProperties: one,
        patternProperties: { "^a$": one },
      },
      condition: { if: one, then: one, else: one, not: one },
      reference: { $ref: "#/$defs/one" },
      pattern: { type: "string" },
      named: schemaOf({ pattern: one }),
      enumerated: {
        enum: [{ pattern: LOOKAHEAD }],
        const: { pattern: "\\p{L}" },
      },
    }, {
      $defs: { one },
      examples: [{ pattern: LOOKAHEAD }],
      default: { pattern: LOOKAHEAD },
      "x-extension": { pattern: LOOKAHEAD },
    });
  for (const [to, service, model] of COMPILING) {
    const { body } = upstreamRequest(artifact(of(bad)), {
      from: "messages",
      to,
      service,
      model,
    });
    assert.deepEqual(parametersIn(body), of(good));
  }
});

Deno.test("names of properties that OpenAI cannot match move into the description, and are forbidden no more", () => {
  const { body, dropped } = upstreamRequest(
    artifact({
      type: "object",
      properties: { a: {} },
      patternProperties: { "^\\p{L}+$": { type: "string" }, "^x-": {} },
      additionalProperties: false,
    }),
    { from: "messages", to: "chat", service: "openai", model: "gpt-5.2" },
  );
  assert.deepEqual(parametersIn(body), {
    type: "object",
    properties: { a: {} },
    patternProperties: { "^x-": {} },
    description:
      'Properties whose names match a regular expression: ^\\p{L}+$: {"type":"string"}',
  });
  assert.deepEqual(named(dropped), ["pattern"]);
});

Deno.test("a strict tool stays strict without the pattern", () => {
  const strict = {
    type: "object",
    properties: { a: { type: "string", pattern: LOOKAHEAD } },
    required: ["a"],
    additionalProperties: false,
  };
  for (const [to, service, model] of COMPILING) {
    const { body, dropped } = upstreamRequest(
      userRequest("messages", {
        tools: [{ name: "f", input_schema: strict, strict: true }],
      }),
      { from: "messages", to, service, model },
    );
    assert.match(JSON.stringify(body.tools), /"strict":true/);
    assert.deepEqual(named(dropped), ["pattern"]);
  }
});

Deno.test("the schema of an answer has no pattern that OpenAI cannot compile", () => {
  const schema = {
    type: "object",
    properties: { mail: { type: "string", pattern: LOOKAHEAD } },
    required: ["mail"],
    additionalProperties: false,
  };
  for (const [to, service, model] of COMPILING) {
    const { body, dropped } = upstreamRequest(
      userRequest("messages", {
        output_config: { format: { type: "json_schema", schema } },
      }),
      { from: "messages", to, service, model },
    );
    const sent = JSON.stringify([body.response_format, body.text]);
    assert.ok(!sent.includes('"pattern"'), sent);
    assert.match(sent, /Must match the regular expression/);
    assert.deepEqual(named(dropped), ["pattern"]);
  }
});

Deno.test("a strict connection rejects a pattern that it would have to move", () => {
  assert.throws(
    () =>
      upstreamRequest(
        artifact(schemaOf({ f: { type: "string", pattern: ARTIFACT } })),
        {
          from: "messages",
          to: "chat",
          service: "openai",
          model: "gpt-5.2",
          strict: true,
        },
      ),
    (error) => error instanceof GatewayError && error.param === "pattern",
  );
});
