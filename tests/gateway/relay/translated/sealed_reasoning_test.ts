import assert from "node:assert/strict";
import { createGateway } from "../../../../src/gateway/app.ts";
import { isJsonObject, type JsonObject } from "../../../../src/base/json.ts";
import { createLiveConfig } from "../../../../src/gateway/config/live_config.ts";
import { systemClock } from "../../../../src/base/time/timers.ts";
import { randomIds } from "../../../../src/base/ids.ts";
import { demoConfigText } from "../../../../src/tools/demo/config.ts";
import { createStrictProvider } from "../../../support/upstream/strict_provider/mod.ts";
import { createLog } from "../../../../src/gateway/observe/log.ts";
import { sha256Hex } from "../../../../src/base/sha256.ts";
import {
  ALICE_TOKEN,
  configOf,
  connectionFile,
  loadFile,
  loadText,
  minimalFile,
} from "../../../support/gateway/config.ts";
import { createLogLines } from "../../../support/gateway/log_lines.ts";
import { OpenAI } from "../../../support/sdk/sdks.ts";

const TOKEN = "demo";

/** Returns an SDK in front of the demo, and the bodies that its upstreams received. */
async function demoClient() {
  const config = configOf(await loadText(demoConfigText(sha256Hex(TOKEN))));
  const upstream = createStrictProvider({
    clock: systemClock,
    ids: randomIds,
    wordMs: 0,
  });
  const bodies: string[] = [];
  const { handler } = createGateway({
    liveConfig: createLiveConfig(config),
    fetch: async (url, init) => {
      bodies.push(await new Response(init.body).text());
      return await upstream(url, init);
    },
    log: createLog({ format: "json", now: Date.now, sink: () => {} }),
  });
  const client = new OpenAI({
    baseURL: "http://gateway.test/v1",
    apiKey: TOKEN,
    maxRetries: 0,
    fetch: (input, init) => handler(new Request(input, init)),
  });
  return { client, bodies };
}

const TOOLS = [{
  type: "function" as const,
  function: {
    name: "get_weather",
    parameters: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
    },
  },
}];

/** The name of the sealed part in each family's protocol, which must be sent back. */
const CASES = [
  { model: "demo-b-think", sealed: /"type":"thinking".*"signature":"[^"]+"/ },
  { model: "demo-c-think", sealed: /"encrypted_content":"[^"]+"/ },
];

for (const { model, sealed } of CASES) {
  for (const stream of [false, true]) {
    Deno.test(`the reasoning of ${model} returns with the tool result of a chat client that cannot carry it, ${stream ? "streamed" : "whole"}`, async () => {
      const { client, bodies } = await demoClient();
      const question = {
        role: "user" as const,
        content: "Call get_weather for Cologne",
      };
      const asked = { model, tools: TOOLS, reasoning_effort: "high" as const };
      const first = stream
        ? await client.chat.completions.stream({
          ...asked,
          messages: [question],
        }).finalChatCompletion()
        : await client.chat.completions.create({
          ...asked,
          messages: [question],
        });
      const call = first.choices[0]?.message.tool_calls?.[0];
      assert.ok(call?.type === "function");
      const second = await client.chat.completions.create({
        ...asked,
        messages: [
          question,
          { role: "assistant", content: null, tool_calls: [call] },
          { role: "tool", tool_call_id: call.id, content: "Rain, 12 °C" },
        ],
      });
      assert.match(bodies.at(-1) ?? "", sealed);
      assert.match(second.choices[0]?.message.content ?? "", /Rain, 12 °C/);
    });
  }
}

// OpenAI drops earlier reasoning that it does not accept, and reports that in
// `input_transformations` (https://developers.openai.com/api/docs/guides/keep-prefix-unchanged).
// Reasoning that another account or deployment encrypted is a 400
// (https://github.com/openai/codex/issues/17541).

const reasoning = (id: string): JsonObject => ({
  type: "reasoning",
  id,
  summary: [{ type: "summary_text", text: `About ${id}` }],
  encrypted_content: `seal of ${id}`,
});

/**
 * Opens a scene with a Responses model that reasons, writes text, reasons again and calls a tool. `judge` may reject
 * the request or add to the answer.
 */
async function openAiScene(judge: (input: JsonObject[]) => JsonObject) {
  const config = configOf(
    await loadFile(minimalFile({
      connections: [connectionFile({
        family: "C",
        endpoints: { responses: "https://openai.example/v1" },
        models: ["gpt-5.2"],
      })],
    })),
  );
  const inputs: JsonObject[][] = [];
  const lines = createLogLines();
  const { handler } = createGateway({
    liveConfig: createLiveConfig(config),
    log: lines.log,
    async fetch(_url, init) {
      const body = JSON.parse(await new Response(init.body).text());
      const input: JsonObject[] = body.input;
      inputs.push(input);
      const turn = inputs.length;
      const judged = judge(input);
      if (judged.error !== undefined) {
        return Response.json(judged, { status: 400 });
      }
      return Response.json({
        id: `resp_${turn}`,
        object: "response",
        model: "gpt-5.2",
        status: "completed",
        output: [
          reasoning(`rs_${turn}a`),
          {
            type: "message",
            id: `msg_${turn}`,
            role: "assistant",
            content: [{ type: "output_text", text: "I look." }],
          },
          reasoning(`rs_${turn}b`),
          {
            type: "function_call",
            call_id: `call_${turn}`,
            name: "get_weather",
            arguments: "{}",
          },
        ],
        ...judged,
      });
    },
  });
  const messages: JsonObject[] = [{ role: "user", content: "Weather?" }];
  async function turn(): Promise<Response> {
    const response = await handler(
      new Request("http://gateway.test/v1/chat/completions", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          authorization: `Bearer ${ALICE_TOKEN}`,
        },
        body: JSON.stringify({ model: "gpt-5.2", messages, tools: TOOLS }),
      }),
    );
    const text = await response.clone().text();
    assert.equal(response.status, 200, text);
    const [{ message: { content, tool_calls } }] = JSON.parse(text).choices;
    messages.push({ role: "assistant", content, tool_calls }, {
      role: "tool",
      tool_call_id: tool_calls[0].id,
      content: "Rain",
    });
    return response;
  }
  const thoughts = () =>
    inputs.at(-1)?.filter(({ type }) => type === "reasoning")
      .map(({ id }) => id);
  return { turn, inputs, lines, thoughts };
}

Deno.test("reasoning items return to OpenAI at their original positions, without additional fields", async () => {
  const { turn, inputs } = await openAiScene(() => ({}));
  await turn();
  await turn();
  const items = (inputs.at(-1) ?? []).filter(isJsonObject);
  assert.deepEqual(items.map(({ type, id }) => id ?? type), [
    "message",
    "rs_1a",
    "message",
    "rs_1b",
    "function_call",
    "function_call_output",
  ]);
  assert.deepEqual(items[1], reasoning("rs_1a"));
});

Deno.test("encrypted reasoning that OpenAI cannot read is left out of one retry and of later requests", async () => {
  let isOther = false;
  const { turn, inputs, lines, thoughts } = await openAiScene((input) =>
    isOther && JSON.stringify(input).includes("seal of rs_1a")
      ? {
        error: {
          type: "invalid_request_error",
          code: "invalid_encrypted_content",
          message:
            "The encrypted content for item rs_1a could not be verified.",
        },
      }
      : {}
  );
  await turn();
  await turn();
  isOther = true;
  const { headers } = await turn();
  assert.equal(inputs.length, 4);
  assert.deepEqual(thoughts(), []);
  assert.equal(headers.get("x-gateway-dropped"), "reasoning_details");
  const line = await lines.of({ headers });
  assert.deepEqual(line.reasoning_dropped, ["refused"]);
  await turn();
  assert.equal(inputs.length, 5);
  assert.deepEqual(thoughts(), ["rs_4a", "rs_4b"]);
});

Deno.test("reasoning that OpenAI itself drops is in the log and in x-gateway-dropped, and is sent again", async () => {
  const { turn, lines, thoughts } = await openAiScene((input) => ({
    input_transformations: input.filter(({ type }) => type === "reasoning")
      .map(({ id }) => ({
        type: "reasoning",
        action: "removed",
        id,
        reason: "prefix_mismatch",
      })),
  }));
  await turn();
  const { headers } = await turn();
  assert.equal(headers.get("x-gateway-dropped"), "reasoning_details");
  const line = await lines.of({ headers });
  assert.deepEqual(line.reasoning_dropped, ["prefix_mismatch"]);
  await turn();
  assert.deepEqual(thoughts(), ["rs_1a", "rs_1b", "rs_2a", "rs_2b"]);
});
