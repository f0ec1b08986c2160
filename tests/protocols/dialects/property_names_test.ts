import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../../src/core/json.ts";
import { runStage } from "../../../src/core/stage.ts";
import { foldAnswer } from "../../../src/protocols/canonical/answer/fold.ts";
import {
  restoreAnswer,
  restoreTools,
} from "../../../src/protocols/canonical/tools/restore_tools.ts";
import { CODECS } from "../../../src/protocols/mod.ts";
import { createGrammar } from "../../contract/grammar.ts";
import {
  callOf,
  deltaOf,
  END,
  endOf,
  START,
} from "../../support/wire/events.ts";
import { translateRequest } from "../../support/translate_request.ts";

// "tools.14.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'":
// https://github.com/beautyfree/appstore-connect-mcp/issues/2. The check is at the root of a schema alone:
// https://github.com/aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws/issues/709

const LEGAL_REGEXP = /^[a-zA-Z0-9_.-]{1,64}$/;

function translate(
  parameters: JsonObject,
  options: { input?: JsonObject[]; service?: string; model?: string } = {},
) {
  const { input = [], service = "anthropic", model = "claude-opus-5" } =
    options;
  const { body, aliases } = translateRequest({
    model: "m",
    input: [{ role: "user", content: "Hello" }, ...input],
    tools: [{ type: "function", name: "f", parameters }],
  }, {
    from: CODECS.responses,
    to: CODECS.messages,
    target: { service, model, connectionId: "c", maxOutputTokens: undefined },
    strict: false,
    streamOnly: false,
    force: {},
    omit: [],
  });
  assert.ok(Array.isArray(body.tools) && isJsonObject(body.tools[0]));
  const schema = body.tools[0].input_schema;
  assert.ok(isJsonObject(schema) && isJsonObject(schema.properties));
  return { body, aliases, schema, names: Object.keys(schema.properties) };
}

/** The names of arguments that Claude rejects. */
const ILLEGAL = [
  "filter[id]",
  "$top",
  "user name",
  "naïve",
  "名前",
  "",
  "a".repeat(65),
  "a/b",
  "@type",
];

for (const name of ILLEGAL) {
  Deno.test(`an argument named ${JSON.stringify(name)} has a legal name at Claude, in history and answers too`, () => {
    const call = `{"id":1,${JSON.stringify(name)}:["x"]}`;
    const { body, aliases, schema, names } = translate({
      type: "object",
      properties: { id: {}, [name]: { type: "array" } },
      required: [name, "id"],
    }, {
      input: [
        { type: "function_call", call_id: "1", name: "f", arguments: call },
        { type: "function_call_output", call_id: "1", output: "2" },
      ],
    });
    const [, sentName = ""] = names;
    assert.equal(names[0], "id");
    assert.match(sentName, LEGAL_REGEXP);
    assert.deepEqual(schema.required, [sentName, "id"]);
    const sentCall = { id: 1, [sentName]: ["x"] };
    const messages = JSON.stringify(body.messages);
    assert.ok(messages.includes(`"input":${JSON.stringify(sentCall)}`));

    const text = JSON.stringify(sentCall);
    const events = [
      START,
      callOf(0, "f"),
      ...[...text].map((character) => deltaOf(0, character)),
      endOf(0),
      END,
    ];
    const streamed = runStage(
      createGrammar(),
      runStage(restoreTools(aliases), events),
    );
    for (
      const answer of [
        foldAnswer(streamed),
        restoreAnswer(foldAnswer(events), aliases),
      ]
    ) {
      const [block] = answer.blocks;
      assert.ok(block?.kind === "function_call");
      assert.equal(block.arguments, call);
    }
  });
}

Deno.test("an illegal name in a branch at the root is renamed too", () => {
  const { names } = translate({
    anyOf: [{ properties: { "filter[id]": {} } }, { properties: { a: {} } }],
  });
  assert.equal(names.every((name) => LEGAL_REGEXP.test(name)), true);
  assert.equal(names.length, 2);
});

Deno.test("the model reads the caller's name in the title", () => {
  const { schema } = translate({ properties: { "$top": { type: "number" } } });
  assert.match(JSON.stringify(schema), /\{"title":"\$top","type":"number"\}/);
});

Deno.test("legal names, names below the root and names for other models stay", () => {
  const properties = {
    "a.b-c_1": { type: "object", properties: { "$top": {} } },
  };
  assert.deepEqual(translate({ properties }).schema.properties, properties);
  const { aliases, names } = translate({ properties: { "$top": {} } }, {
    service: "zai",
    model: "glm-5",
  });
  assert.deepEqual([names, aliases.size], [["$top"], 0]);
});

Deno.test("a call that was cut in its arguments keeps what came of them", () => {
  const { aliases } = translate({ properties: { "$top": {} } });
  const events = [START, callOf(0, "f"), deltaOf(0, '{"to'), endOf(0), END];
  const [block] = foldAnswer(runStage(restoreTools(aliases), events)).blocks;
  assert.ok(block?.kind === "function_call");
  assert.equal(block.arguments, '{"to');
});
