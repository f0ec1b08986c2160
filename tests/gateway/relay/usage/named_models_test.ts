import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import { isJsonObject, parseJson } from "../../../../src/base/json.ts";
import { nextTurn } from "../../../support/settle.ts";
import { readLogLine } from "../../../../src/gateway/observe/logged_request.ts";
import { sha256Hex } from "../../../../src/base/sha256.ts";
import { ALICE_TOKEN, tokenFile } from "../../../support/gateway/config.ts";
import {
  type CallerResponse,
  connectionTo,
  type Mode,
} from "../../../support/gateway/failover_scene.ts";
import {
  openUsageScene,
  type UsageScene,
} from "../../../support/gateway/usage_scene.ts";
import {
  type Act,
  good,
  status,
  streamOf,
} from "../../../support/upstream/bad_provider.ts";
import { SSE_HEADERS } from "../../../support/wire/answers.ts";
import { PROTOCOLS } from "../../../support/wire/ask.ts";
import { steps } from "../../../support/steps.ts";

type Fields = Readonly<Record<string, unknown>>;
type Protocol = typeof PROTOCOLS[number];

/**
 * Prices at which an answer of 3 input and 2 output tokens costs 5 millionths of a dollar, or a thousand times that.
 */
const MODELS: readonly Fields[] = [
  { id: "cheap", upstream: "cheap-1", price: { input: 1, output: 1 } },
  { id: "dear", upstream: "dear-1", price: { input: 1000, output: 1000 } },
];

/** Opens a scene with a token with limits, and a connection with a cheap and an expensive model. */
function openPair(
  limits: readonly Fields[],
  acts: readonly Act[],
  { protocol = "chat", mode = "native", models = MODELS, token = {} }: {
    readonly protocol?: Protocol;
    readonly mode?: Mode;
    readonly models?: readonly Fields[];
    readonly token?: Fields;
  } = {},
): Promise<UsageScene> {
  return openUsageScene({
    connections: [connectionTo("one", { protocol, mode }, { models })],
    tokens: [tokenFile({ limits, ...token })],
  }, { one: acts });
}

/** Returns a good answer that names a model. */
function answering(model: string, act: Act = good): Act {
  return async (asked) => {
    const response = await act(asked);
    const text = await response.text();
    return new Response(text.replaceAll('"upstream"', JSON.stringify(model)), {
      headers: response.headers,
    });
  };
}

/** Requests the cheap model and lets the provider use the expensive one. */
function askBoth(
  scene: UsageScene,
  protocol: Protocol = "chat",
  fields: JsonObject = {},
): Promise<CallerResponse> {
  return scene.ask(protocol, { model: "cheap", models: ["dear-1"], ...fields });
}

function errorOf({ text }: CallerResponse): JsonObject {
  const body = parseJson(text);
  assert.ok(isJsonObject(body) && isJsonObject(body.error));
  return body.error;
}

/** Returns the requests and the cost by model in this hour. */
async function used(scene: UsageScene, token = ALICE_TOKEN) {
  const { windows: [hour] } = await scene.usage(token);
  assert.ok(hour !== undefined);
  return hour.data.map(({ model, requests, input_tokens, cost_usd }) => [
    model,
    requests,
    input_tokens,
    cost_usd,
  ]);
}

const CHEAP = ["cheap", 1, 3, 0.000005];
const DEAR = ["dear", 1, 3, 0.005];

/** The estimated tokens of one request before its answer, and a little more. */
const ONE_BODY: Readonly<Record<Protocol, number>> = {
  chat: 28,
  messages: 32,
  responses: 20,
};

/** Returns limits on the expensive model with room for one request. */
function limitsOfOne(protocol: Protocol): Readonly<Record<string, Fields>> {
  const dear = { window: "day", models: ["dear"] };
  return {
    requests: { ...dear, requests: 1 },
    tokens: { ...dear, tokens: ONE_BODY[protocol] },
    cost: { ...dear, cost: ONE_BODY[protocol] / 1000 },
  };
}

for (const protocol of PROTOCOLS) {
  for (const stream of [false, true]) {
    for (const [unit, limit] of Object.entries(limitsOfOne(protocol))) {
      Deno.test(`${protocol}${stream ? " stream" : ""}: a limit of ${unit} counts a model that serves for another model, then rejects bodies that name the serving model`, async () => {
        const scene = await openPair([limit], [answering("dear-1")], {
          protocol,
        });
        const first = await askBoth(scene, protocol, { stream });
        assert.equal(first.status, 200, first.text);
        assert.deepEqual(await used(scene), [DEAR]);
        assert.equal(first.line.model, "cheap");
        assert.equal(first.line.served_model, "dear");
        assert.equal(first.line.cost_usd, 0.005);
        const refused = await askBoth(scene, protocol, { stream });
        assert.equal(refused.status, 429);
        assert.match(String(errorOf(refused).message), / for dear and has/);
        assert.equal(scene.providers.asked.length, 1);
        const other = await scene.ask(protocol, { model: "cheap" });
        assert.equal(other.status, 200);
      });
    }
  }
}

for (const protocol of PROTOCOLS) {
  for (const stream of [false, true]) {
    Deno.test(`${protocol}${stream ? " stream" : ""}: a translated answer also counts for the model that it names`, async () => {
      const limits = [{ window: "day", requests: 1, models: ["dear"] }];
      const scene = await openPair(limits, [answering("dear-1")], {
        protocol,
        mode: "translated",
      });
      const received = await scene.ask(protocol, { model: "cheap", stream });
      assert.equal(received.status, 200, received.text);
      assert.equal(received.line.served_model, "dear");
      assert.deepEqual(await used(scene), [DEAR]);
      assert.equal((await scene.ask(protocol, { model: "dear" })).status, 429);
    });
  }
}

Deno.test("an answer counts for the model that it names if the connection has it, otherwise for the requested one", async (t) => {
  const models = [
    { id: "cheap", upstream: "lab/cheap-1:free", price: { input: 1 } },
    { id: "fast", upstream: "lab/dear-1", price: { input: 2 } },
    { id: "dear", upstream: "lab/dear-1", price: { input: 3 } },
    { id: "dated", upstream: "lab/cheap-1-2025-05-05", price: { input: 4 } },
    { id: "other", upstream: "other-200", price: { input: 5 } },
  ].map(({ price, ...model }) => ({
    ...model,
    price: { ...price, output: 1 },
  }));
  const cases: readonly (readonly [
    asked: string,
    answered: string,
    counted: string,
    named?: readonly string[],
  ])[] = [
    ["cheap", "lab/cheap-1:free", "cheap"],
    ["cheap", "lab/cheap-1", "cheap"],
    ["cheap", "cheap-1", "cheap"],
    // A date names the provider's version of the requested model, unless the body itself names that
    // version.
    ["cheap", "lab/cheap-1-2025-05-05", "cheap"],
    ["cheap", "lab/cheap-1-2025-05-05", "dated", ["lab/cheap-1-2025-05-05"]],
    ["cheap", "nobody-knows-it", "cheap"],
    ["cheap", "", "cheap"],
    ["cheap", "lab/dear-1", "fast"],
    ["cheap", "dear-1-20260101", "fast"],
    ["dear", "lab/dear-1", "dear"],
    ["dear", "dear-1", "dear"],
    ["other", "other-100", "other"],
    ["cheap", "other-200", "other"],
    // The provider does not know the callers' names of models.
    ["cheap", "dear", "cheap"],
  ];
  for (const [model, answered, counted, named] of cases) {
    await t.step(`${model}: ${answered || "no name"}`, async () => {
      const scene = await openPair([], [answering(answered)], { models });
      const body = named === undefined ? {} : { models: [...named] };
      const { line } = await scene.ask("chat", { model, ...body });
      const [[row] = []] = await used(scene);
      assert.equal(row, counted);
      assert.equal(line.served_model ?? line.model, counted);
    });
  }
});

Deno.test("a body's upstream name counts for the first model with this name that the token may use", async () => {
  const models = [
    ...MODELS,
    { id: "dear-too", upstream: "dear-1", price: { input: 1, output: 1 } },
  ];
  const limits = [{ window: "day", requests: 1, models: ["dear"] }];
  for (const [allowed, expected] of [["dear", 429], ["dear-too", 200]]) {
    const scene = await openPair(limits, [answering("dear-1")], {
      models,
      token: { models: ["cheap", allowed] },
    });
    for (const expectedStatus of [200, expected]) {
      assert.equal((await askBoth(scene)).status, expectedStatus);
    }
  }
});

Deno.test("a limit on a model rejects every body that allows the provider to use the model, in any field", async () => {
  const scene = await openPair(
    [
      { window: "day", requests: 1, models: ["dear"] },
    ],
    [answering("dear-1")],
    { protocol: "responses" },
  );
  await scene.ask("responses", { model: "dear" });
  const bodies: readonly JsonObject[] = [
    { models: ["dear-1"] },
    { fallbacks: [{ model: "dear-1" }] },
    { plugins: [{ id: "fusion", analysis_models: ["dear-1"] }] },
    {
      tools: [{ type: "openrouter:advisor", parameters: { model: "dear-1" } }],
    },
    { tools: [{ type: "image_generation", model: "dear-1" }] },
    { input: [{ type: "additional_tools", tools: [{ model: "dear-1" }] }] },
  ];
  for (const body of bodies) {
    const { status } = await scene.ask("responses", {
      model: "cheap",
      ...body,
    });
    assert.equal(status, 429, JSON.stringify(body));
  }
  assert.equal(scene.providers.asked.length, 1);
});

Deno.test("a limit on several models of a body counts the request once, and reserves the largest need", async () => {
  const both = ["cheap", "dear"];
  const scene = await openPair([
    { window: "day", requests: 2, models: both },
    { window: "day", cost: 1, models: both },
  ], [
    ({ signal }) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason))
      ),
  ]);
  const leaving = new AbortController();
  const request = new Request(
    scene.request("chat", { model: "cheap", models: ["dear-1"] }),
    { signal: leaving.signal },
  );
  const answer = scene.gateway.handler(request).catch(() => undefined);
  while (scene.providers.asked.length === 0) await nextTurn();
  const { limits: [requests, cost] } = await scene.usage();
  assert.equal(requests?.used, 1);
  // About a quarter of the body's characters as tokens, at the price of the expensive model.
  assert.ok((cost?.used ?? 0) > 0.01, `${cost?.used}`);
  leaving.abort();
  await scene.pass(answer);
});

Deno.test("a refusal names only the requested model among the models of its limit", async () => {
  const scene = await openPair(
    [
      { window: "day", requests: 9, models: ["cheap", "secret"] },
      { window: "day", requests: 1, models: ["secret", "dear", "more"] },
    ],
    [answering("dear-1")],
    {
      models: [...MODELS, { id: "secret" }, { id: "more" }],
      token: { models: ["cheap", "dear"] },
    },
  );
  assert.equal((await askBoth(scene)).status, 200);
  const { message } = errorOf(await askBoth(scene));
  assert.match(
    String(message),
    /1 request per day for dear and 2 more and has/,
  );
});

Deno.test("a warning names the model whose limit is nearly used up", async () => {
  const scene = await openPair([
    { window: "day", requests: 1, models: ["dear"] },
  ], [answering("cheap-1")]);
  const { headers } = await askBoth(scene);
  assert.match(
    headers.get("x-gateway-limit-warning") ?? "",
    /^100 % used of 1 request per day for dear,/,
  );
  assert.deepEqual(await used(scene), [CHEAP]);
  assert.equal((await askBoth(scene)).status, 200);
});

Deno.test("the limits of a group count a model that served for another one, for every member", async () => {
  const bob = { name: "bob", sha256: sha256Hex("mg_bob"), group: "team" };
  const scene = await openUsageScene({
    connections: [
      connectionTo("one", { protocol: "chat", mode: "native" }, {
        models: MODELS,
      }),
    ],
    groups: { team: { limits: [limitsOfOne("chat").requests] } },
    tokens: [tokenFile({ group: "team" }), tokenFile(bob)],
  }, { one: [answering("dear-1")] });
  await askBoth(scene);
  const { limits: [limit] } = await scene.usage("mg_bob");
  assert.equal(limit?.used, 1);
  assert.deepEqual(await used(scene, "mg_bob"), []);
});

Deno.test("a failed answer counts for the requested model, a broken answer for the model that it named", async () => {
  const failed = await openPair([], [status(400)]);
  await askBoth(failed);
  assert.deepEqual(await used(failed), [["cheap", 1, 0, null]]);
  const broken = await openPair([], [
    answering(
      "dear-1",
      ({ wire: { start, output } }) =>
        new Response(start + output, { headers: SSE_HEADERS }),
    ),
  ]);
  await askBoth(broken, "chat", { stream: true });
  const [row] = await used(broken);
  assert.equal(row?.[0], "dear");
});

Deno.test("a fallback of the gateway also counts for the model that its provider names", async () => {
  const scene = await openUsageScene({
    connections: [
      connectionTo("one", { protocol: "chat", mode: "native" }, {
        models: [{ ...MODELS[0], fallbacks: ["stand-in"] }],
      }),
      connectionTo("two", { protocol: "chat", mode: "native" }, {
        models: [{ id: "stand-in", upstream: "s-1" }, {
          id: "cheap",
          upstream: "cheap-1",
        }],
      }),
    ],
  }, { one: [status(500)], two: [status(500), answering("cheap-1")] });
  const { line } = await scene.ask("chat", { model: "cheap" });
  const { windows: [hour] } = await scene.usage();
  assert.deepEqual(
    hour?.data.map(({ connection, model }) => [connection, model]),
    [["two", "cheap"]],
  );
  assert.equal(line.connection, "two");
});

Deno.test("an answer whose caller disconnects counts for the model that it has named so far", async (t) => {
  const models = MODELS;
  const acts: Readonly<Record<string, { act: Act; stream: boolean }>> = {
    "a stream": {
      stream: true,
      act: streamOf(({ start, output }) => [
        start.replaceAll('"upstream"', '"dear-1"') +
        output.replaceAll('"upstream"', '"dear-1"'),
      ], "stall"),
    },
    "a body": {
      stream: false,
      act: (asked) => {
        const { body } = streamOf(({ answer }) => [
          JSON.stringify({ ...answer, model: "dear-1" }).slice(0, -10),
        ], "stall")(asked) as Response;
        return new Response(body, {
          headers: { "content-type": "application/json" },
        });
      },
    },
  };
  await steps(t, Object.entries(acts), async ([, { act, stream }]) => {
    const scene = await openPair([], [act], { models });
    const answer = await scene.pass(
      scene.gateway.handler(
        scene.request("chat", { model: "cheap", models: ["dear-1"], stream }),
      ),
    );
    const reader = answer.body?.getReader();
    assert.ok(reader !== undefined);
    await scene.pass(reader.read());
    await reader.cancel();
    const line = await scene.lines.of(answer);
    assert.equal(line.ended, "client_abort");
    assert.equal(line.served_model, "dear");
  });
});

/** Additional counts of an answer: an advisor's and a compaction's. */
const ITERATIONS: JsonObject = {
  iterations: [
    { type: "message", input_tokens: 3, output_tokens: 2 },
    {
      type: "advisor_message",
      model: "dear-1",
      input_tokens: 10,
      output_tokens: 5,
    },
    {
      type: "advisor_message",
      model: "dear-1-20260101",
      input_tokens: 1,
      cache_read_input_tokens: 4,
      output_tokens: 1,
    },
    { type: "compaction", input_tokens: 20, output_tokens: 7 },
    {
      type: "advisor_message",
      model: "nobody",
      input_tokens: 100,
      output_tokens: 0,
    },
  ],
};

/** Returns a good answer with additional fields in its usage. */
function counting(fields: JsonObject): Act {
  const more = JSON.stringify(fields).slice(1, -1);
  return async (asked) => {
    const response = good(asked);
    const text = await response.text();
    return new Response(text.replaceAll('"usage":{', `"usage":{${more},`), {
      headers: response.headers,
    });
  };
}

for (const stream of [false, true]) {
  Deno.test(`messages${stream ? " stream" : ""}: an advisor's tokens count for the advisor's model, a compaction's tokens for the serving model`, async () => {
    const scene = await openPair(
      [
        { window: "day", tokens: 50, models: ["dear"] },
      ],
      [counting(ITERATIONS)],
      { protocol: "messages" },
    );
    const tools = [{ type: "advisor_20260301", model: "dear-1" }];
    const received = await scene.ask("messages", {
      model: "cheap",
      tools,
      stream,
    });
    assert.equal(received.status, 200, received.text);
    const { windows: [hour], limits: [limit] } = await scene.usage();
    const [cheap, dear] = hour?.data ?? [];
    assert.deepEqual(
      [
        cheap?.model,
        cheap?.requests,
        cheap?.input_tokens,
        cheap?.output_tokens,
      ],
      ["cheap", 1, 123, 9],
    );
    assert.deepEqual(
      [dear?.model, dear?.requests, dear?.input_tokens, dear?.output_tokens],
      ["dear", 0, 15, 6],
    );
    assert.equal(dear?.cached_input_tokens, 4);
    assert.equal(dear?.cost_usd, 0.021);
    assert.equal(hour?.total.requests, 1);
    assert.equal(limit?.used, 21);
    assert.equal(received.line.served_model, undefined);
    assert.equal(received.line.cost_usd, 0.021132);
    const read = readLogLine(JSON.stringify(received.line));
    assert.ok(typeof read === "object");
    assert.deepEqual(
      [read, ...read.others].map((use) => [
        use.model,
        use.inputTokens,
        use.outputTokens,
        use.costUsd,
      ]),
      [["cheap", 123, 9, 0.000132], ["dear", 15, 6, 0.021]],
    );
    const refused = await scene.ask("messages", { model: "cheap", tools });
    assert.equal(refused.status, 429);
  });
}

for (const stream of [false, true]) {
  Deno.test(`messages${stream ? " stream" : ""}: a fallback at the provider counts for the model that served in the end`, async () => {
    const scene = await openPair([], [
      counting({
        iterations: [
          { type: "message", input_tokens: 3, output_tokens: 0 },
          { type: "fallback_message", model: "dear-1", input_tokens: 3 },
        ],
      }),
    ], { protocol: "messages" });
    const fallbacks = [{ model: "dear-1" }];
    await scene.ask("messages", { model: "cheap", fallbacks, stream });
    assert.deepEqual(await used(scene), [DEAR]);
  });
}

Deno.test("messages stream: an answer whose caller disconnects after a fallback counts for the fallback's model", async () => {
  const block = { type: "fallback", to: { model: "dear-1" } };
  const event = { type: "content_block_start", index: 1, content_block: block };
  const scene = await openPair([], [
    streamOf(({ start, output }) => [
      `${start}${output}event: ${event.type}\ndata: ${
        JSON.stringify(event)
      }\n\n`,
    ], "stall"),
  ], { protocol: "messages" });
  const body = {
    model: "cheap",
    fallbacks: [{ model: "dear-1" }],
    stream: true,
  };
  const answer = await scene.pass(
    scene.gateway.handler(scene.request("messages", body)),
  );
  const reader = answer.body?.getReader();
  assert.ok(reader !== undefined);
  await scene.pass(reader.read());
  await reader.cancel();
  assert.equal((await scene.lines.of(answer)).served_model, "dear");
});

Deno.test("the counts read back from the log equal the live counts, for every served model", async () => {
  const scene = await openPair([], [answering("dear-1")]);
  const { line } = await askBoth(scene);
  const read = readLogLine(JSON.stringify(line));
  assert.ok(typeof read === "object");
  assert.deepEqual(await used(scene), [
    [read.model, 1, read.inputTokens, read.costUsd],
  ]);
});
