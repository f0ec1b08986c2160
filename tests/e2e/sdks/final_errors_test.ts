import type { Fetch } from "../../../src/gateway/upstream/call.ts";
import assert from "node:assert/strict";
import {
  createSdk0,
  createSdk1,
  helloTo,
} from "../../support/sdk/anthropic_sdk.ts";
import { Anthropic, Anthropic0, OpenAI } from "../../support/sdk/sdks.ts";
import { ALICE_TOKEN, tokenFile } from "../../support/gateway/config.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { MODELS } from "../../support/wire/ask.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import {
  OVERFLOWS,
  type ProviderError,
} from "../../support/dialects/provider_errors.ts";
import { PAIRS, pairsFile } from "../../support/dialects/pairs.ts";

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
  Deno.test(`${sdk} sends one request when no retry helps, also while the connection cools down`, async () => {
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

  Deno.test(`${sdk} sends one request when a limit of its token resets only in days`, async () => {
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

const USER = [{ role: "user" as const, content: "Hello" }];

/** The gateway's address, a `fetch` that reaches it, and one of its models. */
interface Reach {
  readonly url: string;
  readonly model: string;
  readonly fetch: typeof fetch;
}

/** The request of each official SDK, and its name for the error. */
const SDKS: readonly {
  readonly name: string;
  readonly protocol: Protocol;
  ask(reach: Reach): PromiseLike<unknown>;
  isOverflow(thrown: unknown): boolean;
}[] = [
  {
    name: "OpenAI SDK, chat",
    protocol: "chat",
    ask: (reach) =>
      openAiOverflowSdk(reach).chat.completions.create({
        model: reach.model,
        messages: USER,
      }),
    isOverflow: isOpenAiOverflow,
  },
  {
    name: "OpenAI SDK, responses",
    protocol: "responses",
    ask: (reach) =>
      openAiOverflowSdk(reach).responses.create({
        model: reach.model,
        input: "Hi",
      }),
    isOverflow: isOpenAiOverflow,
  },
  {
    name: "Anthropic SDK 1.x",
    protocol: "messages",
    ask: ({ url, fetch, model }) =>
      new Anthropic({
        baseURL: url,
        apiKey: ALICE_TOKEN,
        maxRetries: 0,
        fetch,
      }).messages.create({ model, max_tokens: 9, messages: USER }),
    isOverflow: (thrown) =>
      thrown instanceof Anthropic.BadRequestError &&
      /prompt is too long/i.test(thrown.message),
  },
  {
    name: "Anthropic SDK 0.x",
    protocol: "messages",
    ask: ({ url, fetch, model }) =>
      new Anthropic0({
        baseURL: url,
        apiKey: ALICE_TOKEN,
        maxRetries: 0,
        fetch,
      }).messages.create({ model, max_tokens: 9, messages: USER }),
    isOverflow: (thrown) =>
      thrown instanceof Anthropic0.BadRequestError &&
      /prompt is too long/i.test(thrown.message),
  },
];

function openAiOverflowSdk({ url, fetch }: Reach): OpenAI {
  return new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: ALICE_TOKEN,
    maxRetries: 0,
    fetch,
  });
}

function isOpenAiOverflow(thrown: unknown): boolean {
  return thrown instanceof OpenAI.BadRequestError &&
    thrown.code === "context_length_exceeded";
}

for (const { name, protocol, ask, isOverflow } of SDKS) {
  Deno.test(`the ${name}, recognizes a prompt that is too long, whatever text the provider uses`, async (t) => {
    let sent: ProviderError | undefined;
    const upstream: Fetch = () =>
      Promise.resolve(
        Response.json(sent?.body, { status: sent?.status ?? 500 }),
      );
    await using gateway = await startGateway(
      pairsFile("http://upstream.test"),
      { fetch: upstream },
    );
    const { url, fetch } = gateway;
    for (const { to, model } of PAIRS.filter(({ from }) => from === protocol)) {
      for (const one of OVERFLOWS) {
        await t.step(`${one.provider}, behind ${to}`, async () => {
          sent = one;
          await assert.rejects(async () => {
            await ask({ url, fetch, model });
          }, isOverflow);
        });
      }
    }
  });
}
