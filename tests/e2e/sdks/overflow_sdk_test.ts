import assert from "node:assert/strict";
import type { Protocol } from "../../../src/core/protocol.ts";
import type { Fetch } from "../../../src/upstream/call.ts";
import { ALICE_TOKEN } from "../../support/gateway/config.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import {
  OVERFLOWS,
  type ProviderError,
} from "../../support/dialects/provider_errors.ts";
import { PAIRS, pairsFile } from "../../support/dialects/pairs.ts";
import { Anthropic, Anthropic0, OpenAI } from "../../support/sdk/sdks.ts";

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
      openAi(reach).chat.completions.create({
        model: reach.model,
        messages: USER,
      }),
    isOverflow: isOpenAiOverflow,
  },
  {
    name: "OpenAI SDK, responses",
    protocol: "responses",
    ask: (reach) =>
      openAi(reach).responses.create({ model: reach.model, input: "Hi" }),
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

function openAi({ url, fetch }: Reach): OpenAI {
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
  Deno.test(`the ${name}, recognizes a prompt that is too long from any provider's words`, async (t) => {
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
