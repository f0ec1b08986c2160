import assert from "node:assert/strict";
import { Anthropic, Anthropic0, OpenAI } from "../../support/sdk/sdks.ts";
import { createFixedStrict } from "./harness.ts";
import {
  createSdk0,
  createSdk1,
  helloTo,
  TOOL,
} from "../../support/sdk/anthropic_sdk.ts";
import { steps } from "../../support/steps.ts";

// The SDKs' answers of these providers, and their tools, are in tests/e2e/sdks: natively, the gateway changes no byte.

/** An official SDK whose `fetch` is the demo of one family. */
function createClient(family: "a" | "c", apiKey = `demo-key-${family}`) {
  return new OpenAI({
    baseURL: `https://demo-${family}.invalid/v1`,
    apiKey,
    fetch: createFixedStrict(),
    maxRetries: 0,
  });
}

Deno.test("the OpenAI SDK lists the models of a provider and reads one", async () => {
  const client = createClient("c");
  const models = [];
  for await (const model of client.models.list()) models.push(model.id);
  assert(models.includes("demo-c-think"));
  assert.equal((await client.models.retrieve("demo-c")).id, "demo-c");
});

Deno.test("the OpenAI SDK throws the right class for each of the demo's refusals", async (t) => {
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

function optionsFor(apiKey = "demo-key-b") {
  return {
    baseURL: "https://demo-b.invalid",
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
  Deno.test(`the Anthropic SDK ${generation} lists the models of family B and reads one`, async () => {
    const judge = createSdk(optionsFor());
    assert((await judge.modelIds()).includes("demo-b-think"));
    assert.equal(await judge.modelId("demo-b"), "demo-b");
  });

  Deno.test(`the Anthropic SDK ${generation} throws the right class for each of the demo's refusals`, async (t) => {
    const rejects = (model: string, error: new (...a: never) => Error) =>
      assert.rejects(createSdk(optionsFor()).create(helloTo(model)), error);
    await t.step("a wrong key", () =>
      assert.rejects(
        createSdk(optionsFor("wrong")).create(helloTo("demo-b")),
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
        createSdk(optionsFor()).stream(
          helloTo(model),
          (delta) => text += delta,
        ),
      );
      assert.notEqual(text, "");
    }));
}

Deno.test("the Anthropic SDK 1.x sends the whole conversation when the gateway reports that threads are not kept", async () => {
  const client = new Anthropic(optionsFor());
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
