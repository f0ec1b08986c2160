import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import {
  createSdk0,
  createSdk1,
  handBackToolResult,
  helloTo,
} from "../../support/sdk/anthropic_sdk.ts";
import { OpenAI } from "../../support/sdk/sdks.ts";
import {
  ALICE_TOKEN,
  connectionFile,
  minimalFile,
  UPSTREAM_KEY,
} from "../../support/gateway/config.ts";
import {
  type DemoGateway,
  startDemoGateway,
  startOffering,
} from "../../support/gateway/demo_gateway.ts";
import { hello } from "../../support/wire/ask.ts";
import { systemClock } from "../../../src/base/time/timers.ts";
import { randomIds } from "../../../src/base/ids.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { demoConfigText } from "../../../src/tools/demo/config.ts";
import { createDemoUpstream } from "../../../src/tools/demo/upstream.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { parseYaml } from "../../support/yaml.ts";

// Connections that offer further paths, in front of strict simulated providers of all families.

function optionsFor(gateway: DemoGateway) {
  return { apiKey: ALICE_TOKEN, fetch: gateway.fetch, maxRetries: 0 };
}

/** Asserts that every request went to one path of a provider. */
function assertAsked({ asked }: DemoGateway, path: string): void {
  assert.ok(asked.length > 0);
  for (const { url } of asked) assert.equal(new URL(url).pathname, path);
}

for (const createSdk of [createSdk0, createSdk1]) {
  Deno.test(`the Anthropic SDK of ${createSdk.name} works with a model behind Responses, whole and as a stream`, async () => {
    await using gateway = await startOffering();
    const sdk = createSdk({ ...optionsFor(gateway), baseURL: gateway.url });
    const whole = await sdk.create(helloTo("demo-c-think"));
    const streamed = await sdk.stream(helloTo("demo-c-think"));
    assert.deepEqual(whole.content.map(({ type }) => type), [
      "thinking",
      "text",
    ]);
    assert.deepEqual(
      streamed.content.map(({ type }) => type),
      whole.content.map(({ type }) => type),
    );
    assert.deepEqual(streamed.usage, whole.usage);
    assert.equal(streamed.stop_reason, "end_turn");
    assertAsked(gateway, "/v1/responses");
  });

  Deno.test(`the Anthropic SDK of ${createSdk.name} returns thinking and a tool's result to a model behind Responses`, async () => {
    await using gateway = await startOffering();
    const sdk = createSdk({ ...optionsFor(gateway), baseURL: gateway.url });
    const text = await handBackToolResult(sdk, {
      model: "demo-c-think",
      max_tokens: 5000,
      thinking: { type: "enabled", budget_tokens: 2000 },
    });
    assert.match(text, /get_weather returned: rain/);
    assertAsked(gateway, "/v1/responses");
    // The provider's own sealed reasoning went back to it.
    const { input } = JSON.parse(gateway.asked.at(-1)?.body ?? "{}");
    assert.deepEqual(
      input.map(({ type, role }: JsonObject) => type ?? role),
      ["message", "reasoning", "function_call", "function_call_output"],
    );
  });
}

Deno.test("the OpenAI SDK works with a model behind Messages through Responses, whole and as a stream", async () => {
  await using gateway = await startOffering();
  const sdk = new OpenAI({
    ...optionsFor(gateway),
    baseURL: `${gateway.url}/v1`,
  });
  const body = { model: "demo-b", input: "Hello" };
  const whole = await sdk.responses.create(body);
  assert.match(whole.output_text, /You said: "Hello"/);
  const streamed = await sdk.responses.stream(body).finalResponse();
  assert.equal(streamed.output_text, whole.output_text);
  assert.deepEqual(streamed.usage, whole.usage);
  assertAsked(gateway, "/v1/messages");
});

Deno.test("the OpenAI SDK returns sealed reasoning and a tool's result to a model behind Messages", async () => {
  await using gateway = await startOffering();
  const sdk = new OpenAI({
    ...optionsFor(gateway),
    baseURL: `${gateway.url}/v1`,
  });
  const question = { role: "user" as const, content: "Use get_weather." };
  const request = {
    model: "demo-b-think",
    reasoning: { effort: "high" as const },
    tools: [{
      type: "function" as const,
      name: "get_weather",
      strict: false,
      parameters: { type: "object", properties: { city: { type: "string" } } },
    }],
    include: ["reasoning.encrypted_content" as const],
  };
  const first = await sdk.responses.stream({ ...request, input: [question] })
    .finalResponse();
  const items = first.output.filter((item) =>
    item.type === "reasoning" || item.type === "function_call"
  );
  const call = items.find((item) => item.type === "function_call");
  assert.deepEqual(items.map(({ type }) => type), [
    "reasoning",
    "function_call",
  ]);
  const second = await sdk.responses.stream({
    ...request,
    input: [question, ...items, {
      type: "function_call_output",
      call_id: call?.call_id ?? "",
      output: "rain",
    }],
  }).finalResponse();
  assert.match(second.output_text, /get_weather returned: rain/);
  assertAsked(gateway, "/v1/messages");
  const { messages } = JSON.parse(gateway.asked.at(-1)?.body ?? "{}");
  assert.deepEqual(
    messages[1].content.map(({ type }: JsonObject) => type),
    ["thinking", "tool_use"],
  );
});

Deno.test("GET /models and the catalog of Codex offer a model on every path that its connection serves, and on no other", async (t) => {
  const cases = [
    {
      what: "without `paths`",
      start: () => startDemoGateway(),
      b: ["chat", "messages"],
      c: ["chat", "responses"],
    },
    {
      what: "with `paths`",
      start: startOffering,
      b: ["chat", "messages", "responses"],
      c: ["chat", "messages", "responses"],
    },
  ];
  for (const { what, start, b, c } of cases) {
    await t.step(what, async () => {
      await using gateway = await start();
      const get = async (query: string) => {
        const response = await gateway.call(`/v1/models${query}`, {
          headers: { authorization: `Bearer ${ALICE_TOKEN}` },
        });
        return await response.json();
      };
      const { data } = await get("");
      const entryOf = (id: string) =>
        data.find((entry: JsonObject) => entry.id === id);
      assert.deepEqual(entryOf("demo-b").protocols, b);
      assert.deepEqual(entryOf("demo-b").native_protocols, ["messages"]);
      assert.deepEqual(entryOf("demo-c").protocols, c);
      assert.deepEqual(entryOf("demo-c").native_protocols, ["responses"]);
      const { models } = await get("?client_version=0.169.0");
      const slugs = models.map(({ slug }: JsonObject) => slug);
      assert.equal(slugs.includes("demo-b"), b.includes("responses"));
      // A request on an offered path succeeds.
      for (const path of ["messages", "responses"] as const) {
        for (
          const { id, protocols } of [entryOf("demo-b"), entryOf("demo-c")]
        ) {
          const response = await gateway.ask(path, hello(path, { model: id }));
          await response.body?.cancel();
          assert.equal(response.status, protocols.includes(path) ? 200 : 400);
        }
      }
    });
  }
});

Deno.test("a path that the family lacks is 400, and only the log names the option that adds it", async () => {
  await using gateway = await startDemoGateway();
  for (
    const [path, model, option] of [
      ["messages", "demo-c", "paths: [messages]"],
      ["responses", "demo-b", "paths: [responses]"],
    ] as const
  ) {
    const response = await gateway.ask(path, hello(path, { model }));
    assert.equal(response.status, 400);
    assert.ok(!(await response.text()).includes("paths:"));
    const { error, reason } = await gateway.lines.of(response);
    assert.equal(error, "unsupported_path");
    assert.ok(String(reason).includes(option), String(reason));
  }
  assert.equal(gateway.asked.length, 0);
});

const headers = { authorization: `Bearer ${ALICE_TOKEN}` };

async function models(
  gateway: RunningGateway,
): Promise<Record<string, Record<string, unknown>>> {
  const response = await gateway.call("/v1/models", { headers });
  assert.equal(response.status, 200);
  const { data } = await response.json();
  return Object.fromEntries(
    data.map((entry: Record<string, unknown>) => [entry.id, entry]),
  );
}

Deno.test("GET /models lists the facts of the demo's providers about their models", async () => {
  const file = parseYaml(demoConfigText(sha256Hex(ALICE_TOKEN)));
  assert.ok(isJsonObject(file));
  const fetch = createDemoUpstream({ clock: systemClock, ids: randomIds });
  await using gateway = await startGateway(file, { fetch });
  const listed = await models(gateway);
  for (const name of ["demo-a", "demo-b-think", "demo-c", "demo-any"]) {
    const entry = listed[name];
    assert.equal(entry?.context_length, 200_000, name);
    assert.equal(entry?.max_input_tokens, 200_000, name);
    assert.equal(entry?.max_tokens, 64_000, name);
    assert.equal(entry?.created_at, "2026-01-01T00:00:00.000Z", name);
    const { image_input, thinking } = Object(entry?.capabilities);
    assert.deepEqual(image_input, { supported: true }, name);
    assert.deepEqual(thinking, { supported: name.includes("think") }, name);
  }
  assert.deepEqual(listed["demo-a"]?.supported_parameters, [
    "tools",
    "tool_choice",
  ]);
  // Anthropic's list has no field for tools.
  assert.equal(listed["demo-b-think"]?.supported_parameters, undefined);
});

Deno.test("a request for a model does not read the provider's model list", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(minimalFile({
    connections: [connectionFile({ endpoints: { chat: upstream.url } })],
  }));
  const response = await gateway.ask("chat", `{"model":"model-a"}`);
  assert.equal(response.status, 200, await response.text());
  const seen = upstream.requests.items.map(({ method, path }) =>
    `${method} ${path}`
  );
  assert.deepEqual(seen, ["POST /chat/completions"]);
});

Deno.test("a model list is read with the connection's key, once for all callers, and without the caller's token", async () => {
  await using upstream = startUpstream(() =>
    Response.json({ data: [{ id: "model-a", context_length: 10 }] })
  );
  await using gateway = await startGateway(minimalFile({
    connections: [connectionFile({ endpoints: { chat: upstream.url } })],
  }));
  for (let asks = 0; asks < 3; asks++) {
    assert.equal((await models(gateway))["model-a"]?.context_length, 10);
  }
  const [seen, ...more] = upstream.requests.items;
  assert.deepEqual(more, []);
  assert.equal(seen?.path, "/models");
  assert.equal(seen?.headers.get("authorization"), `Bearer ${UPSTREAM_KEY}`);
});

Deno.test("a connection's key in the provider's model list is not revealed to callers", async () => {
  await using upstream = startUpstream(() =>
    Response.json({ data: [{ id: "model-a", display_name: UPSTREAM_KEY }] })
  );
  await using gateway = await startGateway(minimalFile({
    connections: [connectionFile({ endpoints: { chat: upstream.url } })],
  }));
  const response = await gateway.call("/v1/models", { headers });
  const text = await response.text();
  assert.equal(response.status, 200);
  assert.ok(!text.includes(UPSTREAM_KEY), text);
  assert.ok(!gateway.lines.text().includes(UPSTREAM_KEY));
  assert.equal(
    gateway.lines.others.items[0]?.reason,
    "the list contains the connection's key",
  );
});
