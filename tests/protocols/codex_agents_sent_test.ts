import assert from "node:assert/strict";
import { GatewayError } from "../../src/core/error.ts";
import { isJsonObject, type JsonObject } from "../../src/core/json.ts";
import type { Protocol } from "../../src/core/protocol.ts";
import { CODECS } from "../../src/protocols/mod.ts";
import { answerContext } from "../contract/codec_contract.ts";
import {
  type UpstreamRequest,
  upstreamRequest,
  userRequest,
} from "../support/dialects/upstream_request.ts";

// The messages that Codex 0.169 sends between its agents (`multi_agent_v2`), and the calls by which
// its models send them, in other protocols.

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

const ASK = { role: "user", content: "Go" };

function fn(name: string): JsonObject {
  return { type: "function", name, parameters: {} };
}

/** Returns the message of an agent, as Codex 0.169.0 wrote it behind a gateway. */
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

Deno.test("the task of a sub-agent reaches the model whole, as words of the user", () => {
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

Deno.test("a message between agents names its sender unless its text does", () => {
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

Deno.test("a picture in a message between agents is a picture", () => {
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

Deno.test("a message between agents that only OpenAI can read is rejected by name", () => {
  const payload = {
    type: "encrypted_content",
    // As long as the shortest token of Fernet: https://github.com/fernet/spec/blob/master/Spec.md
    encrypted_content: `gAAAAABq${"x_-9".repeat(23)}==`,
  };
  const unknown = { type: "input_hologram", data: "AAAA" };
  for (const part of [payload, unknown]) {
    for (const { to, service } of TARGETS) {
      const model = to === "messages" ? "claude-sonnet-4-6" : "some-model";
      assert.throws(
        () =>
          upstreamRequest({ input: [ASK, agentMessage(part)] }, {
            from: "responses",
            to,
            service,
            model,
          }),
        (error) =>
          error instanceof GatewayError && error.param === "input" &&
          error.message.includes(String(part.type)),
      );
    }
  }
});

Deno.test("a call of a tool with encrypted arguments declares them plain", () => {
  const message = { type: "string", encrypted: true };
  const spawn = {
    ...fn("spawn_agent"),
    parameters: { type: "object", properties: { message } },
  };
  const request = CODECS.responses.decodeRequest(
    userRequest("responses", {
      model: "m",
      tools: [{
        type: "namespace",
        name: "collaboration",
        tools: [spawn, fn("list_agents")],
      }],
    }),
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

Deno.test("no other provider gets the keyword for encrypted arguments", () => {
  const message = { type: "string", description: "The task." };
  const spawn = {
    ...fn("spawn_agent"),
    parameters: {
      type: "object",
      properties: { message: { ...message, encrypted: true } },
    },
  };
  const tools = [{ type: "namespace", name: "collaboration", tools: [spawn] }];
  toEach({ tools }, ({ body, dropped }) => {
    const text = JSON.stringify(body.tools);
    assert.ok(text.includes(JSON.stringify(message)), text);
    assert.ok(!text.includes("encrypted"), text);
    assert.deepEqual(dropped, []);
  });
  const { body } = upstreamRequest(userRequest("responses", { tools }), {
    from: "responses",
    to: "responses",
    service: "openai",
    model: "gpt-6",
  });
  assert.match(JSON.stringify(body.tools), /"encrypted":true/);
});

Deno.test("a message between agents goes to a provider of Responses as it came", () => {
  const message = agentMessage({
    type: "encrypted_content",
    encrypted_content: "Count the files.",
  });
  const { body } = upstreamRequest({ input: [ASK, message] }, {
    from: "responses",
    to: "responses",
    service: "openai",
    model: "gpt-6",
  });
  assert.ok(Array.isArray(body.input));
  assert.deepEqual(body.input.at(-1), message);
});
