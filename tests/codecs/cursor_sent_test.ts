import assert from "node:assert/strict";
import { GatewayError } from "../../src/base/error.ts";
import type { JsonObject, JsonValue } from "../../src/base/json.ts";
import { received } from "../support/dialects/upstream_request.ts";

// Cursor sends Chat bodies that mix tools and blocks of Messages with OpenAI's. Each part keeps its meaning, or an
// error names its field. Nothing is dropped without a report.

const TARGETS = ["messages anthropic claude-opus-4-8", "chat custom m"];

const SCHEMA = { type: "object", properties: { a: { type: "string" } } };
const OWN = { type: "function", function: { name: "f", parameters: SCHEMA } };
const BARE = { name: "f", input_schema: SCHEMA };
const FLAT = { type: "function", name: "f", parameters: SCHEMA };

const USE = { type: "tool_use", id: "t1", name: "f", input: { a: "x" } };
const RESULT = { type: "tool_result", tool_use_id: "t1", content: "seen" };
const CALL = {
  id: "t1",
  type: "function",
  function: { name: "f", arguments: '{"a":"x"}' },
};

const user = (content: JsonValue) => ({ role: "user", content });
const model = (content: JsonValue, fields: JsonObject = {}) => ({
  role: "assistant",
  content,
  ...fields,
});

/** Returns a request whose history has these messages after the first. */
const history = (...messages: JsonObject[]): JsonObject => ({
  messages: [user("Go"), ...messages],
  tools: [OWN],
});

/** Requests with the same meaning. */
const SAME: readonly (readonly [what: string, forms: readonly JsonObject[]])[] =
  [
    ["a tool", [
      { tools: [OWN] },
      { tools: [BARE] },
      { tools: [FLAT] },
      { tools: [{ ...BARE, type: null }] },
      { tools: [{ ...BARE, type: "custom" }] },
      { tools: [{ ...FLAT, function: null }] },
      { tools: [OWN, BARE, FLAT] },
    ]],
    ["one call at a time", [
      { tools: [OWN], tool_choice: "auto", parallel_tool_calls: false },
      {
        tools: [BARE],
        tool_choice: { type: "auto", disable_parallel_tool_use: true },
      },
    ]],
    ["a call with its result", [
      history(
        model(null, { tool_calls: [CALL] }),
        { role: "tool", tool_call_id: "t1", content: "seen" },
      ),
      history(model([USE]), user([RESULT])),
      history(model([{ ...USE, input: '{"a":"x"}' }]), user([RESULT])),
      history(model([USE], { tool_calls: [CALL] }), user([RESULT])),
      history(
        model([USE]),
        { role: "tool", tool_call_id: "t1", content: "seen" },
      ),
      history(model([USE]), { role: "tool", content: [RESULT] }),
      history(
        model(null, { tool_calls: [CALL] }),
        { role: "tool", tool_call_id: "t1", content: [RESULT] },
      ),
      history(
        model([USE]),
        user([{ ...RESULT, content: [{ type: "text", text: "seen" }] }]),
      ),
    ]],
    ["a result before the user's text", [
      history(model([USE]), user([RESULT, { type: "text", text: "On" }])),
      history(model([USE]), user([{ type: "text", text: "On" }, RESULT])),
      history(model([USE]), user([RESULT]), user("On")),
    ]],
  ];

for (const target of TARGETS) {
  for (const [what, forms] of SAME) {
    Deno.test(`${target} gets the same request from each form of ${what} in a Chat body`, () => {
      const [first, ...others] = forms.map((one) => {
        const { body, dropped } = received("chat", target, one);
        assert.deepEqual(dropped, []);
        return body;
      });
      others.forEach((body, index) =>
        assert.deepEqual(body, first, JSON.stringify(forms[index + 1]))
      );
    });
  }
}

Deno.test("the first of two tools with one name is sent, and the second is named as dropped if it differs", () => {
  const other = { ...BARE, description: "Another" };
  for (const target of TARGETS) {
    const { body, dropped } = received("chat", target, {
      tools: [OWN, other],
    });
    assert.deepEqual(body, received("chat", target, { tools: [OWN] }).body);
    assert.deepEqual(dropped, ["tools"]);
  }
});

/** Invalid bodies, with the field that the error names. */
const WRONG: readonly (readonly [field: string, body: JsonObject])[] = [
  ["tools[0].function.name", { tools: [{ ...BARE, name: "" }] }],
  ["tools[0].function", { tools: [{ ...BARE, name: 5 }] }],
  ["tools[0].function.parameters", { tools: [{ ...BARE, input_schema: "x" }] }],
  ["tools[0].function.parameters", { tools: [{ ...FLAT, parameters: [] }] }],
  ["messages[1].content[0].id", history(model([{ ...USE, id: 7 }]))],
  ["messages[1].content[0].name", history(model([{ ...USE, name: null }]))],
  ["messages[1].content[0]", history(user([USE]), user([RESULT]))],
  ["messages[2].content[0]", history(model([USE]), model([RESULT]))],
  [
    "messages[2].content[0]",
    history(model([USE]), {
      role: "system",
      content: [RESULT],
    }),
  ],
  [
    "messages[2].content[0]",
    history(model([USE]), {
      role: "tool",
      tool_call_id: "t1",
      content: [USE],
    }),
  ],
  [
    "messages[2].content[0]",
    history(model([USE]), {
      role: "tool",
      tool_call_id: "t1",
      content: [RESULT, { type: "text", text: "and more" }],
    }),
  ],
  ...[5, true, { type: "text", text: "hello" }].map((
    content,
  ): [string, JsonObject] => [
    "messages[2].content[0].content",
    history(model([USE]), user([{ ...RESULT, content }])),
  ]),
  [
    "messages[2].content[0].content[0]",
    history(
      model([USE]),
      user([{ ...RESULT, content: [RESULT] }]),
    ),
  ],
];

for (const [field, body] of WRONG) {
  Deno.test(`\`${field}\` of a Chat body is refused: ${JSON.stringify(body)}`, () => {
    for (const target of TARGETS) {
      assert.throws(() => received("chat", target, body), (error) => {
        assert.ok(error instanceof GatewayError, `${error}`);
        assert.equal(error.kind, "invalid_request");
        assert.equal(error.param, field);
        return true;
      });
    }
  });
}

Deno.test("a deeply nested tool result is refused", () => {
  let content: JsonValue = "seen";
  for (let depth = 0; depth < 5_000; depth++) {
    content = [{ type: "tool_result", tool_use_id: "t1", content }];
  }
  const body = history(model([USE]), user(content));
  assert.throws(
    () => received("chat", "chat custom m", body),
    (error) =>
      error instanceof GatewayError && error.kind === "invalid_request",
  );
});
