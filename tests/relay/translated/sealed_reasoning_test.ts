import assert from "node:assert/strict";
import { createGateway } from "../../../src/app.ts";
import { createConfigStore } from "../../../src/config/store.ts";
import { systemClock } from "../../../src/core/time/clock.ts";
import { randomIds } from "../../../src/core/ids.ts";
import { demoConfigText } from "../../../src/demo/config.ts";
import { createDemoUpstream } from "../../../src/demo/upstream.ts";
import { createLog } from "../../../src/observe/log.ts";
import { sha256Hex } from "../../../src/core/sha256.ts";
import { configOf, loadText } from "../../support/gateway/config.ts";
import { OpenAI } from "../../support/sdk/sdks.ts";

const TOKEN = "demo";

/** An SDK in front of the demo, and the bodies that its upstreams got. */
async function demoClient() {
  const config = configOf(await loadText(demoConfigText(sha256Hex(TOKEN))));
  const upstream = createDemoUpstream({
    clock: systemClock,
    ids: randomIds,
    wordMs: 0,
  });
  const bodies: string[] = [];
  const { handler } = createGateway({
    store: createConfigStore(config),
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

/** What each family's wire calls the sealed part that must come back. */
const CASES = [
  { model: "demo-b-think", sealed: /"type":"thinking".*"signature":"[^"]+"/ },
  { model: "demo-c-think", sealed: /"encrypted_content":"[^"]+"/ },
];

for (const { model, sealed } of CASES) {
  for (const stream of [false, true]) {
    Deno.test(`the reasoning of ${model} comes back with the tool result of a chat client that cannot carry it, ${stream ? "streamed" : "whole"}`, async () => {
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
