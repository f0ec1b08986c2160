import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import type { Protocol } from "../../src/base/protocol.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import { answerContext, counterIds } from "../contract/codec_contract.ts";
import { received } from "../support/dialects/upstream_request.ts";
import { fromModel, fromUser, textPart } from "../support/wire/messages.ts";
import { closedSchema } from "../support/wire/schemas.ts";

// The history of a conversation, sent to a provider with another protocol. System text stays text, no message of the
// model is empty, files have names, and a model gets its own call ids back.

const SCHEMA = closedSchema("a");

function toChat(from: Protocol, body: JsonObject, service = "custom") {
  return received(from, `chat ${service} some-model`, body);
}

function messagesIn(body: JsonObject): JsonObject[] {
  assert.ok(Array.isArray(body.messages));
  return body.messages.filter(isJsonObject);
}

const NOTE = textPart(
  "x-anthropic-billing-header: cc_version=2.1.329; cc_entrypoint=cli;",
);

Deno.test("Claude Code's system text becomes one string without its billing note, with or without a schema", () => {
  for (const service of ["custom", "zai", "bigmodel", "deepseek", "kimi"]) {
    for (const format of [undefined, { type: "json_schema", schema: SCHEMA }]) {
      const { body } = toChat(
        "messages",
        {
          system: [
            NOTE,
            textPart("You are Claude Code."),
            textPart("Be brief."),
          ],
          ...(format === undefined ? {} : { output_config: { format } }),
        },
        service,
      );
      const [system, user] = messagesIn(body);
      assert.equal(system?.role, "system");
      const isTold = format !== undefined &&
        ["zai", "bigmodel", "deepseek"].includes(service);
      const words = "You are Claude Code.\n\nBe brief.";
      assert.equal(
        system?.content,
        isTold
          ? `${words}\n\nAnswer with one JSON object and nothing else. It must match this JSON schema:\n${
            JSON.stringify(SCHEMA)
          }`
          : words,
        service,
      );
      assert.deepEqual(user, fromUser("Hello"));
    }
  }
});

Deno.test("a system text that is only a billing note becomes no message", () => {
  for (const service of ["custom", "zai", "openai", "openrouter"]) {
    const { body, dropped } = toChat("messages", { system: [NOTE] }, service);
    assert.deepEqual(messagesIn(body), [fromUser("Hello")]);
    assert.deepEqual(dropped, []);
  }
});

Deno.test("tools in the middle of a conversation do not split the text into parts", () => {
  for (const service of ["custom", "zai", "openai"]) {
    const claude = toChat(
      "messages",
      {
        messages: [
          fromUser("Hello"),
          {
            role: "system",
            content: [{ type: "tool_addition", tool_name: "f" }],
          },
          fromModel("Hi"),
          fromUser("Go on"),
        ],
      },
      service,
    );
    assert.deepEqual(messagesIn(claude.body).map(({ content }) => content), [
      "Hello",
      "Hi",
      "Go on",
    ]);
    assert.deepEqual(claude.dropped, ["messages"]);
    const codex = toChat(
      "responses",
      {
        input: [
          {
            type: "additional_tools",
            role: "developer",
            tools: [{ type: "function", name: "f", strict: false }],
          },
          { role: "developer", content: "Be brief." },
          fromUser("Hello"),
        ],
      },
      service,
    );
    const [system, user, ...others] = messagesIn(codex.body);
    assert.equal(system?.content, "Be brief.");
    assert.equal(user?.content, "Hello");
    assert.deepEqual(others, []);
    assert.match(JSON.stringify(codex.body.tools), /"name":"f"/);
    assert.deepEqual(codex.dropped, []);
  }
});

Deno.test("system text with cache marks keeps its parts if the provider has cache marks, and a schema becomes one more part", () => {
  const system = [{
    type: "text",
    text: "Be brief.",
    cache_control: { type: "ephemeral" },
  }];
  const { body } = toChat("messages", { system }, "openrouter");
  assert.deepEqual(messagesIn(body)[0]?.content, system);
});

/** Empty answers of a model in a caller's history. */
const EMPTY: readonly (readonly [string, Protocol, JsonObject[]])[] = [
  ["no text", "messages", [fromModel("")]],
  ["no blocks", "messages", [fromModel([])]],
  ["blank text", "messages", [fromModel([textPart("\n")])]],
  ["a thought", "messages", [
    fromModel([{ type: "thinking", thinking: "Hm", signature: "" }]),
  ]],
  ["a hidden thought", "messages", [
    fromModel([{ type: "redacted_thinking", data: "x" }]),
  ]],
  ["a picture", "responses", [
    fromModel([{ type: "input_image", image_url: "https://e.example/a.png" }]),
  ]],
  ["a hosted call", "responses", [{
    type: "web_search_call",
    id: "ws_1",
    status: "completed",
  }]],
  ["a reasoning item", "responses", [{
    type: "reasoning",
    id: "rs_1",
    summary: [],
    encrypted_content: "x",
  }]],
  ["no parts", "responses", [fromModel([])]],
];

for (const [name, from, answer] of EMPTY) {
  Deno.test(`no provider of Chat Completions gets an answer of ${name} as a message`, () => {
    for (const service of ["custom", "kimi", "deepseek", "openai", "zai"]) {
      const field = from === "messages" ? "messages" : "input";
      const { body } = toChat(
        from,
        { [field]: [fromUser("One"), ...answer, fromUser("Two")] },
        service,
      );
      const texts = messagesIn(body).map(({ role, content }) => [
        role,
        content,
      ]);
      assert.deepEqual(
        texts,
        service === "openai"
          ? [["user", "One"], ["user", "Two"]]
          : [["user", "One\n\nTwo"]],
        service,
      );
    }
  });
}

Deno.test("assistant turns with only a call or only a text are kept", () => {
  const { body } = toChat(
    "messages",
    {
      messages: [
        fromUser("One"),
        fromModel([
          textPart(""),
          { type: "tool_use", id: "a", name: "f", input: {} },
        ]),
        fromUser([{ type: "tool_result", tool_use_id: "a", content: "1" }]),
        fromModel("Two"),
        fromUser("Three"),
      ],
    },
  );
  assert.deepEqual(messagesIn(body).map(({ role }) => role), [
    "user",
    "assistant",
    "tool",
    "assistant",
    "user",
  ]);
});

Deno.test("Anthropic gets no message for an answer of only reasoning", () => {
  const { body } = received("responses", "messages custom glm-5", {
    input: [
      fromUser("One"),
      { type: "reasoning", summary: [{ type: "summary_text", text: "Hm" }] },
      fromUser("Two"),
    ],
  });
  assert.deepEqual(messagesIn(body), [
    fromUser([textPart("One"), textPart("Two")]),
  ]);
});

Deno.test("pictures and sound of a model are named as dropped, and rejected on a strict connection", () => {
  const history = {
    messages: [
      fromUser("Draw"),
      {
        role: "assistant",
        content: [
          textPart("There"),
          { type: "image_url", image_url: { url: "https://e.example/a.png" } },
        ],
        audio: { id: "audio_1" },
      },
      fromUser("Thanks"),
    ],
  };
  const targets = [
    "messages anthropic claude-sonnet-4-6",
    "responses openai gpt-5.2",
  ];
  for (const target of targets) {
    assert.deepEqual(received("chat", target, history).dropped, ["messages"]);
    assert.throws(
      () => received("chat", target, history, true),
      /Cannot pass `messages` on/,
    );
  }
});

Deno.test("a model's sound returns to its provider", () => {
  const message = {
    role: "assistant",
    content: null,
    audio: { id: "audio_1" },
  };
  const { body } = toChat(
    "chat",
    { messages: [fromUser("Sing"), message, fromUser("Again")] },
    "openai",
  );
  assert.deepEqual(messagesIn(body)[1]?.audio, { id: "audio_1" });
});

const PDF = { type: "base64", media_type: "application/pdf", data: "JVBERi0=" };

Deno.test("a file without a name gets one", () => {
  const content = [{ type: "document", source: PDF }];
  const { body } = toChat(
    "messages",
    { messages: [{ role: "user", content }] },
  );
  assert.deepEqual(messagesIn(body)[0]?.content, [{
    type: "file",
    file: {
      file_data: "data:application/pdf;base64,JVBERi0=",
      filename: "document.pdf",
    },
  }]);
});

Deno.test("the context of a document becomes text before it, and unsupported citations are named", () => {
  const about = { context: "Of last year", citations: { enabled: true } };
  const content = [
    { type: "document", source: PDF, title: "a.pdf", ...about },
    {
      type: "document",
      source: { type: "text", media_type: "text/plain", data: "Words" },
      title: "b.txt",
      context: "Of this year",
    },
    textPart("Compare"),
  ];
  const messages = [{ role: "user", content }];
  const asked = { messages };
  const { body, dropped } = toChat("messages", asked);
  assert.deepEqual(messagesIn(body)[0]?.content, [
    textPart("Of last year"),
    {
      type: "file",
      file: {
        file_data: "data:application/pdf;base64,JVBERi0=",
        filename: "a.pdf",
      },
    },
    textPart("b.txt\n\nOf this year\n\nWords"),
    textPart("Compare"),
  ]);
  assert.deepEqual(dropped, ["citations"]);
  assert.throws(
    () => received("messages", "chat custom m", asked, true),
    /Cannot pass `citations` on/,
  );
});

Deno.test("a document of blocks is sent as its blocks, even in a tool result", () => {
  const document = {
    type: "document",
    title: "Report",
    source: {
      type: "content",
      content: [
        textPart("See"),
        {
          type: "image",
          source: { type: "base64", media_type: "image/png", data: "iVBORw==" },
        },
      ],
    },
  };
  const image = {
    type: "image_url",
    image_url: { url: "data:image/png;base64,iVBORw==" },
  };
  const { body, dropped } = toChat(
    "messages",
    {
      messages: [
        fromUser([document]),
        fromModel([{ type: "tool_use", id: "a", name: "f", input: {} }]),
        fromUser([{
          type: "tool_result",
          tool_use_id: "a",
          content: [document],
        }]),
      ],
    },
  );
  const [user, , result, attached] = messagesIn(body);
  assert.deepEqual(user?.content, [textPart("Report"), textPart("See"), image]);
  assert.equal(result?.content, "Report\nSee\n[image attached below]");
  assert.deepEqual(attached?.content, [image]);
  assert.deepEqual(dropped, []);
});

// https://github.com/MoonshotAI/Kimi-K2/blob/main/docs/tool_call_guidance.md
Deno.test("Kimi gets its own ids back in the history of a Messages caller", () => {
  const ids = ["functions.get_weather:0", "functions.f_1:12", "search:3"];
  const names = ["get_weather", "f_1", "search"];
  const given = callerIds(ids, names);
  given.forEach((id) => assert.match(id, /^[A-Za-z0-9_-]+$/));
  const { body } = toChat("messages", { messages: loop(given, names) }, "kimi");
  assert.deepEqual(idsIn(body), [ids, ids]);
});

Deno.test("Kimi gets back an id that Kimi gave to two calls", () => {
  const names = ["f"];
  const [first = ""] = callerIds(["functions.f:0"], names);
  const history = loop([first], names);
  const [second = ""] = callerIds(["functions.f:0"], names, history);
  assert.notEqual(first, second);
  const { body } = toChat(
    "messages",
    { messages: [...history, ...loop([second], names)] },
    "moonshot",
  );
  const all = ["functions.f:0", "functions.f:0"];
  assert.deepEqual(idsIn(body), [all, all]);
});

Deno.test("ids without a call number do not change", () => {
  const ids = ["call_0123abcd", "toolu_01_deadbeef", "functions_f_0_00000000"];
  const { body } = toChat(
    "messages",
    { messages: loop(ids, ["f", "f", "f"]) },
    "kimi",
  );
  assert.deepEqual(idsIn(body), [ids, ids]);
});

Deno.test("null arguments in a history count as none, in every protocol", () => {
  const chat = {
    messages: [
      fromUser("Hello"),
      {
        role: "assistant",
        content: null,
        tool_calls: [{
          id: "a",
          type: "function",
          function: { name: "f", arguments: "null" },
        }],
      },
      { role: "tool", tool_call_id: "a", content: "1" },
    ],
  };
  const responses = {
    input: [
      fromUser("Hello"),
      { type: "function_call", call_id: "a", name: "f", arguments: "null" },
      { type: "function_call_output", call_id: "a", output: "1" },
    ],
  };
  for (
    const [from, asked] of [["chat", chat], ["responses", responses]] as const
  ) {
    const { body } = received(from, "messages custom m", asked);
    assert.match(JSON.stringify(body), /"name":"f","input":\{\}/, from);
  }
  assert.match(
    JSON.stringify(received("chat", "responses openai m", chat).body),
    /"name":"f","arguments":"\{\}"/,
  );
  assert.match(
    JSON.stringify(toChat("responses", responses).body),
    /"name":"f","arguments":"\{\}"/,
  );
});

/** Returns the ids that a Messages caller gets for a model's calls. */
function callerIds(
  ids: readonly string[],
  names: readonly string[],
  history: readonly JsonObject[] = [fromUser("Hello")],
): string[] {
  const answer = CODECS.chat.decodeAnswer({
    id: "1",
    object: "chat.completion",
    created: 1,
    model: "kimi",
    choices: [{
      index: 0,
      finish_reason: "tool_calls",
      message: {
        role: "assistant",
        content: null,
        tool_calls: ids.map((id, index) => ({
          id,
          type: "function",
          function: { name: names[index] ?? "", arguments: "{}" },
        })),
      },
    }],
  }, counterIds());
  const request = CODECS.messages.decodeRequest({
    model: "m",
    max_tokens: 10,
    messages: [...history],
  });
  const { content } = CODECS.messages.encodeAnswer(
    answer,
    answerContext(request),
  );
  assert.ok(Array.isArray(content));
  return content.filter(isJsonObject).filter(({ type }) => type === "tool_use")
    .map(({ id }) => String(id));
}

/** Returns a user message, calls and their results, as a Messages caller sends them back. */
function loop(ids: readonly string[], names: readonly string[]): JsonObject[] {
  return [
    fromUser("Hello"),
    fromModel(ids.map((id, index) => ({
      type: "tool_use",
      id,
      name: names[index] ?? "",
      input: {},
    }))),
    fromUser(ids.map((id) => ({
      type: "tool_result",
      tool_use_id: id,
      content: "1",
    }))),
  ];
}

/** Returns the ids of all calls, and those of all results. */
function idsIn(body: JsonObject): [calls: string[], results: string[]] {
  const messages = messagesIn(body);
  return [
    messages.flatMap(({ tool_calls }) =>
      Array.isArray(tool_calls)
        ? tool_calls.filter(isJsonObject).map(({ id }) => String(id))
        : []
    ),
    messages.filter(({ role }) => role === "tool").map(({ tool_call_id }) =>
      String(tool_call_id)
    ),
  ];
}
