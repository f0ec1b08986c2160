import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/base/json.ts";
import { type OpenAnswer, openAnswer } from "../../support/wire/answers.ts";
import { ALICE_TOKEN, tokenFile } from "../../support/gateway/config.ts";
import {
  type DemoGateway,
  startDemoGateway,
} from "../../support/gateway/demo_gateway.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { OpenAI } from "../../support/sdk/sdks.ts";
import { within } from "../../support/within.ts";
import { steps } from "../../support/steps.ts";

/** Creates the official SDK; `prefix` is one of the two prefixes of the main paths. */
function createSdk(
  gateway: RunningGateway,
  { apiKey = ALICE_TOKEN, prefix = "/v1" } = {},
): OpenAI {
  return new OpenAI({
    baseURL: gateway.url + prefix,
    apiKey,
    fetch: gateway.fetch,
    maxRetries: 0,
  });
}

const QUESTION = [{ role: "user" as const, content: "Hello, ünïcode 🙂" }];

const USE_TOOL = [{ role: "user" as const, content: "Use get_weather." }];

const WEATHER = {
  name: "get_weather",
  description: "Reports the weather",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
  },
};

/** Returns the last request that reached a provider, in the SDK's form. */
function lastAsked({ asked }: DemoGateway): JsonObject {
  return JSON.parse(asked.at(-1)?.body ?? "null");
}

for (const prefix of ["/v1", "/api/v1"]) {
  Deno.test(`the OpenAI SDK reads the same chat answer whole, in chunks and with its stream helper under ${prefix}`, async () => {
    await using gateway = await startDemoGateway();
    const sdk = createSdk(gateway, { prefix });
    const body = { model: "demo-a", messages: QUESTION };
    const whole = await sdk.chat.completions.create(body);
    const text = whole.choices[0]?.message.content ?? "";
    assert.match(text, /You said: "Hello, ünïcode 🙂"/);

    let pieces = "";
    const chunks = await sdk.chat.completions.create({ ...body, stream: true });
    for await (const chunk of chunks) {
      pieces += chunk.choices[0]?.delta.content ?? "";
    }
    assert.equal(pieces, text);

    const stream = sdk.chat.completions.stream({
      ...body,
      stream_options: { include_usage: true },
    });
    const streamed = await stream.finalChatCompletion();
    assert.equal(streamed.choices[0]?.message.content, text);
    assert.deepEqual(await stream.totalUsage(), whole.usage);
    assert.equal(lastAsked(gateway).stream, true);
  });
}

Deno.test("the OpenAI SDK runs a tool over chat", async () => {
  await using gateway = await startDemoGateway();
  const runner = createSdk(gateway).chat.completions.runTools({
    model: "demo-a-think",
    stream: true,
    messages: USE_TOOL,
    tools: [{
      type: "function",
      function: {
        ...WEATHER,
        parse: JSON.parse,
        function: ({ city }: { city: string }) => `rain in ${city}`,
      },
    }],
  });
  const text = await runner.finalContent();
  assert.match(text ?? "", /get_weather returned: rain in demo/);
});

Deno.test("the OpenAI SDK streams a legacy completion", async () => {
  await using gateway = await startDemoGateway();
  const stream = await createSdk(gateway).completions.create({
    model: "demo-a",
    prompt: "Hello",
    max_tokens: 100,
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = "";
  let total = 0;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.text ?? "";
    total += chunk.usage?.total_tokens ?? 0;
  }
  assert.match(text, /You said: "Hello"/);
  assert.ok(total > 0);
});

for (const model of ["demo-a", "demo-c"]) {
  Deno.test(`the OpenAI SDK reads the same responses answer of ${model} whole, in events and with its stream helper`, async () => {
    await using gateway = await startDemoGateway();
    const sdk = createSdk(gateway);
    const body = {
      model,
      input: "Hello",
      reasoning: { effort: "low" as const, summary: "auto" as const },
      include: ["reasoning.encrypted_content" as const],
    };
    const whole = await sdk.responses.create(body);
    assert.match(whole.output_text, /You said: "Hello"/);

    let pieces = "";
    const events = await sdk.responses.create({ ...body, stream: true });
    for await (const event of events) {
      if (event.type === "response.output_text.delta") pieces += event.delta;
    }
    assert.equal(pieces, whole.output_text);

    const streamed = await sdk.responses.stream(body).finalResponse();
    assert.equal(streamed.output_text, whole.output_text);
    const withoutId = ([item]: typeof whole.output) => ({ ...item, id: "" });
    assert.deepEqual(withoutId(streamed.output), withoutId(whole.output));
    assert.deepEqual(streamed.usage, whole.usage);
  });

  Deno.test(`the OpenAI SDK returns the items of ${model} with a tool's result`, async () => {
    await using gateway = await startDemoGateway();
    const sdk = createSdk(gateway);
    const request = {
      model: `${model}-think`,
      tools: [{ type: "function" as const, strict: false, ...WEATHER }],
      include: ["reasoning.encrypted_content" as const],
    };
    const first = await sdk.responses.stream({ ...request, input: USE_TOOL })
      .finalResponse();
    const call = first.output.find((item) => item.type === "function_call");
    assert.ok(call !== undefined);
    assert.deepEqual(JSON.parse(call.arguments), { city: "demo" });
    const items = first.output.filter((item) =>
      item.type === "reasoning" || item.type === "function_call"
    );
    assert.equal(items.length, 2);
    const second = await sdk.responses.stream({
      ...request,
      input: [...USE_TOOL, ...items, {
        type: "function_call_output",
        call_id: call.call_id,
        output: "rain",
      }],
    }).finalResponse();
    assert.match(second.output_text, /get_weather returned: rain/);
  });
}

Deno.test("the OpenAI SDK compacts a conversation and continues it", async () => {
  await using gateway = await startDemoGateway();
  const { responses } = createSdk(gateway);
  const compacted = await responses.compact({
    model: "demo-c",
    input: [{ role: "user", content: "Hello" }],
  });
  assert.equal(compacted.object, "response.compaction");
  const next = await responses.create({
    model: "demo-c",
    input: [
      ...compacted.output as OpenAI.Responses.ResponseInput,
      { role: "user", content: "Go on" },
    ],
  });
  assert.match(next.output_text, /You said: "Go on"/);
});

Deno.test("the OpenAI SDK lists the models and retrieves one", async () => {
  await using gateway = await startDemoGateway();
  const { models } = createSdk(gateway);
  const ids: string[] = [];
  for await (const { id } of models.list()) ids.push(id);
  for (const id of ["demo-a", "demo-b", "demo-c"]) assert.ok(ids.includes(id));
  assert.equal((await models.retrieve("demo-b")).id, "demo-b");
});

/** An error, and the SDK's class for it. */
const ERRORS = [
  {
    name: "a wrong token",
    apiKey: "wrong",
    model: "demo-a",
    error: OpenAI.AuthenticationError,
    code: "invalid_api_key",
  },
  {
    name: "an unknown model",
    model: "gpt-9",
    error: OpenAI.NotFoundError,
    code: "model_not_found",
  },
  {
    name: "an upstream's rate limit",
    model: "demo-error-429",
    error: OpenAI.RateLimitError,
    code: "rate_limit_exceeded",
  },
  {
    name: "an upstream's failure",
    model: "demo-error-500",
    error: OpenAI.InternalServerError,
    code: "server_error",
  },
  {
    name: "an upstream that refuses the gateway's key",
    model: "demo-error-401",
    error: OpenAI.InternalServerError,
    code: "upstream_authentication",
  },
] as const;

Deno.test("the OpenAI SDK has a class for each error and shows the request id", async (t) => {
  await using gateway = await startDemoGateway();
  await steps(t, ERRORS, async ({ name: _, model, error, code, ...rest }) => {
    const sdk = createSdk(gateway, rest);
    const call = sdk.chat.completions.create({ model, messages: QUESTION });
    const thrown = await call.then(() => assert.fail(), (thrown) => thrown);
    assert.ok(thrown instanceof error, String(thrown));
    assert.equal(thrown.code, code);
    assert.match(thrown.requestID ?? "", /^req_[0-9a-f]{32}$/);
  });
  await t.step("a family that the path does not serve", async () => {
    const call = createSdk(gateway).responses.create({
      model: "demo-b",
      input: "Hello",
    });
    await assert.rejects(call, OpenAI.BadRequestError);
  });
});

Deno.test("the OpenAI SDK has a class for a token's own limit", async () => {
  const answer = openAnswer();
  await using upstream = startUpstream(() => answer.response);
  await using gateway = await startGateway(
    familiesFile(upstream.url, { tokens: [tokenFile({ max_concurrent: 1 })] }),
  );
  const sdk = createSdk(gateway);
  const body = { model: "model-a", messages: QUESTION };
  const running = await sdk.chat.completions.create({ ...body, stream: true });
  await assert.rejects(
    sdk.chat.completions.create(body),
    OpenAI.RateLimitError,
  );
  running.controller.abort();
  await within(answer.cancelled, "the stream to be cancelled");
});

/** The faults of a stream after its first text. */
const BREAKS: Readonly<Record<string, (answer: OpenAnswer) => void>> = {
  "the connection is cut": (answer) => answer.cut(),
  "an error is reported": (answer) => {
    answer.write(`data: {"error":{"message":"Overloaded"}}\n\n`);
    answer.close();
  },
};

Deno.test("the OpenAI SDK throws when a stream breaks off", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  await steps(t, Object.entries(BREAKS), async ([, breakOff]) => {
    const answer = openAnswer();
    upstream.play(() => answer.response);
    const stream = await createSdk(gateway).chat.completions.create({
      model: "model-a",
      stream: true,
      messages: QUESTION,
    });
    const delta = { role: "assistant", content: "Hello" };
    const chunk = JSON.stringify({ choices: [{ index: 0, delta }] });
    answer.write(`data: ${chunk}\n\n`);
    let text = "";
    await assert.rejects(async () => {
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? "";
        breakOff(answer);
      }
    });
    assert.equal(text, "Hello");
  });
});

Deno.test("the upstream gets the OpenAI SDK's bytes unchanged", async () => {
  await using upstream = startUpstream(() =>
    Response.json({ object: "chat.completion", choices: [] })
  );
  await using gateway = await startGateway(familiesFile(upstream.url));
  const sent: string[] = [];
  const sdk = new OpenAI({
    baseURL: `${gateway.url}/v1`,
    apiKey: ALICE_TOKEN,
    maxRetries: 0,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      sent.push(await request.clone().text());
      return await gateway.fetch(request);
    },
  });
  await sdk.chat.completions.create({ model: "model-a", messages: QUESTION });
  const seen = await upstream.requests.next();
  assert.equal(seen.text(), sent[0]);
  assert.match(seen.headers.get("user-agent") ?? "", /^OpenAI\/JS/);
  assert.equal(seen.headers.get("x-stainless-lang"), "js");
});
