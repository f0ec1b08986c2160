import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import {
  received,
  type UpstreamRequest,
  userRequest,
} from "../support/dialects/upstream_request.ts";
import { GatewayError } from "../../src/base/error.ts";
import { CODECS } from "../../src/codecs/codecs.ts";
import { answerContext } from "../contract/codec_contract.ts";

// Fields of Codex 0.169 beside messages and calls, in other protocols: tools that it declares
// repeatedly, and pictures in their original size.

/** Services that serve a model to Codex in another protocol. */
const TARGETS = [
  "chat custom some-model",
  "chat openai some-model",
  "messages anthropic claude-sonnet-4-6",
];

function toEach(
  fields: JsonObject,
  check: (request: UpstreamRequest) => void,
): void {
  for (const target of TARGETS) check(received("responses", target, fields));
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

Deno.test("parts of one namespace are merged", () => {
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

Deno.test("a tool with several declarations is sent once, in its latest form", () => {
  toEach({
    tools: [fn("f", "of the request"), fn("g", "early"), fn("g", "late")],
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

Deno.test("a tool search lists the found tools under the names by which the model can call them", () => {
  toEach({
    input: [ASK, ...found("a", fn("f"), namespace("n", fn("one"), fn("two")))],
  }, ({ body }) => {
    assert.match(JSON.stringify(body), /Loaded tools: f, n__one, n__two/);
  });
});

Deno.test("a hosted tool is named as dropped, wherever it is declared", () => {
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

Deno.test("a Responses provider gets the tools of input items in these items, and not also in `tools`", () => {
  const input = [
    ASK,
    ...found("a", fn("f"), namespace("n", fn("two"))),
    ...found("b", namespace("n", fn("two")), { type: "web_search" }),
  ];
  const { body } = received("responses", "responses openai gpt-6", {
    input,
    tools: [fn("f"), namespace("n", fn("one"))],
  });
  const tools = Array.isArray(body.tools) ? body.tools : [];
  assert.deepEqual(
    tools.filter(isJsonObject).map(({ name, tools: inner }) => [
      name,
      Array.isArray(inner)
        ? inner.filter(isJsonObject).map((one) => one.name)
        : [],
    ]),
    [["f", []], ["n", ["one"]]],
  );
  assert.match(JSON.stringify(body.input), /web_search/);
});

Deno.test("a picture with the detail `original` gets the highest detail of Chat Completions, and the change is named", () => {
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
        const one = received("responses", `chat ${service} some-model`, {
          input,
        });
        const text = JSON.stringify(one.body.messages);
        assert.equal(/"detail":"([^"]*)"/.exec(text)?.[1], sent, service);
        assert.deepEqual(one.dropped, dropped, `${service} ${asked}`);
      }
    }
  }
});

// The messages between agents of Codex 0.169 (`multi_agent_v2`), and the calls that send them, in other protocols.

/** Returns the message of an agent that Codex 0.169.0 wrote behind a gateway. */
function agentMessage(payload: JsonObject, ...more: JsonObject[]): JsonObject {
  return {
    type: "agent_message",
    id: "amsg_1",
    author: "/root",
    recipient: "/root/worker",
    content: [
      {
        type: "input_text",
        text:
          "Message Type: NEW_TASK\nTask name: /root/worker\nSender: /root\nPayload:\n",
      },
      payload,
      ...more,
    ],
  };
}

/** Returns the last message of the user, as separate texts. */
function lastOfUser({ body }: UpstreamRequest): JsonObject[] {
  assert.ok(Array.isArray(body.messages));
  const last = body.messages.filter(isJsonObject).at(-1);
  assert.equal(last?.role, "user");
  return Array.isArray(last.content)
    ? last.content.filter(isJsonObject)
    : [{ type: "text", text: last.content ?? null }];
}

Deno.test("the model gets the whole task of a sub-agent as text of the user", () => {
  const payloads = [
    { type: "encrypted_content", encrypted_content: "Count the files." },
    { type: "input_text", text: "Count the files." },
  ];
  for (const payload of payloads) {
    toEach({
      input: [
        { role: "user", content: "What the parent was asked" },
        { role: "assistant", content: "I ask a worker." },
        agentMessage(payload),
      ],
    }, (one) => {
      const text = lastOfUser(one).map(({ text }) => text).join("\n\n");
      assert.match(text, /Sender: \/root\nPayload:\n\s*Count the files\.$/);
      assert.deepEqual(one.dropped, []);
    });
  }
});

Deno.test("a message between agents begins with its sender, unless its text names the sender", () => {
  toEach({
    input: [ASK, {
      type: "agent_message",
      author: "/root/worker",
      recipient: "/root",
      content: [{ type: "input_text", text: "There are 3." }],
    }],
  }, (one) => {
    const text = lastOfUser(one).map(({ text }) => text).join("\n\n");
    assert.match(
      text,
      /Message from \/root\/worker to \/root:\s+There are 3\.$/,
    );
  });
});

Deno.test("a picture in a message between agents reaches the model", () => {
  const image = {
    type: "input_image",
    image_url: "data:image/png;base64,AAAA",
  };
  toEach({
    input: [ASK, agentMessage({ type: "input_text", text: "Look." }, image)],
  }, (one) => {
    assert.match(JSON.stringify(lastOfUser(one).at(-1)), /AAAA/);
  });
});

Deno.test("an encrypted message between agents is rejected, and the error names it", () => {
  const payload = {
    type: "encrypted_content",
    // As long as the shortest token of Fernet: https://github.com/fernet/spec/blob/master/Spec.md
    encrypted_content: `gAAAAABq${"x_-9".repeat(23)}==`,
  };
  const unknown = { type: "input_hologram", data: "AAAA" };
  for (const part of [payload, unknown]) {
    const fields = { input: [ASK, agentMessage(part)] };
    for (const target of TARGETS) {
      assert.throws(
        () => received("responses", target, fields),
        (error) =>
          error instanceof GatewayError && error.param === "input" &&
          error.message.includes(String(part.type)),
      );
    }
  }
});

Deno.test("a call of a tool with encrypted parameters declares its arguments as unencrypted", () => {
  const message = { type: "string", encrypted: true };
  const spawn = {
    ...fn("spawn_agent"),
    parameters: { type: "object", properties: { message } },
  };
  const tools = [namespace("collaboration", spawn, fn("list_agents"))];
  const request = CODECS.responses.decodeRequest(
    userRequest("responses", { model: "m", tools }),
  );
  const call = (name: string) => ({
    kind: "function_call" as const,
    id: name,
    name,
    namespace: "collaboration",
    arguments: "{}",
  });
  const { output } = CODECS.responses.encodeAnswer({
    id: "",
    model: "m",
    blocks: [call("spawn_agent"), call("list_agents")],
    stop: { reason: "tool_calls" },
    usage: undefined,
  }, answerContext(request));
  assert.ok(Array.isArray(output));
  assert.deepEqual(
    output.filter(isJsonObject).map((item) => item.encrypted_function_args),
    [[], undefined],
  );
});

Deno.test("only OpenAI's Responses gets the keyword `encrypted`", () => {
  const message = { type: "string", description: "The task." };
  const spawn = {
    ...fn("spawn_agent"),
    parameters: {
      type: "object",
      properties: { message: { ...message, encrypted: true } },
    },
  };
  const tools = [namespace("collaboration", spawn)];
  toEach({ tools }, ({ body, dropped }) => {
    const text = JSON.stringify(body.tools);
    assert.ok(text.includes(JSON.stringify(message)), text);
    assert.ok(!text.includes("encrypted"), text);
    assert.deepEqual(dropped, []);
  });
  const { body } = received("responses", "responses openai gpt-6", { tools });
  assert.match(JSON.stringify(body.tools), /"encrypted":true/);
});

Deno.test("a Responses provider gets a message between agents unchanged", () => {
  const message = agentMessage({
    type: "encrypted_content",
    encrypted_content: "Count the files.",
  });
  const { body } = received("responses", "responses openai gpt-6", {
    input: [ASK, message],
  });
  assert.ok(Array.isArray(body.input));
  assert.deepEqual(body.input.at(-1), message);
});
