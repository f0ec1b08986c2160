import assert from "node:assert/strict";
import {
  createSdk0,
  createSdk1,
  handBackToolResult,
  helloTo,
  TOOL,
} from "../support/sdk/anthropic_sdk.ts";
import { Anthropic, Anthropic0 } from "../support/sdk/sdks.ts";
import { createFixedStrict } from "./harness.ts";

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

  Deno.test(`the Anthropic SDK ${generation} sees a stream fail in the middle`, async (t) => {
    for (const model of ["demo-b-error-in-stream", "demo-b-broken"]) {
      await t.step(model, async () => {
        let text = "";
        await assert.rejects(
          createSdk(optionsFor("b")).stream(
            helloTo(model),
            (delta) => text += delta,
          ),
        );
        assert.notEqual(text, "");
      });
    }
  });
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
