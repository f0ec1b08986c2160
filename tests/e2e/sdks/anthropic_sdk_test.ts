import assert from "node:assert/strict";
import {
  createSdk0,
  createSdk1,
  handBackToolResult,
  helloTo,
} from "../../support/sdk/anthropic_sdk.ts";
import { type OpenAnswer, openAnswer } from "../../support/wire/answers.ts";
import { ALICE_TOKEN, tokenFile } from "../../support/gateway/config.ts";
import { startDemoGateway } from "../../support/gateway/demo_gateway.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { Anthropic, Anthropic0 } from "../../support/sdk/sdks.ts";
import { within } from "../../support/within.ts";
import { steps } from "../../support/steps.ts";

interface SdkOptions {
  /** The address without `/v1`, which the SDK adds itself. */
  readonly base?: string;
  readonly apiKey?: string;
}

function optionsFor(
  gateway: RunningGateway,
  { base = "", apiKey = ALICE_TOKEN }: SdkOptions = {},
) {
  return {
    baseURL: gateway.url + base,
    apiKey,
    fetch: gateway.fetch,
    maxRetries: 0,
  };
}

const GENERATIONS = [
  {
    generation: "1.x, which sends a bearer token",
    createSdk: createSdk1,
    errors: Anthropic,
  },
  {
    generation: "0.x, which sends an x-api-key",
    createSdk: createSdk0,
    errors: Anthropic0,
  },
] as const;

/** The prefixes of the routes: both of the main ones, and the legacy one. */
const PLACES: readonly (readonly [base: string, model: string])[] = [
  ["", "demo-b-think"],
  ["/api", "demo-b-think"],
  ["/api/anthropic", "demo-a-think"],
];

/** The faults of a stream after its first text. */
const BREAKS: Readonly<Record<string, (answer: OpenAnswer) => void>> = {
  "the connection is cut": (answer) => answer.cut(),
  "an error is reported": (answer) => {
    const error = { type: "overloaded_error", message: "Overloaded" };
    answer.write(event("error", { error }));
    answer.close();
  },
};

const BEGINNING = event("message_start", {
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "model-b",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  },
}) +
  event("content_block_start", {
    index: 0,
    content_block: { type: "text", text: "" },
  }) +
  event("content_block_delta", {
    index: 0,
    delta: { type: "text_delta", text: "Hello" },
  });

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

for (const { generation, createSdk, errors } of GENERATIONS) {
  for (const [base, model] of PLACES) {
    Deno.test(`the Anthropic SDK ${generation}, reads the same answer whole and streamed under ${base}/v1`, async () => {
      await using gateway = await startDemoGateway();
      const sdk = createSdk(optionsFor(gateway, { base }));
      const whole = await sdk.create(helloTo(model));
      let text = "";
      const streamed = await sdk.stream(helloTo(model), (delta) => {
        text += delta;
      });
      assert.match(text, /You said: "Hello, ünïcode 🙂"/);
      assert.deepEqual(streamed.content, whole.content);
      assert.deepEqual(streamed.usage, whole.usage);
      assert.equal(streamed.stop_reason, "end_turn");
      assert.deepEqual(whole.content.map(({ type }) => type), [
        "thinking",
        "text",
      ]);
    });
  }

  Deno.test(`the Anthropic SDK ${generation}, returns thinking and a tool's result`, async () => {
    await using gateway = await startDemoGateway();
    const text = await handBackToolResult(createSdk(optionsFor(gateway)));
    assert.match(text, /get_weather returned: rain/);
  });

  Deno.test(`the Anthropic SDK ${generation}, counts the tokens that the answer then reports`, async () => {
    await using gateway = await startDemoGateway();
    for (const [base, model] of PLACES) {
      const sdk = createSdk(optionsFor(gateway, { base }));
      const body = { ...helloTo(model), max_tokens: 9 };
      const { max_tokens: _, ...counted } = body;
      const tokens = await sdk.countTokens(counted);
      const answer = await sdk.create(body);
      assert.equal(answer.usage.input_tokens, tokens);
      assert.equal(answer.usage.output_tokens, 9);
      assert.equal(answer.stop_reason, "max_tokens");
    }
  });

  Deno.test(`the Anthropic SDK ${generation}, lists the models and retrieves one`, async () => {
    await using gateway = await startDemoGateway();
    for (const base of ["", "/api"]) {
      const sdk = createSdk(optionsFor(gateway, { base }));
      const ids = await sdk.modelIds();
      assert.ok(ids.includes("demo-b") && ids.includes("demo-a"));
      assert.equal(await sdk.modelId("demo-b-think"), "demo-b-think");
    }
  });

  Deno.test(`the Anthropic SDK ${generation}, has a class for each error and shows the request id`, async (t) => {
    await using gateway = await startDemoGateway();
    const cases = [
      ["a wrong token", "demo-b", errors.AuthenticationError, "wrong"],
      ["an unknown model", "claude-9", errors.NotFoundError],
      ["another family", "demo-c", errors.BadRequestError],
      ["a rate limit", "demo-b-error-429", errors.RateLimitError],
      ["a failure", "demo-b-error-500", errors.InternalServerError],
      ["a refused key", "demo-b-error-401", errors.InternalServerError],
    ] as const;
    await steps(t, cases, async ([, model, error, apiKey]) => {
      const sdk = createSdk(
        optionsFor(gateway, apiKey === undefined ? {} : { apiKey }),
      );
      const thrown = await sdk.create(helloTo(model))
        .then(() => assert.fail(), (thrown) => thrown);
      assert.ok(thrown instanceof error, String(thrown));
      assert.match(thrown.requestID ?? "", /^req_/);
    });
  });

  Deno.test(`the Anthropic SDK ${generation}, reports a token's own limit, and ends the upstream's stream by disconnecting`, async () => {
    const answer = openAnswer();
    await using upstream = startUpstream(() => answer.response);
    await using gateway = await startGateway(
      familiesFile(upstream.url, {
        tokens: [tokenFile({ max_concurrent: 1 })],
      }),
    );
    const sdk = createSdk(optionsFor(gateway));
    const leaving = new AbortController();
    const running = sdk.stream(helloTo("model-b"), undefined, leaving.signal);
    await upstream.requests.next();
    await assert.rejects(sdk.create(helloTo("model-b")), errors.RateLimitError);
    leaving.abort();
    await assert.rejects(running, errors.APIUserAbortError);
    await within(answer.cancelled, "the stream to be cancelled");
  });

  Deno.test(`the Anthropic SDK ${generation}, throws when a stream breaks off`, async (t) => {
    await using upstream = startUpstream();
    await using gateway = await startGateway(familiesFile(upstream.url));
    await steps(t, Object.entries(BREAKS), async ([, breakOff]) => {
      const answer = openAnswer();
      upstream.play(() => answer.response);
      answer.write(BEGINNING);
      let text = "";
      await assert.rejects(
        createSdk(optionsFor(gateway)).stream(helloTo("model-b"), (delta) => {
          text += delta;
          breakOff(answer);
        }),
      );
      assert.equal(text, "Hello");
    });
  });
}
