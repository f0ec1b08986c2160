import assert from "node:assert/strict";
import { createGateway } from "../../../src/gateway/app.ts";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import { systemClock } from "../../../src/base/time/timers.ts";
import { GatewayError } from "../../../src/base/error.ts";
import { randomIds } from "../../../src/base/ids.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import { BASE_PATH, PROVIDERS } from "../../../src/tools/demo/providers.ts";
import { createStrictProvider } from "../../support/upstream/strict_provider/mod.ts";
import { createLog } from "../../../src/gateway/observe/log.ts";
import { completionsCodec } from "../../../src/codecs/completions/mod.ts";
import {
  ALICE_TOKEN,
  connectionFile,
  minimalConfig,
} from "../../support/gateway/config.ts";
import { OpenAI } from "../../support/sdk/sdks.ts";

/** Returns an SDK for a gateway whose only upstream has only Chat Completions. */
async function chatOnlyClient(): Promise<OpenAI> {
  const provider = PROVIDERS.find(({ family }) => family === "A");
  assert.ok(provider);
  const config = await minimalConfig({
    connections: [connectionFile({
      endpoints: { chat: `https://${provider.host}${BASE_PATH}` },
      auth: { scheme: "bearer", key: provider.key },
      models: ["demo-a", "demo-broken", "demo-error-429"],
    })],
  });
  const { handler } = createGateway({
    liveConfig: createLiveConfig(config),
    fetch: createStrictProvider({
      clock: systemClock,
      ids: randomIds,
      wordMs: 0,
    }),
    log: createLog({ format: "json", now: Date.now, sink: () => {} }),
  });
  return new OpenAI({
    baseURL: "http://gateway.test/v1",
    apiKey: ALICE_TOKEN,
    maxRetries: 0,
    fetch: (input, init) => handler(new Request(input, init)),
  });
}

Deno.test("the SDK reads a legacy completion of a model that only has Chat", async () => {
  const client = await chatOnlyClient();
  const answer = await client.completions.create({
    model: "demo-a",
    prompt: "Hello",
  });
  assert.equal(answer.object, "text_completion");
  assert.match(answer.choices[0]?.text ?? "", /You said: "Hello"/);
  assert.equal(answer.choices[0]?.finish_reason, "stop");
  assert.ok((answer.usage?.completion_tokens ?? 0) > 0);
});

Deno.test("a model that only has Chat streams a legacy completion with the same text and its usage", async () => {
  const client = await chatOnlyClient();
  const whole = await client.completions.create({
    model: "demo-a",
    prompt: ["Hello"],
  });
  const stream = await client.completions.create({
    model: "demo-a",
    prompt: "Hello",
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = "";
  let usage: unknown;
  const ends: unknown[] = [];
  for await (const chunk of stream) {
    assert.equal(chunk.object, "text_completion");
    const [choice] = chunk.choices;
    text += choice?.text ?? "";
    if (choice?.finish_reason) ends.push(choice.finish_reason);
    usage = chunk.usage ?? usage;
  }
  assert.equal(text, whole.choices[0]?.text);
  assert.deepEqual(ends, ["stop"]);
  assert.deepEqual(usage, whole.usage);
});

Deno.test("the SDK throws when a legacy completion breaks off", async () => {
  const client = await chatOnlyClient();
  const stream = await client.completions.create({
    model: "demo-broken",
    prompt: "Hello",
    stream: true,
  });
  await assert.rejects(async () => {
    for await (const _ of stream) {
      // Reads to the end of the stream.
    }
  }, /broke off/);
});

Deno.test("a legacy completion has the status of the upstream's error", async () => {
  const client = await chatOnlyClient();
  await assert.rejects(
    client.completions.create({ model: "demo-error-429", prompt: "Hello" }),
    { status: 429 },
  );
});

Deno.test("a legacy completion with a field that Chat lacks is rejected by the field's name", async (t) => {
  const refused: readonly JsonObject[] = [
    { prompt: "x", n: 2 },
    { prompt: "x", best_of: 3 },
    { prompt: "x", suffix: "end" },
    { prompt: "x", echo: true },
    { prompt: "x", logprobs: 1 },
    { prompt: ["a", "b"] },
    { prompt: [1, 2, 3] },
    { prompt: [] },
    {},
  ];
  for (const fields of refused) {
    await t.step(JSON.stringify(fields), () => {
      const param = Object.keys(fields).find((name) => name !== "prompt") ??
        "prompt";
      assert.throws(
        () => completionsCodec.decodeRequest({ model: "m", ...fields }),
        (error) => error instanceof GatewayError && error.param === param,
      );
    });
  }
});

Deno.test("a legacy completion may set a field to the default of Chat", () => {
  const request = completionsCodec.decodeRequest({
    model: "m",
    prompt: "x",
    n: 1,
    best_of: 1,
    suffix: null,
    echo: false,
    logprobs: null,
    max_tokens: 5,
  });
  assert.equal(request.maxOutputTokens, 5);
  assert.deepEqual(request.extras.chat, {});
  const blocks = request.turns.flatMap((turn) => turn.blocks);
  assert.deepEqual(
    blocks.map((block) => block.kind === "text" && block.text),
    ["x"],
  );
});
