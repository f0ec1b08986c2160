import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../src/core/json.ts";
import type { Protocol } from "../../src/core/protocol.ts";
import {
  type UpstreamRequest,
  upstreamRequest,
  userRequest,
} from "../support/dialects/upstream_request.ts";

// Fields of Codex 0.169 beside messages and calls, in other protocols: tools that it declares
// repeatedly, and pictures in their original size.

/** Services that serve a model to Codex in another protocol. */
const TARGETS: readonly { readonly to: Protocol; readonly service: string }[] =
  [
    { to: "chat", service: "custom" },
    { to: "chat", service: "openai" },
    { to: "messages", service: "anthropic" },
  ];

function toEach(
  fields: JsonObject,
  check: (request: UpstreamRequest, to: Protocol) => void,
): void {
  for (const { to, service } of TARGETS) {
    const model = to === "messages" ? "claude-sonnet-4-6" : "some-model";
    const body = userRequest("responses", fields);
    check(upstreamRequest(body, { from: "responses", to, service, model }), to);
  }
}

/** Returns the name and description of the tools, which every protocol has. */
function toolsOf({ body }: UpstreamRequest): string[] {
  assert.ok(Array.isArray(body.tools));
  return body.tools.filter(isJsonObject).map((tool) => {
    const one = isJsonObject(tool.function) ? tool.function : tool;
    return `${one.name}: ${one.description ?? ""}`;
  });
}

function fn(name: string, description = ""): JsonObject {
  return { type: "function", name, description, parameters: {} };
}

function namespace(name: string, ...tools: JsonObject[]): JsonObject {
  return { type: "namespace", name, description: name, tools };
}

function found(callId: string, ...tools: JsonObject[]): JsonObject[] {
  return [
    {
      type: "tool_search_call",
      call_id: callId,
      execution: "client",
      arguments: { query: "q" },
    },
    { type: "tool_search_output", call_id: callId, execution: "client", tools },
  ];
}

const ASK = { role: "user", content: "Go" };

Deno.test("a namespace in parts is the union of its parts", () => {
  const parts: readonly JsonObject[] = [
    {
      tools: [namespace("n", fn("one")), namespace("n", fn("two"))],
      input: [ASK],
    },
    {
      tools: [namespace("n", fn("one"))],
      input: [ASK, ...found("a", namespace("n", fn("two")))],
    },
    {
      input: [
        ASK,
        ...found("a", namespace("n", fn("one"))),
        ...found("b", namespace("n", fn("two"))),
      ],
    },
    {
      input: [
        {
          type: "additional_tools",
          role: "developer",
          tools: [namespace("n", fn("one"))],
        },
        {
          type: "additional_tools",
          role: "developer",
          tools: [namespace("n", fn("two"))],
        },
        ASK,
      ],
    },
  ];
  for (const fields of parts) {
    toEach(fields, (one) => {
      assert.deepEqual(toolsOf(one), ["n__one: ", "n__two: "]);
      assert.deepEqual(one.dropped, []);
    });
  }
});

Deno.test("a tool that is declared again is sent once, as it was declared last", () => {
  toEach({
    tools: [
      fn("f", "of the request"),
      fn("g", "early"),
      fn("g", "late"),
    ],
    input: [
      ASK,
      ...found("a", fn("f", "found"), namespace("n", fn("x", "found first"))),
      ...found("b", fn("h", "found"), namespace("n", fn("x", "found again"))),
      ...found("c", fn("h", "found again")),
    ],
  }, (one) => {
    // The request's own list is newer than the list in its history.
    assert.deepEqual(toolsOf(one), [
      "f: of the request",
      "g: late",
      "n__x: found again",
      "h: found again",
    ]);
  });
});

Deno.test("the model reads the names of the tools that it found as it can call them", () => {
  toEach({
    input: [ASK, ...found("a", fn("f"), namespace("n", fn("one"), fn("two")))],
  }, ({ body }) => {
    assert.match(JSON.stringify(body), /Loaded tools: f, n__one, n__two/);
  });
});

Deno.test("a tool that no other provider can run is named at every place of its declaration", () => {
  const computer = { type: "computer_use_preview" };
  const fieldsOf: readonly JsonObject[] = [
    { tools: [fn("f"), namespace("n", fn("one"), computer)], input: [ASK] },
    {
      tools: [fn("f")],
      input: [ASK, ...found("a", namespace("n", fn("one"), computer))],
    },
    {
      tools: [fn("f"), namespace("n", fn("one"))],
      input: [ASK, ...found("a", computer)],
    },
  ];
  for (const fields of fieldsOf) {
    toEach(fields, (one) => {
      assert.deepEqual(toolsOf(one), ["f: ", "n__one: "]);
      assert.deepEqual(one.dropped, ["tools"]);
    });
  }
});

Deno.test("tools that items bring are not written twice for a provider of Responses", () => {
  const input = [
    ASK,
    ...found("a", fn("f"), namespace("n", fn("two"))),
    ...found("b", namespace("n", fn("two")), { type: "web_search" }),
  ];
  const { body } = upstreamRequest({
    input,
    tools: [fn("f"), namespace("n", fn("one"))],
  }, { from: "responses", to: "responses", service: "openai", model: "gpt-6" });
  const tools = Array.isArray(body.tools) ? body.tools : [];
  assert.deepEqual(
    tools.filter(isJsonObject).map((
      { name, tools: inner },
    ) => [
      name,
      Array.isArray(inner)
        ? inner.filter(isJsonObject).map((one) => one.name)
        : [],
    ]),
    [["f", []], ["n", ["one"]]],
  );
  assert.match(JSON.stringify(body.input), /web_search/);
});

Deno.test("a picture in its original size is sent in the largest of Chat Completions, and named", () => {
  const picture = (detail?: string) => ({
    type: "input_image",
    image_url: "data:image/png;base64,AAAA",
    ...(detail === undefined ? {} : { detail }),
  });
  const rows: readonly (readonly [
    asked: string | undefined,
    sent: string | undefined,
    dropped: string[],
  ])[] = [
    ["original", "high", ["detail"]],
    ["xhigh", "high", ["detail"]],
    ["never seen", undefined, ["detail"]],
    ["high", "high", []],
    ["low", "low", []],
    ["auto", "auto", []],
    [undefined, undefined, []],
  ];
  for (const service of ["custom", "openai", "openrouter", "zai"]) {
    for (const [asked, sent, dropped] of rows) {
      const inputs: readonly JsonObject[][] = [
        [{ role: "user", content: [picture(asked)] }],
        [
          ASK,
          { type: "function_call", call_id: "c", name: "view_image" },
          {
            type: "function_call_output",
            call_id: "c",
            output: [picture(asked)],
          },
        ],
      ];
      for (const input of inputs) {
        const one = upstreamRequest({ input }, {
          from: "responses",
          to: "chat",
          service,
          model: "some-model",
        });
        const text = JSON.stringify(one.body.messages);
        assert.equal(/"detail":"([^"]*)"/.exec(text)?.[1], sent, service);
        assert.deepEqual(one.dropped, dropped, `${service} ${asked}`);
      }
    }
  }
});
