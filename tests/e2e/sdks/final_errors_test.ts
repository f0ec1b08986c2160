import assert from "node:assert/strict";
import {
  createSdk0,
  createSdk1,
  helloTo,
} from "../../support/sdk/anthropic_sdk.ts";
import { OpenAI } from "../../support/sdk/sdks.ts";
import { ALICE_TOKEN, tokenFile } from "../../support/gateway/config.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { MODELS } from "../../support/wire/ask.ts";

/** The default retries of the official SDKs. */
const maxRetries = 2;

/** A request of an SDK, which fails. */
type Call = (gateway: RunningGateway, apiKey: string) => Promise<unknown>;

function openAi({ url, fetch }: RunningGateway, apiKey: string): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey, fetch, maxRetries });
}

const CALLS: Readonly<Record<string, Call>> = {
  "the OpenAI SDK over Chat": (gateway, apiKey) =>
    openAi(gateway, apiKey).chat.completions.create({
      model: MODELS.chat,
      messages: [{ role: "user", content: "Hello" }],
    }),
  "the OpenAI SDK over Responses": (gateway, apiKey) =>
    openAi(gateway, apiKey).responses.create({
      model: MODELS.responses,
      input: "Hello",
    }),
  "the Anthropic SDK 1.x": ({ url, fetch }, apiKey) =>
    createSdk1({ baseURL: url, apiKey, fetch, maxRetries })
      .create(helloTo(MODELS.messages)),
  "the Anthropic SDK 0.x": ({ url, fetch }, apiKey) =>
    createSdk0({ baseURL: url, apiKey, fetch, maxRetries })
      .create(helloTo(MODELS.messages)),
};

const LIMITED = [tokenFile({ limits: [{ window: "month", tokens: 1 }] })];

for (const [sdk, call] of Object.entries(CALLS)) {
  Deno.test(`${sdk} sends one request when no retry helps, at once and while the connection cools down`, async () => {
    await using upstream = startUpstream(() =>
      Response.json({ error: { message: "No" } }, { status: 401 })
    );
    await using gateway = await startGateway(familiesFile(upstream.url));
    for (let count = 1; count <= 5; count++) {
      await assert.rejects(call(gateway, ALICE_TOKEN), { status: 502 });
      assert.equal(gateway.lines.requests.items.length, count);
    }
    await assert.rejects(call(gateway, "mg_nobody"), { status: 401 });
    assert.equal(gateway.lines.requests.items.length, 6);
  });

  Deno.test(`${sdk} sends one request when a limit of its token has no room for days`, async () => {
    await using upstream = startUpstream();
    await using gateway = await startGateway({
      ...familiesFile(upstream.url),
      tokens: LIMITED,
    });
    await assert.rejects(call(gateway, ALICE_TOKEN), { status: 429 });
    assert.equal(gateway.lines.requests.items.length, 1);
    assert.equal(upstream.requests.items.length, 0);
  });
}
