import assert from "node:assert/strict";
import { Anthropic, Anthropic0, OpenAI } from "../support/sdk/sdks.ts";
import { createFixedStrict } from "./harness.ts";
import {
  createSdk0,
  createSdk1,
  handBackToolResult,
  helloTo,
  TOOL,
} from "../support/sdk/anthropic_sdk.ts";
import { steps } from "../support/steps.ts";

/** The official SDK, talking to the demo of one family without a network. */
function createClient(family: "a" | "c", apiKey = `demo-key-${family}`) {
  return new OpenAI({
    baseURL: `https://demo-${family}.invalid/v1`,
    apiKey,
    fetch: createFixedStrict(),
    maxRetries: 0,
  });
}

const WEATHER_SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
};

const CHAT_TOOL = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Reports the weather",
    parameters: WEATHER_SCHEMA,
  },
} as const;

const RESPONSES_TOOL = {
  type: "function",
  name: "get_weather",
  parameters: WEATHER_SCHEMA,
  strict: false,
} as const;

const PROMPT = "Please use get_weather.";

Deno.test("the OpenAI SDK reads a chat answer and its stream alike", async () => {
  const client = createClient("a");
  const body = {
    model: "demo-a",
    messages: [{ role: "user" as const, content: "Hello" }],
  };
  const whole = await client.chat.completions.create(body);
  const stream = client.chat.completions.stream({
    ...body,
    stream_options: { include_usage: true },
  });
  const streamed = await stream.finalChatCompletion();
  const text = whole.choices[0]?.message.content;
  assert.match(text ?? "", /You said: "Hello"/);
  assert.equal(streamed.choices[0]?.message.content, text);
  assert.deepEqual(await stream.totalUsage(), whole.usage);
});

Deno.test("the OpenAI SDK runs a chat tool and gets an answer that uses its result", async () => {
  const client = createClient("a");
  const runner = client.chat.completions.runTools({
    model: "demo-a-think",
    stream: true,
    messages: [{ role: "user", content: PROMPT }],
    tools: [{
      type: "function",
      function: {
        ...CHAT_TOOL.function,
        parse: JSON.parse,
        function: ({ city }: { city: string }) => `rain in ${city}`,
      },
    }],
  });
  assert.match(
    await runner.finalContent() ?? "",
    /get_weather returned: rain in Berlin/,
  );
});

Deno.test("the OpenAI SDK streams a legacy completion", async () => {
  const stream = await createClient("a").completions.create({
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
  assert(total > 0);
});

for (const family of ["a", "c"] as const) {
  const model = `demo-${family}`;

  Deno.test(`the OpenAI SDK accepts the grammar of a responses stream of family ${family.toUpperCase()}`, async () => {
    const request = {
      model,
      input: "Hello",
      reasoning: { effort: "low" as const, summary: "auto" as const },
      include: ["reasoning.encrypted_content" as const],
    };
    const whole = await createClient(family).responses.create(request);
    const streamed = await createClient(family).responses.stream(request)
      .finalResponse();
    assert.match(whole.output_text, /You said: "Hello"/);
    assert.equal(streamed.output_text, whole.output_text);
    assert.deepEqual(streamed.output[0], whole.output[0]);
    assert.deepEqual(streamed.usage, whole.usage);
  });

  Deno.test(`the OpenAI SDK returns the items of family ${family.toUpperCase()} with a tool's result`, async () => {
    const client = createClient(family);
    const request = {
      model: `${model}-think`,
      tools: [RESPONSES_TOOL],
      include: ["reasoning.encrypted_content" as const],
    };
    const input: OpenAI.Responses.ResponseInput = [
      { role: "user", content: PROMPT },
    ];
    const first = await client.responses.stream({ ...request, input })
      .finalResponse();
    const call = first.output.find((item) => item.type === "function_call");
    assert(call !== undefined);
    assert.deepEqual(JSON.parse(call.arguments), { city: "Berlin" });
    for (const item of first.output) {
      if (item.type === "reasoning" || item.type === "function_call") {
        input.push(item);
      }
    }
    assert.equal(input.length, 3);
    input.push({
      type: "function_call_output",
      call_id: call.call_id,
      output: "rain",
    });
    const second = await client.responses.stream({ ...request, input })
      .finalResponse();
    assert.match(second.output_text, /get_weather returned: rain/);
  });
}

Deno.test("the OpenAI SDK compacts a conversation and continues it", async () => {
  const client = createClient("c");
  const compacted = await client.responses.compact({
    model: "demo-c",
    input: [{ role: "user", content: "Hello" }],
  });
  assert.equal(compacted.object, "response.compaction");
  const next = await client.responses.create({
    model: "demo-c",
    input: [
      ...compacted.output as OpenAI.Responses.ResponseInput,
      { role: "user", content: "Go on" },
    ],
  });
  assert.match(next.output_text, /You said: "Go on"/);
});

Deno.test("the OpenAI SDK lists the models of a provider and reads one", async () => {
  const client = createClient("c");
  const models = [];
  for await (const model of client.models.list()) models.push(model.id);
  assert(models.includes("demo-c-think"));
  assert.equal((await client.models.retrieve("demo-c")).id, "demo-c");
});

Deno.test("the OpenAI SDK recognizes the demo's refusals by their class", async (t) => {
  const ask = (model: string, client = createClient("a")) =>
    client.chat.completions.create({
      model,
      messages: [{ role: "user", content: "Hello" }],
    });
  await t.step("a wrong key", () =>
    assert.rejects(
      ask("demo-a", createClient("a", "wrong")),
      OpenAI.AuthenticationError,
    ));
  await t.step(
    "an unknown model",
    () => assert.rejects(ask("gpt-9"), OpenAI.NotFoundError),
  );
  await t.step(
    "a rate limit",
    () => assert.rejects(ask("demo-error-429"), OpenAI.RateLimitError),
  );
  await t.step(
    "a failure of the server",
    () => assert.rejects(ask("demo-error-500"), OpenAI.InternalServerError),
  );
});

Deno.test("the OpenAI SDK sees a chat stream fail in the middle", (t) =>
  steps(t, ["demo-error-in-stream", "demo-broken"], async (model) => {
    const stream = await createClient("a").chat.completions.create({
      model,
      stream: true,
      messages: [{ role: "user", content: "Hello" }],
    });
    let text = "";
    await assert.rejects(async () => {
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? "";
      }
    }, model === "demo-broken" ? TypeError : OpenAI.APIError);
    assert.notEqual(text, "");
  }));

Deno.test("the OpenAI SDK sees a responses stream end as failed", async () => {
  const answer = await createClient("c").responses.stream({
    model: "demo-c-error-in-stream",
    input: "Hello",
  }).finalResponse();
  assert.equal(answer.status, "failed");
  assert.equal(answer.error?.code, "server_is_overloaded");
});

type Family = "a" | "b";

function optionsFor(family: Family, apiKey = `demo-key-${family}`) {
  return {
    baseURL: `https://demo-${family}.invalid`,
    apiKey,
    fetch: createFixedStrict(),
    maxRetries: 0,
  };
}

const GENERATIONS = [
  { generation: "1.x", createSdk: createSdk1, errors: Anthropic },
  { generation: "0.x", createSdk: createSdk0, errors: Anthropic0 },
];

for (const { generation, createSdk, errors } of GENERATIONS) {
  for (const family of ["a", "b"] as const) {
    Deno.test(`the Anthropic SDK ${generation} reads an answer of family ${family.toUpperCase()} and its stream alike`, async () => {
      const body = helloTo(`demo-${family}-think`);
      const whole = await createSdk(optionsFor(family)).create(body);
      const streamed = await createSdk(optionsFor(family)).stream(body);
      assert.deepEqual(streamed.content, whole.content);
      assert.deepEqual(streamed.usage, whole.usage);
      assert.equal(streamed.stop_reason, "end_turn");
      assert.deepEqual(whole.content.map((block) => block.type), [
        "thinking",
        "text",
      ]);
    });
  }

  Deno.test(`the Anthropic SDK ${generation} hands thinking and a tool's result back`, async () => {
    const text = await handBackToolResult(
      createSdk(optionsFor("b")),
    );
    assert.match(text, /get_weather returned: rain/);
  });

  Deno.test(`the Anthropic SDK ${generation} counts the tokens that the answer then reports`, async () => {
    const body = { ...helloTo("demo-b"), max_tokens: 9 };
    const { max_tokens: _, ...counted } = body;
    const tokens = await createSdk(optionsFor("b")).countTokens(counted);
    const answer = await createSdk(optionsFor("b")).create(body);
    assert.equal(answer.usage.input_tokens, tokens);
    assert.equal(answer.usage.output_tokens, 9);
    assert.equal(answer.stop_reason, "max_tokens");
  });

  Deno.test(`the Anthropic SDK ${generation} lists the models of family B and reads one`, async () => {
    const judge = createSdk(optionsFor("b"));
    assert((await judge.modelIds()).includes("demo-b-think"));
    assert.equal(await judge.modelId("demo-b"), "demo-b");
  });

  Deno.test(`the Anthropic SDK ${generation} recognizes the demo's refusals by their class`, async (t) => {
    const rejects = (model: string, error: new (...a: never) => Error) =>
      assert.rejects(createSdk(optionsFor("b")).create(helloTo(model)), error);
    await t.step("a wrong key", () =>
      assert.rejects(
        createSdk(optionsFor("b", "wrong")).create(helloTo("demo-b")),
        errors.AuthenticationError,
      ));
    await t.step(
      "an unknown model",
      () => rejects("claude-9", errors.NotFoundError),
    );
    await t.step(
      "a rate limit",
      () => rejects("demo-b-error-429", errors.RateLimitError),
    );
    await t.step(
      "a failure of the server",
      () => rejects("demo-b-error-500", errors.InternalServerError),
    );
  });

  Deno.test(`the Anthropic SDK ${generation} sees a stream fail in the middle`, (t) =>
    steps(t, ["demo-b-error-in-stream", "demo-b-broken"], async (model) => {
      let text = "";
      await assert.rejects(
        createSdk(optionsFor("b")).stream(
          helloTo(model),
          (delta) => text += delta,
        ),
      );
      assert.notEqual(text, "");
    }));
}

Deno.test("the Anthropic SDK 1.x sends the whole conversation when the gateway reports that threads are not kept", async () => {
  const client = new Anthropic(optionsFor("b"));
  const answer = await client.beta.messages.toolRunner({
    model: "demo-b-think",
    max_tokens: 500,
    messages: [{ role: "user", content: "Please use get_weather." }],
    tools: [{
      ...TOOL,
      type: "custom",
      description: "Reports the weather",
      parse: (input) => input,
      run: () => "rain",
    }],
  });
  const text = answer.content.find((block) => block.type === "text");
  assert.match(text?.text ?? "", /get_weather returned: rain/);
});
