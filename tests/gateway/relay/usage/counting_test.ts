import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import type { UsedAmounts } from "../../../../src/gateway/usage/window_usage.ts";
import { readLogLine } from "../../../../src/gateway/observe/logged_request.ts";
import { sha256Hex } from "../../../../src/base/sha256.ts";
import { tokenFile } from "../../../support/gateway/config.ts";
import { connectionTo } from "../../../support/gateway/failover_scene.ts";
import {
  oneConnection,
  openUsageScene,
  PRICE,
  type UsageScene,
} from "../../../support/gateway/usage_scene.ts";
import {
  type Act,
  good,
  status,
  streamOf,
} from "../../../support/upstream/bad_provider.ts";
import { JSON_HEADERS, piecewise } from "../../../support/wire/answers.ts";
import { PROTOCOLS } from "../../../support/wire/ask.ts";
import { WORDS } from "../../../support/wire/wire.ts";
import { steps } from "../../../support/steps.ts";

/** The usage of one answer of the scripted providers. */
const ONE: UsedAmounts = {
  requests: 1,
  input_tokens: 3,
  cached_input_tokens: 0,
  cache_write_tokens: 0,
  output_tokens: 2,
  reasoning_tokens: 0,
  cost_usd: 0.000022,
  unpriced_requests: 0,
  estimated_requests: 0,
};

const NONE: UsedAmounts = {
  ...ONE,
  requests: 0,
  input_tokens: 0,
  output_tokens: 0,
  cost_usd: null,
};

async function totals(scene: UsageScene): Promise<readonly UsedAmounts[]> {
  const { windows } = await scene.usage();
  return windows.map(({ total }) => total);
}

async function totalOfHour(scene: UsageScene): Promise<UsedAmounts> {
  const [hour] = await totals(scene);
  assert.ok(hour !== undefined);
  return hour;
}

Deno.test("a request counts in every calendar window in which it ended", async () => {
  const scene = await openUsageScene();
  await scene.ask("chat");
  const { windows, since, token } = await scene.usage();
  assert.equal(token, "alice");
  assert.equal(since, "2026-01-01T00:00:00.000Z");
  assert.deepEqual(
    windows.map(({ window, starts_at, resets_at, complete }) => [
      window,
      starts_at.slice(0, 16),
      resets_at.slice(0, 16),
      complete,
    ]),
    [
      ["hour", "2026-01-01T00:00", "2026-01-01T01:00", true],
      ["day", "2026-01-01T00:00", "2026-01-02T00:00", true],
      ["week", "2025-12-29T00:00", "2026-01-05T00:00", false],
      ["month", "2026-01-01T00:00", "2026-02-01T00:00", true],
    ],
  );
  for (const { total, data } of windows) {
    assert.deepEqual(total, ONE);
    assert.deepEqual(data, [{ connection: "one", model: "model-1", ...ONE }]);
  }
});

Deno.test("counts restart with each window, and stay in longer windows", async () => {
  const scene = await openUsageScene();
  await scene.ask("chat");
  scene.timers.advance(3_600_000);
  assert.deepEqual(await totals(scene), [NONE, ONE, ONE, ONE]);
  scene.timers.advance(86_400_000);
  assert.deepEqual(await totals(scene), [NONE, NONE, ONE, ONE]);
  scene.timers.advance(7 * 86_400_000);
  assert.deepEqual(await totals(scene), [NONE, NONE, NONE, ONE]);
});

Deno.test("requests are counted by connection and serving model, and in total", async () => {
  const scene = await openUsageScene({
    connections: [
      oneConnection({ models: [{ id: "model-1", fallbacks: ["model-2"] }] }),
      connectionTo("two", { protocol: "chat", mode: "native" }, {
        models: [{ id: "model-2", price: PRICE }],
      }),
    ],
  }, { one: [good, status(500), status(500)], two: [good] });
  await scene.ask("chat");
  await scene.ask("chat");
  const { windows: [hour] } = await scene.usage();
  assert.deepEqual(hour?.data, [
    {
      connection: "one",
      model: "model-1",
      ...ONE,
      cost_usd: null,
      unpriced_requests: 1,
    },
    { connection: "two", model: "model-2", ...ONE },
  ]);
  assert.deepEqual(hour?.total, {
    ...ONE,
    requests: 2,
    input_tokens: 6,
    output_tokens: 4,
    unpriced_requests: 1,
  });
});

Deno.test("each token sees only its own usage", async () => {
  const scene = await openUsageScene({
    tokens: [
      tokenFile(),
      tokenFile({ name: "bob", sha256: sha256Hex("mg_bob") }),
    ],
  });
  await scene.ask("chat");
  const bobs = await scene.usage("mg_bob");
  assert.equal(bobs.token, "bob");
  assert.deepEqual(bobs.windows.map(({ total }) => total.requests), [
    0,
    0,
    0,
    0,
  ]);
});

for (const mode of ["native", "translated"] as const) {
  for (const protocol of PROTOCOLS) {
    const one = (scripts: readonly Act[]) =>
      openUsageScene({
        connections: [
          connectionTo("one", { protocol, mode }, {
            models: [{ id: "model-1", price: PRICE }],
          }),
        ],
      }, { one: scripts });

    Deno.test(`${protocol}, ${mode}: a complete answer has the provider's counts, as JSON and as a stream`, async () => {
      const scene = await one([good]);
      const { line } = await scene.ask(protocol);
      assert.equal(line.cost_usd, 0.000022);
      await scene.ask(protocol, { stream: true });
      const total = await totalOfHour(scene);
      assert.equal(total.requests, 2);
      assert.equal(total.estimated_requests, 0);
    });

    Deno.test(`${protocol}, ${mode}: a cut stream counts its text, marked as estimated`, async () => {
      const words = 40;
      const cut = streamOf(({ start, output }) => [
        start,
        output.repeat(words),
      ], "break");
      const scene = await one([cut]);
      const { line } = await scene.ask(protocol, { stream: true });
      const { usage } = line;
      assert.ok(typeof usage === "object" && usage !== null);
      assert.equal(Reflect.get(usage, "estimated"), true);
      const total = await totalOfHour(scene);
      assert.equal(total.estimated_requests, 1);
      const expected = WORDS.length * words / 4;
      assert.ok(
        Math.abs(total.output_tokens - expected) <= expected / 10,
        String(total.output_tokens),
      );
      assert.ok(total.input_tokens > 0 && total.input_tokens < 60);
      assert.ok((total.cost_usd ?? 0) > 0);
    });

    Deno.test(`${protocol}, ${mode}: an error of the provider counts as a request and no tokens`, async () => {
      const scene = await one([status(400)]);
      const { line } = await scene.ask(protocol);
      assert.equal(line.usage, undefined);
      assert.deepEqual(await totalOfHour(scene), { ...NONE, requests: 1 });
    });
  }
}

Deno.test("the cost leaves out requests to models without a price, and their number is reported", async () => {
  const models = [{ id: "priced", price: PRICE }, "free"];
  const connections = [
    connectionTo("one", { protocol: "chat", mode: "native" }, { models }),
  ];
  const scene = await openUsageScene({ connections });
  for (const model of ["priced", "free", "free"]) {
    await scene.ask("chat", { model });
  }
  const total = await totalOfHour(scene);
  assert.equal(total.cost_usd, ONE.cost_usd);
  assert.equal(total.unpriced_requests, 2);
  const { history } = await scene.usage();
  assert.equal(history.at(-1)?.unpriced_requests, 2);
});

Deno.test("an answer without usage counts its text, marked as estimated", async () => {
  const withoutUsage = streamOf(({ start, output }) => [
    start,
    output,
    output,
    `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n`,
    "data: [DONE]\n\n",
  ], "end");
  const scene = await openUsageScene({}, { one: [withoutUsage] });
  const { line } = await scene.ask("chat", { stream: true });
  assert.equal(line.ended, "complete");
  const total = await totalOfHour(scene);
  assert.equal(total.output_tokens, Math.ceil(2 * WORDS.length / 4));
  assert.equal(total.estimated_requests, 1);
});

Deno.test("a native answer that contains an error counts its reported usage once, even after several attempts", async () => {
  for (
    const [type, isDeclared, attempts] of [
      ["server_error", true, 3],
      ["server_error", false, 1],
      ["invalid_request_error", true, 1],
      ["invalid_request_error", false, 1],
    ] as const
  ) {
    const failed: Act = ({ wire }) => {
      const error = { type, message: "Cannot go on" };
      const bytes = new TextEncoder().encode(
        JSON.stringify({ error, ...wire.answer }),
      );
      return isDeclared
        ? new Response(bytes, {
          headers: { ...JSON_HEADERS, "content-length": `${bytes.length}` },
        })
        : piecewise([bytes.slice(0, 90), bytes.slice(90)], JSON_HEADERS);
    };
    const scene = await openUsageScene({}, { one: [failed] });
    const { line, status } = await scene.ask("chat", { stream: false });
    assert.equal(status, 200);
    assert.equal(scene.providers.asked.length, attempts);
    assert.deepEqual(line.usage, { input_tokens: 3, output_tokens: 2 });
    assert.deepEqual(await totalOfHour(scene), ONE);
  }
});

Deno.test("a Messages stream that is cut counts the input tokens of its first event", async () => {
  const cut = streamOf(({ start, output }) => [start, output], "break");
  const scene = await openUsageScene({
    connections: [
      connectionTo("one", { protocol: "messages", mode: "native" }),
    ],
  }, { one: [cut] });
  await scene.ask("messages", { stream: true });
  assert.equal((await totalOfHour(scene)).input_tokens, 3);
});

Deno.test("a request that reached no provider counts nothing", async () => {
  const scene = await openUsageScene();
  await scene.ask("chat", { model: "nobody-has-it" });
  assert.deepEqual(await totalOfHour(scene), NONE);
  const translated = await openUsageScene({
    connections: [
      connectionTo("one", { protocol: "chat", mode: "translated" }),
    ],
  });
  const { line } = await translated.ask("chat", { n: 2 });
  assert.equal(line.failure, "untranslatable");
  assert.equal(readLogLine(JSON.stringify(line)), "other");
  assert.deepEqual(await totalOfHour(translated), NONE);
});

Deno.test("a request counts for its failed fallback, even if the caller gets the first connection's error", async () => {
  const limited = status(429, { headers: { "retry-after": "600" } });
  const scene = await openUsageScene({
    connections: [
      connectionTo("one", { protocol: "chat", mode: "translated" }, {
        models: [{ id: "model-1", fallbacks: ["model-2"] }],
      }),
      connectionTo("two", { protocol: "chat", mode: "native" }, {
        models: ["model-2"],
      }),
    ],
  }, { two: [limited] });
  const { line, status: received } = await scene.ask("chat", { n: 2 });
  assert.equal(received, 400);
  assert.equal(line.failure, "untranslatable");
  assert.deepEqual(scene.providers.hosts(), ["two"]);
  const { windows: [hour] } = await scene.usage();
  assert.deepEqual(
    hour?.data.map(({ connection, model }) => [connection, model]),
    [["two", "model-2"]],
  );
  assert.deepEqual([line.connection, line.served_model], ["two", "model-2"]);
});

Deno.test("counting tokens does not count as usage", async () => {
  const scene = await openUsageScene({
    connections: [
      connectionTo("one", { protocol: "messages", mode: "native" }),
    ],
    tokens: [tokenFile({ limits: [{ window: "day", requests: 1 }] })],
  }, { one: [() => Response.json({ input_tokens: 7 })] });
  const request = () => {
    const { headers, body } = scene.request("messages");
    return new Request("http://gateway/v1/messages/count_tokens", {
      method: "POST",
      headers,
      body,
      ...{ duplex: "half" },
    });
  };
  for (let count = 0; count < 3; count++) {
    const response = await scene.pass(scene.gateway.handler(request()));
    assert.equal(response.status, 200);
    await scene.pass(response.text());
  }
  assert.deepEqual(await totalOfHour(scene), NONE);
});

Deno.test("a reload keeps the counts of a token, and a renamed token starts at zero", async () => {
  const scene = await openUsageScene();
  await scene.ask("chat");
  await scene.reload({ tokens: [tokenFile({ max_concurrent: 3 })] });
  assert.equal((await totalOfHour(scene)).requests, 1);
  await scene.reload({ tokens: [tokenFile({ name: "alice-2" })] });
  assert.equal((await totalOfHour(scene)).requests, 0);
});

Deno.test("GET /usage rejects a query, and forbids caching", async () => {
  const scene = await openUsageScene();
  const get = (path: string) =>
    scene.pass(scene.gateway.handler(
      new Request(`http://gateway${path}`, {
        headers: { authorization: "Bearer mg_alice" },
      }),
    ));
  for (const prefix of ["/v1", "/api/v1"]) {
    const response = await get(`${prefix}/usage`);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.equal((await get(`${prefix}/usage?window=day`)).status, 400);
  }
});

/** Returns the counts of one answer with this usage. */
async function countedFrom(usage: JsonObject): Promise<UsedAmounts> {
  const scene = await openUsageScene({}, {
    one: [({ wire }) => Response.json({ ...wire.answer, usage })],
  });
  await scene.ask("chat");
  return await totalOfHour(scene);
}

Deno.test("implausible token counts of a provider are reduced to plausible ones", async (t) => {
  const cases: Readonly<
    Record<string, readonly [JsonObject, Partial<UsedAmounts>]>
  > = {
    "parts that exceed the whole": [{
      prompt_tokens: 10,
      completion_tokens: 3,
      prompt_tokens_details: { cached_tokens: 8, cache_write_tokens: 77 },
      completion_tokens_details: { reasoning_tokens: 99 },
    }, {
      input_tokens: 10,
      cached_input_tokens: 8,
      cache_write_tokens: 2,
      output_tokens: 3,
      reasoning_tokens: 3,
    }],
    "numbers beyond all bounds": [{
      prompt_tokens: 1e308,
      completion_tokens: 1e308,
    }, { input_tokens: 1e9, output_tokens: 1e9 }],
    "halves": [{ prompt_tokens: 1.5, completion_tokens: 2.4 }, {
      input_tokens: 2,
      output_tokens: 2,
    }],
  };
  await steps(t, Object.entries(cases), async ([, [usage, expected]]) => {
    const { cost_usd: _cost, ...counted } = await countedFrom(usage);
    const { cost_usd: _one, ...one } = ONE;
    assert.deepEqual(counted, { ...one, ...expected });
  });
});

Deno.test("callers receive token counts as integers", async () => {
  const scene = await openUsageScene({
    connections: [
      connectionTo("one", { protocol: "messages", mode: "translated" }),
    ],
  }, {
    one: [({ wire }) =>
      Response.json({
        ...wire.answer,
        usage: { prompt_tokens: 1.5, completion_tokens: 1e300 },
      })],
  });
  const { text, line } = await scene.ask("messages");
  const { usage } = JSON.parse(text);
  assert.equal(usage.input_tokens, 2);
  assert.equal(usage.output_tokens, 1e9);
  assert.deepEqual(line.usage, { input_tokens: 2, output_tokens: 1e9 });
});
