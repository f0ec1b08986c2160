import assert from "node:assert/strict";
import { GatewayError } from "../../../../src/base/error.ts";
import type { JsonObject } from "../../../../src/base/json.ts";
import { received } from "../../../support/dialects/upstream_request.ts";

// Formats and strict schemas are fitted in one place. These tests hold the protocols of a provider to the same answer.

const OPEN: JsonObject = {
  type: "object",
  properties: { city: { type: "string" } },
};
const CLOSED: JsonObject = {
  ...OPEN,
  required: ["city"],
  additionalProperties: false,
};

const format = (schema: JsonObject, strict?: boolean) => ({
  response_format: {
    type: "json_schema",
    json_schema: { name: "place", description: "A place", schema, strict },
  },
});

const tool = (schema: JsonObject, strict: boolean) => ({
  tools: [{
    type: "function",
    function: { name: "place", parameters: schema, strict },
  }],
});

function strictOf(body: JsonObject): unknown {
  return JSON.stringify(body).match(/"strict":(\w+)/)?.[1];
}

for (const target of ["chat openai gpt-5.2", "responses openai gpt-5.2"]) {
  Deno.test(`a schema that qualifies becomes strict at ${target}, unless the caller forbids \`strict\``, () => {
    assert.equal(
      strictOf(received("chat", target, format(CLOSED)).body),
      "true",
    );
    const forbidden = received("chat", target, format(CLOSED, false));
    assert.equal(strictOf(forbidden.body), "false");
    assert.equal(
      strictOf(received("chat", target, format(OPEN)).body),
      undefined,
    );
  });

  Deno.test(`a strict schema that does not qualify is refused for ${target}, and the error names the condition`, () => {
    assert.throws(
      () => received("chat", target, format(OPEN, true)),
      (error: unknown) =>
        error instanceof GatewayError && error.param === "response_format" &&
        /must close every object/.test(error.message),
    );
  });

  Deno.test(`a strict tool with an open schema loses \`strict\` at ${target}, and the dropped field is named`, () => {
    const { body, dropped } = received("chat", target, tool(OPEN, true));
    assert.notEqual(strictOf(body), "true");
    assert.deepEqual(dropped, ["tools[].function.strict"]);
  });
}

for (const target of ["chat xai grok-4.5", "responses xai grok-4.5"]) {
  Deno.test(`${target} gets \`strict\` as the caller sent it`, () => {
    const { body, dropped } = received("chat", target, tool(OPEN, true));
    assert.equal(strictOf(body), "true");
    assert.deepEqual(dropped, []);
    const answer = received("chat", target, format(OPEN, true));
    assert.equal(strictOf(answer.body), "true");
  });
}

Deno.test("an instruction in place of a schema has the schema's description at every provider", () => {
  for (
    const target of [
      "chat deepseek deepseek-v4-pro",
      "chat dashscope qwen-plus",
      "messages custom glm-5",
    ]
  ) {
    const { body, dropped } = received("chat", target, format(CLOSED));
    assert.match(
      JSON.stringify(body.system ?? body.messages),
      /It must match this JSON schema:.*\\"description\\":\\"A place\\"/,
      target,
    );
    assert.deepEqual(dropped, ["response_format"], target);
  }
});
