import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import type { CanonicalRequest } from "../../../../src/codecs/canonical/request/request.ts";
import type {
  FunctionTool,
  Tool,
} from "../../../../src/codecs/canonical/tools/tool.ts";
import { enforceableSchema } from "../../../../src/codecs/canonical/schema/enforceable_schema.ts";
import { rootObject } from "../../../../src/codecs/canonical/schema/root_object.ts";
import { messagesCodec } from "../../../../src/codecs/messages/mod.ts";
import { encodeRequest } from "../../../../src/codecs/messages/request/encode.ts";
import { requestOf } from "../../../support/wire/requests.ts";
import { contextFor, targetOf } from "../../../support/dialects/targets.ts";

interface Encoded {
  readonly body: JsonObject;
  readonly lost: readonly string[];
}

function encode(
  fields: Partial<CanonicalRequest>,
  model = "claude-sonnet-4-5",
): Encoded {
  const { context, lost } = contextFor("custom", { model });
  return { body: encodeRequest(requestOf(fields), context), lost };
}

const tool = (name: string): FunctionTool => ({ kind: "function", name });
const wire = (name: string) => ({
  name,
  input_schema: { type: "object", properties: {} },
});

Deno.test("encodeRequest() writes the schema of an empty object for a function without parameters", () => {
  assert.deepEqual(encode({ tools: [tool("f")] }).body.tools, [wire("f")]);
});

Deno.test("encodeRequest() writes `strict` if the model can enforce the schema", () => {
  const parameters = {
    type: "object",
    properties: { a: { type: "integer", minimum: 1 } },
  };
  const tools = [{ ...tool("f"), parameters, strict: true }];
  const held = encode({ tools });
  assert.deepEqual(held.body.tools, [{
    name: "f",
    input_schema: {
      type: "object",
      properties: { a: { type: "integer", description: "{minimum: 1}" } },
      additionalProperties: false,
    },
    strict: true,
  }]);
  assert.deepEqual(held.lost, []);
  const loose = encode({ tools }, "claude-3-5-haiku");
  assert.deepEqual(loose.body.tools, [{ name: "f", input_schema: parameters }]);
  assert.deepEqual(loose.lost, ["toolStrictness report"]);
  const open = encode({
    tools: [{ ...tool("f"), parameters: { type: "object" }, strict: true }],
  });
  assert.deepEqual(open.lost, ["toolStrictness report"]);
  const not = encode({ tools: [{ ...tool("f"), parameters, strict: false }] });
  assert.deepEqual(not.body.tools, [{ name: "f", input_schema: parameters }]);
});

Deno.test("encodeRequest() drops and reports another protocol's hosted tools", () => {
  const hosted: Tool = {
    kind: "hosted",
    protocol: "responses",
    type: "web_search",
    value: { type: "web_search" },
  };
  const { body, lost } = encode({
    tools: [hosted],
    toolChoice: { type: "auto" },
    parallelTools: false,
  });
  assert.equal(body.tools, undefined);
  assert.equal(body.tool_choice, undefined);
  assert.deepEqual(lost, ["tools report"]);
  const forced = encode({
    tools: [hosted, tool("f")],
    toolChoice: { type: "hosted", protocol: "responses", value: {} },
  });
  assert.deepEqual(forced.lost, ["tools report", "toolChoice report"]);
});

Deno.test("encodeRequest() writes every form of tool_choice", () => {
  const choice = (
    toolChoice: CanonicalRequest["toolChoice"],
    parallelTools?: boolean,
  ) =>
    encode({ tools: [tool("f"), tool("g")], toolChoice, parallelTools }).body
      .tool_choice;
  const named = { kind: "function", name: "f" } as const;
  assert.equal(choice(undefined), undefined);
  assert.equal(choice(undefined, true), undefined);
  assert.deepEqual(choice(undefined, false), {
    type: "auto",
    disable_parallel_tool_use: true,
  });
  assert.deepEqual(choice({ type: "none" }, false), { type: "none" });
  assert.deepEqual(choice({ type: "required" }, false), {
    type: "any",
    disable_parallel_tool_use: true,
  });
  assert.deepEqual(choice({ type: "tool", tool: named }), {
    type: "tool",
    name: "f",
  });
});

Deno.test("encodeRequest() writes only the allowed tools", () => {
  const allowed = (mode: "auto" | "required") =>
    encode({
      tools: [tool("f"), tool("g")],
      toolChoice: {
        type: "allowed",
        mode,
        tools: [{ kind: "function", name: "g" }],
      },
    }).body;
  assert.deepEqual(allowed("auto").tools, [wire("g")]);
  assert.deepEqual(allowed("auto").tool_choice, { type: "auto" });
  assert.deepEqual(allowed("required").tool_choice, { type: "any" });
});

Deno.test("encodeRequest() adds an instruction to call a tool for a model that cannot be forced", () => {
  const nudge = (toolChoice: CanonicalRequest["toolChoice"]) => {
    const { body, lost } = encode(
      { tools: [tool("f")], toolChoice },
      "claude-opus-5-5",
    );
    assert.deepEqual(body.tool_choice, { type: "auto" });
    assert.deepEqual(lost, ["toolChoice report"]);
    return body.messages;
  };
  const withReminder = (words: string) => [{
    role: "user",
    content: [
      { type: "text", text: "Hi" },
      {
        type: "text",
        text: `<system-reminder>\n${words}\n</system-reminder>`,
      },
    ],
  }];
  assert.deepEqual(
    nudge({ type: "required" }),
    withReminder("Answer by calling one of the tools."),
  );
  assert.deepEqual(
    nudge({ type: "tool", tool: { kind: "function", name: "f" } }),
    withReminder("Answer by calling the tool `f`."),
  );
});

Deno.test("encodeRequest() throws for tools that bridgeTools() did not replace", () => {
  assert.throws(
    () => encode({ tools: [{ kind: "custom", name: "c" }] }),
    TypeError,
  );
  const support = (model: string) =>
    messagesCodec.toolSupport(targetOf("custom", model));
  assert.deepEqual(support("claude-opus-5"), {
    custom: false,
    namespaces: false,
    maxNameLength: 128,
    letterFirst: false,
    limitsPropertyNames: true,
  });
  assert.equal(support("glm-5").maxNameLength, 64);
});

Deno.test("rootObject() merges a choice between objects into one object", () => {
  const a = {
    type: "object",
    properties: { a: {}, c: {} },
    required: ["a", "c"],
  };
  const b = {
    type: "object",
    properties: { b: {}, c: {} },
    required: ["b", "c"],
  };
  assert.deepEqual(rootObject({ anyOf: [a, b], description: "d" }), {
    type: "object",
    description: "d",
    properties: { a: {}, b: {}, c: {} },
    required: ["c"],
  });
  assert.deepEqual(
    rootObject({ type: "object", required: ["c"], oneOf: [a] }),
    { type: "object", properties: { a: {}, c: {} }, required: ["c", "a"] },
  );
  assert.deepEqual(rootObject({ allOf: [a, b] }).required, ["a", "c", "b"]);
});

Deno.test("rootObject() replaces a root that is only a reference", () => {
  const $defs = { In: { type: "object", properties: { a: {} } } };
  assert.deepEqual(rootObject({ $ref: "#/$defs/In", $defs }), {
    $defs,
    type: "object",
    properties: { a: {} },
  });
  assert.deepEqual(rootObject({ $ref: "#/$defs/Out", $defs }), {
    type: "object",
    description: "Must match the schema #/$defs/Out",
  });
  assert.deepEqual(rootObject({ type: "string" }), { type: "object" });
});

Deno.test("enforceableSchema() does not change a schema that is enforceable", () => {
  const schema = {
    type: "object",
    title: "T",
    properties: {
      a: { type: "string", format: "date", enum: ["x"] },
      b: { type: "array", items: { $ref: "#/$defs/d" }, minItems: 1 },
      c: { anyOf: [{ type: "null" }, { const: 1 }] },
    },
    required: ["a"],
    additionalProperties: false,
    $defs: {
      d: { type: "object", properties: {}, additionalProperties: false },
    },
  };
  assert.deepEqual(enforceableSchema(schema), schema);
});

Deno.test("enforceableSchema() closes objects and moves unknown keywords into the description", () => {
  assert.deepEqual(
    enforceableSchema({
      type: "object",
      description: "D",
      properties: {
        a: { oneOf: [{ type: "string", pattern: "x", format: "hex" }] },
        b: { type: ["object", "null"], properties: { c: {} } },
      },
      minProperties: 1,
    }),
    {
      type: "object",
      description: "D\n\n{minProperties: 1}",
      properties: {
        a: {
          anyOf: [{
            type: "string",
            description: '{pattern: "x", format: "hex"}',
          }],
        },
        b: {
          type: ["object", "null"],
          properties: { c: {} },
          additionalProperties: false,
        },
      },
      additionalProperties: false,
    },
  );
});

Deno.test("enforceableSchema() returns undefined for schemas that upstreams reject or that closing would change", () => {
  const inside = (a: JsonObject): JsonObject => ({
    type: "object",
    properties: { a },
  });
  const refused: JsonObject[] = [
    inside({ type: "object" }),
    inside({ type: "object", additionalProperties: { type: "string" } }),
    inside({ $ref: "https://elsewhere.example" }),
    inside({ $ref: "#/$defs/none" }),
    {
      ...inside({ $ref: "#/$defs/d" }),
      $defs: { d: { items: { $ref: "#/$defs/d" } } },
    },
    inside({ $ref: "#" }),
  ];
  for (const schema of refused) {
    assert.equal(enforceableSchema(schema), undefined, JSON.stringify(schema));
  }
});

Deno.test("enforceableSchema() follows each of many references once", () => {
  const $defs: JsonObject = { d40: { type: "string" } };
  for (let level = 0; level < 40; level++) {
    const next = { $ref: `#/$defs/d${level + 1}` };
    $defs[`d${level}`] = { anyOf: [next, { anyOf: [next] }] };
  }
  const schema = { $ref: "#/$defs/d0", $defs };
  assert.deepEqual(enforceableSchema(schema), schema);
});
