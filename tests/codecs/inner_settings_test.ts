import assert from "node:assert/strict";
import type { JsonObject } from "../../src/base/json.ts";
import type { Protocol } from "../../src/base/protocol.ts";
import { received } from "../support/dialects/upstream_request.ts";

// Settings inside a tool, a block or a format that another protocol has no field for. They are sent in another form, or
// named as dropped.

const SCHEMA = { type: "object", properties: {} };

function ask(from: Protocol, to: Protocol, fields: JsonObject) {
  const target = to === "messages"
    ? "anthropic claude-opus-5-5"
    : "openai gpt-5.6-sol";
  return received(from, `${to} ${target}`, fields);
}

function withTool(tool: JsonObject): JsonObject {
  return { tools: [tool] };
}

const MESSAGES_TOOL = { name: "weather", input_schema: SCHEMA };
const RESPONSES_TOOL = {
  type: "function",
  name: "weather",
  parameters: SCHEMA,
};

Deno.test("a dropped setting of a Messages tool that changes the model's behavior is named", () => {
  for (const to of ["chat", "responses"] as const) {
    for (
      const [setting, name] of [
        [{ input_examples: [{ city: "Rome" }] }, "tools.input_examples"],
        [
          { allowed_callers: ["code_execution_20260120"] },
          "tools.allowed_callers",
        ],
      ] satisfies [JsonObject, string][]
    ) {
      const { dropped } = ask(
        "messages",
        to,
        withTool({ ...MESSAGES_TOOL, ...setting }),
      );
      assert.deepEqual(dropped, [name], to);
      const typed = ask(
        "messages",
        to,
        withTool({ type: "bash_20250124", name: "bash", ...setting }),
      );
      assert.deepEqual(typed.dropped, [name], to);
    }
  }
});

Deno.test("a dropped setting of a Responses tool that changes the model's behavior is named", () => {
  for (const to of ["chat", "messages"] as const) {
    for (
      const [setting, name] of [
        [{ async: true }, "tools.async"],
        [{ output_schema: SCHEMA }, "tools.output_schema"],
        [{ allowed_callers: ["programmatic"] }, "tools.allowed_callers"],
      ] satisfies [JsonObject, string][]
    ) {
      const { dropped } = ask(
        "responses",
        to,
        withTool({ ...RESPONSES_TOOL, ...setting }),
      );
      assert.deepEqual(dropped, [name], to);
      const inside = { ...RESPONSES_TOOL, ...setting };
      const nested = ask(
        "responses",
        to,
        withTool({ type: "namespace", name: "n", tools: [inside] }),
      );
      assert.deepEqual(nested.dropped, [name], to);
    }
    const skills = [{ name: "s", description: "d", path: "/s" }];
    const shell = { type: "shell", environment: { type: "local", skills } };
    assert.deepEqual(
      ask("responses", to, withTool(shell)).dropped,
      ["tools.environment.skills"],
    );
  }
});

Deno.test("a tool's setting is not named if it is the default, or only about loading or streaming", () => {
  for (
    const setting of [
      { allowed_callers: ["direct"] },
      { input_examples: [] },
      { defer_loading: true },
      { eager_input_streaming: true },
    ]
  ) {
    const { dropped } = ask(
      "messages",
      "chat",
      withTool({ ...MESSAGES_TOOL, ...setting }),
    );
    assert.deepEqual(dropped, []);
  }
  for (
    const setting of [
      { allowed_callers: ["direct"] },
      { async: false },
      { defer_loading: true },
    ]
  ) {
    const { dropped } = ask(
      "responses",
      "messages",
      withTool({ ...RESPONSES_TOOL, ...setting }),
    );
    assert.deepEqual(dropped, []);
  }
});

Deno.test("targets of the same protocol get a tool's settings unchanged", () => {
  const input_examples = [{ city: "Rome" }];
  const own = ask(
    "messages",
    "messages",
    withTool({ ...MESSAGES_TOOL, input_examples }),
  );
  assert.match(JSON.stringify(own.body.tools), /input_examples/);
  assert.deepEqual(own.dropped, []);
});

Deno.test("a model of another protocol reads the screen's size, and gets `zoom` if it is allowed", () => {
  const screen = {
    name: "computer",
    display_width_px: 1280,
    display_height_px: 800,
  };
  for (const to of ["chat", "responses"] as const) {
    const old = JSON.stringify(
      ask("messages", to, withTool({ type: "computer_20250124", ...screen }))
        .body.tools,
    );
    assert.match(old, /1280 x 800 pixels/);
    assert.doesNotMatch(old, /zoom/);
    const zooming = JSON.stringify(
      ask(
        "messages",
        to,
        withTool({ type: "computer_20251124", ...screen, enable_zoom: true }),
      ).body.tools,
    );
    assert.match(zooming, /"zoom"/);
  }
});

const PICTURE = {
  type: "image",
  source: { type: "url", url: "https://example.com/a.png" },
};

function saying(...content: JsonObject[]): JsonObject {
  return { messages: [{ role: "user", content }] };
}

Deno.test("an image that must not be scaled down is named if the target may scale it", () => {
  for (const to of ["chat", "responses"] as const) {
    const picture = (oversized_image: string) => ({
      ...PICTURE,
      transformations: { oversized_image },
    });
    assert.deepEqual(
      ask("messages", to, saying(picture("error"))).dropped,
      ["messages.image.transformations"],
    );
    assert.deepEqual(
      ask("messages", to, saying(picture("downsize"))).dropped,
      [],
    );
  }
});

Deno.test("a Responses provider gets the context of a document", () => {
  const pdf = {
    type: "base64",
    media_type: "application/pdf",
    data: "JVBERi0=",
  };
  const text = { type: "text", media_type: "text/plain", data: "Words" };
  for (const source of [pdf, text]) {
    const { body } = ask(
      "messages",
      "responses",
      saying({ type: "document", source, context: "The old contract" }),
    );
    assert.match(JSON.stringify(body.input), /The old contract/);
  }
});

Deno.test("Claude gets the description of a format in the schema, unless the schema has its own", () => {
  for (const from of ["chat", "responses"] as const) {
    const format = (schema: JsonObject) => {
      const wish = { name: "place", description: "Where it is", schema };
      return from === "chat"
        ? { response_format: { type: "json_schema", json_schema: wish } }
        : { text: { format: { type: "json_schema", ...wish } } };
    };
    const closed = { ...SCHEMA, additionalProperties: false };
    assert.match(
      JSON.stringify(ask(from, "messages", format(closed)).body),
      /Where it is/,
    );
    const own = ask(
      from,
      "messages",
      format({ ...closed, description: "Its own" }),
    );
    assert.match(JSON.stringify(own.body), /Its own/);
    assert.doesNotMatch(JSON.stringify(own.body), /Where it is/);
  }
});

Deno.test("Chat providers with cache marks get the mark of a tool's result", () => {
  const cache_control = { type: "ephemeral" };
  const conversation = (result: JsonObject) => ({
    messages: [
      { role: "user", content: "Hello" },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "t1", name: "weather", input: {} }],
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "t1", ...result }],
      },
    ],
  });
  const marked = [
    { content: "Sunny", cache_control },
    { content: [{ type: "text", text: "Sunny", cache_control }] },
  ];
  for (const result of marked) {
    const { body } = received(
      "messages",
      "chat openrouter anthropic/claude-opus-5-5",
      conversation(result),
    );
    assert.match(
      JSON.stringify(body.messages),
      /"role":"tool".*"text":"Sunny","cache_control":/,
    );
  }
});

Deno.test("models without namespaces get the description of a namespace once", () => {
  const inside = (name: string) => ({ ...RESPONSES_TOOL, name });
  const spaces = (description: string) =>
    withTool({
      type: "namespace",
      name: "files",
      description,
      tools: [{ ...inside("read"), description: "Reads." }, inside("write")],
    });
  for (const to of ["chat", "messages"] as const) {
    const tools = JSON.stringify(
      ask("responses", to, spaces("Only below /srv.")).body.tools,
    );
    assert.match(
      tools,
      /"Reads\.\\n\\nFor all tools files__…: Only below \/srv\."/,
    );
    assert.equal(tools.match(/Only below/g)?.length, 1);
    for (const nothing of ["", "files"]) {
      const bare = ask("responses", to, spaces(nothing)).body.tools;
      assert.doesNotMatch(JSON.stringify(bare), /For all tools/);
    }
  }
});

Deno.test("the cache mark of a search result is sent, or named as dropped", () => {
  const cache_control = { type: "ephemeral" };
  const found = { type: "search_result", source: "s", title: "t" };
  const text = { type: "text", text: "Words" };
  for (
    const result of [
      { ...found, content: [text], cache_control },
      { ...found, content: [{ ...text, cache_control }] },
    ]
  ) {
    const marked = received(
      "messages",
      "chat openrouter anthropic/claude-opus-5-5",
      saying(result),
    );
    assert.match(JSON.stringify(marked.body.messages), /"cache_control"/);
    const lost = received("messages", "chat custom m", saying(result));
    assert.deepEqual(lost.dropped, ["cache_control"]);
  }
});
