import assert from "node:assert/strict";
import { sha256Hex } from "../../../../src/base/sha256.ts";
import type { UsageReport } from "../../../../src/gateway/usage/report.ts";
import {
  ALICE_TOKEN,
  NOW_MS,
  tokenFile,
} from "../../../support/gateway/config.ts";
import {
  type CallerResponse,
  connectionTo,
} from "../../../support/gateway/failover_scene.ts";
import {
  limited,
  oneConnection,
  openUsageScene,
  type UsageScene,
} from "../../../support/gateway/usage_scene.ts";
import {
  type Act,
  good,
  silent,
  status,
} from "../../../support/upstream/bad_provider.ts";
import { sessionHolder } from "../../../../src/gateway/usage/tables.ts";
import { PROTOCOLS } from "../../../support/wire/ask.ts";
import { openAnswer } from "../../../support/wire/answers.ts";

type LimitUsage = UsageReport["limits"][number];

const MINUTE_MS = 60_000;

/** Returns the one limit of a token from `GET /usage`. */
async function limitOf(
  scene: UsageScene,
  token = ALICE_TOKEN,
): Promise<LimitUsage> {
  const { limits } = await scene.usage(token);
  const [only, ...more] = limits;
  assert.ok(only !== undefined && more.length === 0);
  return only;
}

function errorOf({ text }: CallerResponse): Record<string, unknown> {
  const { error } = JSON.parse(text);
  return error;
}

/**
 * Returns true when Qwen Code takes the message for an exhausted quota, after which it does not
 * retry
 * (https://github.com/QwenLM/qwen-code/blob/main/packages/core/src/utils/quotaErrorDetection.ts).
 */
function stopsQwenCode(text: string): boolean {
  return /quota/i.test(text) && /exhausted|exceeded/i.test(text) &&
    /will reset|reset at/i.test(text);
}

/** Returns the reset time that the caller receives, in seconds since 1970. */
function resetOf({ headers, atMs }: CallerResponse): number {
  return Math.ceil((NOW_MS + atMs) / 1000) +
    Number(headers.get("retry-after"));
}

/** Returns the entry of a token `mg_NAME`. */
function tokenOf(name: string, overrides: Record<string, unknown> = {}) {
  return tokenFile({ name, sha256: sha256Hex(`mg_${name}`), ...overrides });
}

/** Sends a request with the token `mg_NAME`, and returns the status of the response. */
async function askAs(name: string, scene: UsageScene): Promise<number> {
  const request = scene.request("chat");
  request.headers.set("authorization", `Bearer mg_${name}`);
  const response = await scene.pass(scene.gateway.handler(request));
  await scene.pass(response.text());
  return response.status;
}

Deno.test("a token at its limit of requests is rejected until the window resets", async () => {
  const scene = await openUsageScene(
    limited({ window: "minute", requests: 2 }),
  );
  for (let count = 0; count < 2; count++) {
    assert.equal((await scene.ask("chat")).status, 200);
  }
  scene.timers.advance(15_000);
  const refused = await scene.ask("chat");
  assert.equal(refused.status, 429);
  assert.deepEqual(errorOf(refused), {
    message:
      "Cannot take the request: this token may use 2 requests per minute and has used 2. The limit resets at 2026-01-01 00:01 UTC. See your limits at http://gateway/ or with model-gateway usage.",
    type: "rate_limit_error",
    param: null,
    code: "token_limit_exceeded",
  });
  assert.equal(refused.headers.get("retry-after"), "45");
  assert.equal(refused.headers.get("retry-after-ms"), null);
  assert.equal(refused.headers.get("x-should-retry"), null);
  assert.equal(refused.headers.get("x-codex-promo-message"), null);
  assert.ok(!stopsQwenCode(refused.text), refused.text);
  assert.equal(refused.line.error, "token_limit_exceeded");
  scene.timers.advance(45_000);
  assert.equal((await scene.ask("chat")).status, 200);
  assert.equal(scene.providers.asked.length, 3);
});

Deno.test("a refusal links to the page at the caller's address, and ignores an invalid host header", async () => {
  const scene = await openUsageScene(limited({ window: "day", requests: 1 }));
  await scene.ask("chat");
  const pages: readonly [Record<string, string>, string][] = [
    [
      { host: "models.example", "x-forwarded-proto": "https" },
      "See your limits at https://models.example/ or with model-gateway usage",
    ],
    [
      { host: "gateway", "x-forwarded-host": "evil.example/login?x=" },
      "See your limits on the gateway's page or with model-gateway usage",
    ],
    [
      { "x-forwarded-proto": "javascript" },
      "See your limits on the gateway's page or with model-gateway usage",
    ],
  ];
  for (const [headers, words] of pages) {
    const request = scene.request("chat");
    for (const [name, value] of Object.entries(headers)) {
      request.headers.set(name, value);
    }
    const response = await scene.pass(scene.gateway.handler(request));
    const { error } = await scene.pass(response.json());
    assert.ok(error.message.endsWith(` ${words}.`), error.message);
    // Codex shows this text instead of the message.
    assert.equal(response.headers.get("x-codex-promo-message"), words);
  }
});

Deno.test("a wait of more than a minute forbids a retry", async () => {
  const scene = await openUsageScene(limited({ window: "day", requests: 1 }));
  await scene.ask("chat");
  scene.timers.advance(MINUTE_MS);
  const refused = await scene.ask("chat");
  assert.equal(refused.headers.get("retry-after"), String(86_400 - 60));
  assert.equal(refused.headers.get("x-should-retry"), "false");
  // opencode waits for this time, and uses retry-after only without it.
  assert.equal(refused.headers.get("retry-after-ms"), "1000");
  assert.ok(stopsQwenCode(refused.text), refused.text);
});

Deno.test("a Chat Completions error has the code that stops clients, unless the limit resets within a minute", async () => {
  for (
    const [window, code, type] of [
      // Kimi Code and LangChain stop at this code. Kimi Code silently waits for any other `retry-after`.
      ["day", "insufficient_quota", "token_limit_exceeded"],
      ["minute", "token_limit_exceeded", "rate_limit_error"],
    ] as const
  ) {
    const scene = await openUsageScene(limited({ window, requests: 1 }));
    await scene.ask("chat");
    const refused = await scene.ask("chat");
    const error = errorOf(refused);
    assert.deepEqual([error.code, error.type], [code, type]);
    assert.equal(refused.line.error, "token_limit_exceeded");
  }
});

const TYPES_OF_USED_UP = {
  chat: "token_limit_exceeded",
  responses: "usage_limit_reached",
  messages: "rate_limit_error",
} as const;

for (const protocol of PROTOCOLS) {
  Deno.test(`${protocol}: a refusal is an error of that protocol with its code`, async () => {
    const scene = await openUsageScene({
      ...limited({ window: "hour", requests: 1 }),
      connections: [connectionTo("one", { protocol, mode: "translated" })],
    });
    await scene.ask(protocol);
    const refused = await scene.ask(protocol);
    assert.equal(refused.status, 429);
    const error = errorOf(refused);
    // Codex retries every other 429.
    assert.equal(error.type, TYPES_OF_USED_UP[protocol]);
    assert.equal(
      error.resets_at,
      protocol === "responses" ? resetOf(refused) : undefined,
    );
    assert.deepEqual(
      protocol === "messages" ? error.details : error.code,
      protocol === "messages"
        ? { error_code: "token_limit_exceeded" }
        : protocol === "chat"
        ? "insufficient_quota"
        : "token_limit_exceeded",
    );
  });
}

Deno.test("token and cost limits count the provider's final numbers, not the estimate", async () => {
  for (
    const [limit, used, unit] of [
      [{ tokens: 1000 }, 10, "tokens"],
      [{ cost: 1 }, 0.000044, "USD"],
    ] as const
  ) {
    const scene = await openUsageScene(limited({ window: "day", ...limit }));
    await scene.ask("chat");
    await scene.ask("chat", { stream: true });
    const reported = await limitOf(scene);
    assert.equal(reported.used, used);
    assert.equal(reported.unit, unit);
    assert.equal(reported.remaining, reported.limit - used);
    assert.equal(reported.resets_at, "2026-01-02T00:00:00.000Z");
  }
});

Deno.test("a background answer is rejected for tokens with a limit on tokens or cost", async () => {
  const deferring = { chat: "deferred", responses: "background" } as const;
  for (const protocol of ["chat", "responses"] as const) {
    const connections = [
      connectionTo("one", { protocol, mode: "native" }, {
        models: [{ id: "model-1", price: { input: 1, output: 1 } }],
      }),
    ];
    const field = deferring[protocol];
    const cases = [
      [[{ window: "day", tokens: 1000 }], 400],
      [[{ window: "day", cost: 1 }], 400],
      [[{ window: "day", requests: 5 }], 200],
      [[], 200],
    ] as const;
    for (const [limits, expected] of cases) {
      const scene = await openUsageScene({
        connections,
        ...limited(...limits),
      });
      const received = await scene.ask(protocol, { [field]: true });
      assert.equal(received.status, expected, received.text);
      if (expected === 400) assert.equal(errorOf(received).param, field);
      const awaited = await scene.ask(protocol, { [field]: false });
      assert.equal(awaited.status, 200);
    }
  }
});

Deno.test("a request is rejected only if it is larger than the rest of the limit", async () => {
  const scene = await openUsageScene(limited({ window: "day", tokens: 40 }));
  const long = { messages: [{ role: "user", content: "word ".repeat(200) }] };
  const refused = await scene.ask("chat", long);
  assert.equal(refused.status, 429);
  assert.match(
    String(errorOf(refused).message),
    /may use 40 tokens per day and has used 0; the request needs about 2\d\d, more than the limit of a whole window: send a smaller request\./,
  );
  assert.equal((await scene.ask("chat")).status, 200);
});

Deno.test("concurrent requests never exceed a limit together", async () => {
  const scene = await openUsageScene(limited({ window: "hour", requests: 3 }));
  const received = await Promise.all(
    Array.from({ length: 8 }, () => scene.ask("chat")),
  );
  const served = received.filter(({ status }) => status === 200);
  assert.equal(served.length, 3);
  assert.equal(scene.providers.asked.length, 3);
});

Deno.test("a running request reserves tokens, and counts only the sent text if its caller disconnects", async () => {
  const answer = openAnswer();
  const scene = await openUsageScene(
    limited({ window: "hour", tokens: 50 }),
    { one: [() => answer.response, good] },
  );
  const running = scene.gateway.handler(
    scene.request("chat", { stream: true, max_tokens: 7 }),
  );
  answer.write(
    'data: {"choices":[{"index":0,"delta":{"content":"Hello"}}]}\n\n',
  );
  const response = await scene.pass(running);
  const reserved = (await limitOf(scene)).used;
  assert.ok(reserved !== null && reserved > 10, String(reserved));
  const reader = response.body?.getReader();
  assert.ok(reader !== undefined);
  await scene.pass(reader.read());
  await scene.pass(reader.cancel());
  await scene.lines.of(response);
  const settled = (await limitOf(scene)).used;
  // The estimated input, and two tokens for five characters.
  assert.equal(settled, reserved - 7 + 2);
});

/** Answers with this many output tokens. */
function longAnswer(outputTokens: number): Act {
  return async (asked) => {
    const answer = await (await good(asked)).json();
    const usage = { prompt_tokens: 3, completion_tokens: outputTokens };
    return Response.json({ ...answer, usage });
  };
}

/** The bound of the output in each protocol, on a request for a native connection. */
const OUTPUT_BOUNDS = [
  ["chat", { max_tokens: 500 }],
  ["chat", { max_completion_tokens: 250, n: 2 }],
  ["messages", { max_tokens: 500 }],
  ["responses", { max_output_tokens: 500 }],
] as const;

Deno.test("parallel requests reserve their allowed output, and one without room gets a short retry time", async () => {
  for (const [protocol, bound] of OUTPUT_BOUNDS) {
    const scene = await openUsageScene({
      connections: [connectionTo("one", { protocol, mode: "native" })],
      ...limited({ window: "day", tokens: 1200 }),
    });
    const received = await Promise.all(
      Array.from({ length: 10 }, () => scene.ask(protocol, bound)),
    );
    const served = received.filter(({ status }) => status === 200);
    assert.equal(served.length, 2, protocol);
    const [refused] = received.filter(({ status }) => status === 429);
    assert.ok(refused);
    assert.equal(refused.headers.get("retry-after"), "5");
    assert.equal(refused.headers.get("x-should-retry"), null);
    assert.match(String(errorOf(refused).message), /Running requests hold/);
    assert.equal((await scene.ask(protocol, bound)).status, 200);
  }
});

Deno.test("ten parallel requests with unbounded answers exceed a limit by one answer at most", async () => {
  for (const fields of [{}, { max_tokens: 32_000 }]) {
    const scene = await openUsageScene(
      limited({ window: "day", tokens: 1000 }),
      { one: [longAnswer(500)] },
    );
    for (let round = 0; round < 5; round++) {
      await Promise.all(
        Array.from({ length: 10 }, () => scene.ask("chat", fields)),
      );
    }
    const { used } = await limitOf(scene);
    assert.ok(used !== null && used >= 1000 && used < 1510, String(used));
  }
});

Deno.test("a token with short answers may send more requests at once", async () => {
  const scene = await openUsageScene(
    limited({ window: "day", tokens: 20_000 }),
  );
  const servedAtOnce = async () => {
    const received = await Promise.all(
      Array.from({ length: 10 }, () => scene.ask("chat")),
    );
    return received.filter(({ status }) => status === 200).length;
  };
  assert.equal(await servedAtOnce(), 4);
  for (let count = 0; count < 10; count++) await scene.ask("chat");
  assert.equal(await servedAtOnce(), 10);
});

Deno.test("a model's maximum output limits the reservation", async () => {
  const models = [{ id: "model-1", max_output_tokens: 100 }];
  const scene = await openUsageScene({
    connections: [oneConnection({ models })],
    ...limited({ window: "day", tokens: 400 }),
  });
  const received = await Promise.all(
    Array.from({ length: 10 }, () => scene.ask("chat")),
  );
  const served = received.filter(({ status }) => status === 200);
  assert.equal(served.length, 3);
});

Deno.test("a failed attempt releases its reservation, and the request counts once", async () => {
  const scene = await openUsageScene(
    limited({ window: "hour", requests: 2 }),
    { one: [status(500), good] },
  );
  assert.equal((await scene.ask("chat")).status, 200);
  assert.equal(scene.providers.asked.length, 2);
  assert.equal((await limitOf(scene)).used, 1);
});

Deno.test("a failed request counts as a request without tokens", async () => {
  const scene = await openUsageScene(
    limited({ window: "hour", requests: 5 }, { window: "hour", tokens: 500 }),
    { one: [status(400)] },
  );
  await scene.ask("chat");
  const { limits } = await scene.usage();
  assert.deepEqual(limits.map(({ used }) => used), [1, 0]);
});

Deno.test("a limit with models counts only these models", async () => {
  const scene = await openUsageScene(
    limited({ window: "day", requests: 1, models: ["model-1"] }),
  );
  for (const expected of [200, 429]) {
    assert.equal((await scene.ask("chat")).status, expected);
    assert.equal((await scene.ask("chat", { model: "model-2" })).status, 200);
  }
  assert.equal((await limitOf(scene)).used, 1);
});

Deno.test("a connection over its limit is skipped, and the error names the first reset when all are over a limit", async () => {
  const scene = await openUsageScene({
    connections: [
      oneConnection(),
      connectionTo("two", { protocol: "chat", mode: "native" }),
    ],
    ...limited(
      { window: "day", requests: 1, connections: ["one"] },
      { window: "hour", requests: 2, connections: ["two"] },
    ),
  });
  for (let count = 0; count < 3; count++) {
    assert.equal((await scene.ask("chat")).status, 200);
  }
  assert.deepEqual(scene.providers.hosts(), ["one", "two", "two"]);
  const refused = await scene.ask("chat");
  assert.equal(refused.status, 429);
  assert.equal(refused.headers.get("retry-after"), "3600");
  assert.match(String(errorOf(refused).message), /through two/);
});

Deno.test("the error names the cool-down when some connections are over a limit and the others cool down", async () => {
  const scene = await openUsageScene({
    connections: [
      oneConnection(),
      connectionTo("two", { protocol: "chat", mode: "native" }),
    ],
    ...limited({ window: "day", requests: 1, connections: ["one"] }),
  }, { one: [good], two: [status(429, { headers: { "retry-after": "30" } })] });
  await scene.ask("chat");
  assert.equal((await scene.ask("chat")).status, 429);
  const refused = await scene.ask("chat");
  assert.equal(refused.status, 503);
  assert.match(refused.text, /cooling|failed recently/);
});

Deno.test("the error names the last reset of several exceeded limits", async () => {
  const scene = await openUsageScene(
    limited({ window: "minute", requests: 1 }, { window: "hour", requests: 1 }),
  );
  await scene.ask("chat");
  const refused = await scene.ask("chat");
  assert.equal(refused.headers.get("retry-after"), "3600");
});

Deno.test("a group's limit counts its members together, and no other token", async () => {
  const tokens = ["alice", "bob", "carol"].map((name) =>
    tokenFile({
      name,
      sha256: sha256Hex(`mg_${name}`),
      ...(name === "carol" ? {} : { group: "team" }),
    })
  );
  const scene = await openUsageScene({
    groups: { team: { limits: [{ window: "day", requests: 2 }] } },
    tokens,
  });
  assert.equal(await askAs("alice", scene), 200);
  assert.equal(await askAs("bob", scene), 200);
  assert.equal(await askAs("bob", scene), 429);
  assert.equal(await askAs("alice", scene), 429);
  assert.equal(await askAs("carol", scene), 200);
  const limit = await limitOf(scene, "mg_alice");
  assert.deepEqual([limit.scope, limit.group, limit.used], [
    "group",
    "team",
    2,
  ]);
  const refused = await scene.ask("chat");
  assert.match(
    String(errorOf(refused).message),
    /the group team may use 2 requests per day/,
  );
});

Deno.test("a request that a limit rejects keeps no slot of its connection", async () => {
  const scene = await openUsageScene({
    connections: [oneConnection({ max_concurrent: 1 })],
    tokens: [
      tokenOf("alice", { limits: [{ window: "day", requests: 1 }] }),
      tokenOf("bob"),
    ],
  });
  assert.equal(await askAs("alice", scene), 200);
  assert.equal(await askAs("alice", scene), 429);
  assert.equal(await askAs("bob", scene), 200);
});

Deno.test("a request that a limit rejects does not probe its connection", async () => {
  const scene = await openUsageScene({
    tokens: [
      tokenOf("alice", { limits: [{ window: "day", requests: 1 }] }),
      tokenOf("bob"),
    ],
  }, {
    one: [good, (asked) => {
      if (asked.atMs >= 60_000) return good(asked);
      throw new TypeError("dns error: no such host");
    }],
  });
  assert.equal(await askAs("alice", scene), 200);
  for (let count = 0; count < 3; count++) {
    assert.equal(await askAs("bob", scene), 502);
  }
  scene.timers.advance(60_000);
  assert.equal(await askAs("alice", scene), 429);
  assert.equal(await askAs("bob", scene), 200);
});

Deno.test("the limits of every group of a token apply, and each group counts the token's usage", async () => {
  const scene = await openUsageScene({
    groups: {
      team: { limits: [{ window: "day", requests: 2 }] },
      floor: { limits: [{ window: "day", requests: 3 }] },
    },
    tokens: [
      tokenFile({ group: ["team", "floor"] }),
      tokenFile({ name: "bob", sha256: sha256Hex("mg_bob"), group: "floor" }),
    ],
  });
  const statusOf = async (token: string) => {
    const request = scene.request("chat");
    request.headers.set("authorization", `Bearer ${token}`);
    const response = await scene.pass(scene.gateway.handler(request));
    await scene.pass(response.text());
    return response.status;
  };
  assert.equal(await statusOf("mg_alice"), 200);
  assert.equal(await statusOf("mg_alice"), 200);
  assert.equal(await statusOf("mg_alice"), 429);
  assert.match(
    String(errorOf(await scene.ask("chat")).message),
    /the group team may use 2 requests per day/,
  );
  assert.equal(await statusOf("mg_bob"), 200);
  assert.equal(await statusOf("mg_bob"), 429);
});

Deno.test("a limit added by a reload counts the window's earlier usage", async () => {
  const scene = await openUsageScene({ groups: { team: {} } });
  for (let count = 0; count < 3; count++) await scene.ask("chat");
  await scene.reload(limited({ window: "day", requests: 3 }));
  assert.equal((await limitOf(scene)).used, 3);
  assert.equal((await scene.ask("chat")).status, 429);
  await scene.reload(limited({ window: "day", requests: 4 }));
  assert.equal((await scene.ask("chat")).status, 200);
  assert.equal((await scene.ask("chat")).status, 429);
});

Deno.test("a limit still counts the usage of a connection that a reload removes", async () => {
  const two = connectionTo("two", { protocol: "chat", mode: "native" });
  const limit = limited({ window: "day", requests: 3, models: ["model-1"] });
  const scene = await openUsageScene({
    connections: [oneConnection(), two],
    ...limit,
  });
  await scene.ask("chat");
  await scene.reload({ connections: [two], ...limit });
  await scene.ask("chat");
  assert.deepEqual(scene.providers.hosts(), ["one", "two"]);
  assert.equal((await limitOf(scene)).used, 2);
});

Deno.test("a limit added by a reload for some models counts only these models", async () => {
  const scene = await openUsageScene();
  await scene.ask("chat");
  await scene.ask("chat", { model: "model-2" });
  await scene.ask("chat", { model: "model-2" });
  await scene.reload(
    limited({ window: "week", tokens: 500, models: ["model-2"] }),
  );
  assert.equal((await limitOf(scene)).used, 10);
});

Deno.test("a limit added by a reload counts running requests once", async () => {
  const answer = openAnswer();
  const scene = await openUsageScene({}, {
    one: [() => answer.response, good],
  });
  const running = scene.gateway.handler(
    scene.request("chat", { stream: true }),
  );
  answer.write(
    'data: {"choices":[{"index":0,"delta":{"content":"Hello"}}]}\n\n',
  );
  const response = await scene.pass(running);
  await scene.reload(limited({ window: "day", requests: 9 }));
  assert.equal((await limitOf(scene)).used, 0);
  await scene.pass(response.body?.cancel() ?? Promise.resolve());
  await scene.lines.of(response);
  assert.equal((await limitOf(scene)).used, 1);
});

Deno.test("a request that outlasts its window counts only once, in the next window", async () => {
  const scene = await openUsageScene(
    limited({ window: "minute", requests: 5 }),
    { one: [silent, good] },
  );
  const running = scene.gateway.handler(scene.request("chat"));
  await scene.pass(Promise.resolve());
  assert.equal((await limitOf(scene)).used, 1);
  scene.timers.advance(MINUTE_MS);
  assert.ok(((await limitOf(scene)).used ?? 9) <= 1);
  scene.timers.advance(600_000);
  await scene.pass(running);
  assert.ok(((await limitOf(scene)).used ?? 9) <= 1);
});

Deno.test("a response reports a nearly used limit in a header, and the log reports it once a window", async () => {
  const scene = await openUsageScene(limited({ window: "hour", requests: 5 }));
  const warnings: (string | null)[] = [];
  for (let count = 0; count < 5; count++) {
    const { headers } = await scene.ask("chat");
    warnings.push(headers.get("x-gateway-limit-warning"));
  }
  assert.deepEqual(warnings, [
    null,
    null,
    null,
    "80 % used of 5 requests per hour, resets at 2026-01-01T01:00:00Z",
    "100 % used of 5 requests per hour, resets at 2026-01-01T01:00:00Z",
  ]);
  assert.deepEqual(
    scene.lines.others.items.filter(({ event }) => event === "limit_near")
      .map(({ time: _, ...line }) => line),
    [{
      level: "warn",
      event: "limit_near",
      token: "alice",
      limit: "5 requests per hour",
      used_percent: 80,
      resets_at: "2026-01-01T01:00:00.000Z",
    }],
  );
});

Deno.test("Codex shows the limit of its token when the connection's quota has more left than the limit", async () => {
  const quota = (used: string): Act => (asked) => {
    const answer = good(asked);
    answer.headers.set("x-codex-primary-used-percent", used);
    answer.headers.set("x-codex-primary-window-minutes", "300");
    answer.headers.set("x-codex-secondary-used-percent", "1");
    return answer;
  };
  const scene = await openUsageScene({
    connections: [
      connectionTo("first", { protocol: "responses", mode: "native" }),
    ],
    ...limited({ window: "day", requests: 4 }),
  }, { first: [quota("10"), quota("90"), good] });
  const shown: Record<string, string>[] = [];
  for (let count = 0; count < 3; count++) {
    const { headers } = await scene.ask("responses");
    shown.push(Object.fromEntries(
      [...headers].filter(([name]) => name.startsWith("x-codex-")),
    ));
  }
  const own = (percent: string) => ({
    "x-codex-limit-name": "your token: 4 requests per day",
    "x-codex-primary-reset-at": "1767312000",
    "x-codex-primary-used-percent": percent,
    "x-codex-primary-window-minutes": "1440",
  });
  assert.deepEqual(shown, [
    own("25"),
    {
      "x-codex-primary-used-percent": "90",
      "x-codex-primary-window-minutes": "300",
      "x-codex-secondary-used-percent": "1",
    },
    own("75"),
  ]);
});

Deno.test("a warning has only characters that a header allows, whatever the names", async () => {
  const scene = await openUsageScene({
    connections: [oneConnection({ name: "Größe → 1" })],
    ...limited({ window: "hour", requests: 1, connections: ["Größe → 1"] }),
  });
  const { status, headers } = await scene.ask("chat");
  assert.equal(status, 200);
  assert.match(
    headers.get("x-gateway-limit-warning") ?? "",
    /through Gr\?\?e \? 1, resets/,
  );
});

Deno.test("a token without limits gets no warning", async () => {
  const scene = await openUsageScene();
  const { headers } = await scene.ask("chat");
  assert.equal(headers.get("x-gateway-limit-warning"), null);
  assert.deepEqual((await scene.usage()).limits, []);
});

Deno.test("an error about a group's limit hides connections and models that the token may not use", async () => {
  const bob = { name: "bob", sha256: sha256Hex("mg_bob") };
  const scene = await openUsageScene({
    connections: [
      oneConnection(),
      connectionTo("hidden", { protocol: "chat", mode: "native" }, {
        models: ["model-1", "secret-model"],
      }),
    ],
    groups: {
      team: {
        limits: [
          {
            window: "hour",
            requests: 1,
            connections: ["hidden", "one"],
            models: ["model-1", "secret-model"],
          },
          { window: "hour", requests: 1, connections: ["hidden"] },
          { window: "hour", requests: 1, models: ["secret-model"] },
        ],
      },
    },
    tokens: [
      tokenFile({ connections: ["one"], group: "team" }),
      tokenFile({ ...bob, group: "team" }),
    ],
  });
  const near = await scene.ask("chat");
  const refused = await scene.ask("chat");
  const usage = await scene.usage();
  assert.equal(refused.status, 429);
  const received = [
    near.headers.get("x-gateway-limit-warning"),
    String(errorOf(refused).message),
    JSON.stringify(usage),
  ];
  for (const text of received) assert.doesNotMatch(text ?? "", /hidden|secret/);
  assert.match(
    received[0] ?? "",
    /1 request per hour for model-1 and 1 more through one and 1 more of the group team/,
  );
  const [limit, ...more] = usage.limits;
  assert.deepEqual(more, []);
  assert.deepEqual([limit?.models, limit?.connections], [["model-1"], ["one"]]);
  assert.equal(limit?.used, 1);
});

Deno.test("a warning stays short even if its limit counts many models", async () => {
  const models = Array.from({ length: 1000 }, (_, index) => `model-${index}`);
  const scene = await openUsageScene({
    connections: [oneConnection({ models })],
    ...limited({ window: "hour", requests: 1, models }),
  });
  const { headers } = await scene.ask("chat");
  assert.match(
    headers.get("x-gateway-limit-warning") ?? "",
    /^100 % used of 1 request per hour for model-1 and 999 more, resets at /,
  );
});

Deno.test("a request larger than a whole window's limit gets an error with this reason, and must not be retried", async () => {
  const scene = await openUsageScene(limited({ window: "minute", tokens: 10 }));
  const refused = await scene.ask("chat");
  assert.equal(refused.status, 429);
  assert.match(
    String(errorOf(refused).message),
    /has used 0; the request needs about \d+, more than the limit of a whole window: send a smaller request\. /,
  );
  assert.equal(refused.headers.get("retry-after"), "60");
  assert.equal(refused.headers.get("x-should-retry"), "false");
  assert.ok(stopsQwenCode(refused.text), refused.text);
});

Deno.test("Codex stops at a request that exceeds a whole window, even if the window resets soon", async () => {
  const scene = await openUsageScene({
    ...limited({ window: "minute", tokens: 1 }),
    connections: [
      connectionTo("one", { protocol: "responses", mode: "translated" }),
    ],
  });
  const refused = await scene.ask("responses");
  assert.equal(errorOf(refused).type, "usage_limit_reached");
});

Deno.test("a Retry-After never exceeds the longest delay of a client's timer", async () => {
  const scene = await openUsageScene(limited({ window: "month", requests: 1 }));
  await scene.ask("chat");
  const refused = await scene.ask("chat");
  assert.match(
    String(errorOf(refused).message),
    /will reset at 2026-02-01 00:00 UTC/,
  );
  assert.equal(refused.headers.get("retry-after"), "2147483");
  assert.equal(refused.headers.get("x-should-retry"), "false");
});

/** Sends a request in a session, or as a subagent of another session. */
async function askIn(
  scene: UsageScene,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const request = scene.request("chat");
  for (const [name, value] of Object.entries(headers)) {
    request.headers.set(name, value);
  }
  const response = await scene.pass(scene.gateway.handler(request));
  const text = await scene.pass(response.text());
  return new Response(text, response);
}

Deno.test("a limit per session stops only the session that exceeds it, and the session's subagents", async () => {
  const scene = await openUsageScene(limited({ per: "session", requests: 2 }));
  const main = { "x-session-id": "session-1" };
  const agent = {
    "x-session-id": "agent-9",
    "x-parent-session-id": "session-1",
  };
  assert.equal((await askIn(scene, main)).status, 200);
  const near = await askIn(scene, agent);
  assert.equal(near.status, 200);
  assert.match(
    near.headers.get("x-gateway-limit-warning") ?? "",
    /^100 % used of 2 requests per session, resets at 2026-01-02/,
  );
  for (const headers of [main, agent]) {
    const refused = await askIn(scene, headers);
    assert.equal(refused.status, 429);
    const { error } = await refused.json();
    assert.match(
      error.message,
      /^Cannot take the request: this session \("session-1"\) may use 2 requests per session and has used 2\. .*start a new session/,
    );
  }
  assert.equal((await askIn(scene, { "session-id": "b" })).status, 200);
  for (let count = 0; count < 4; count++) {
    assert.equal((await askIn(scene, {})).status, 200, "without a session");
  }
  const lines = scene.lines.others.items
    .filter(({ event }) => event === "limit_near");
  assert.deepEqual(lines.map(({ limit }) => limit), [
    "2 requests per session",
  ]);
  const { limits, windows } = await scene.usage();
  const none = { used: 0, remaining: 2, used_percent: 0 };
  const limit = {
    ...{ scope: "token", group: null, per: "session", unit: "requests" },
    ...{ window: "session", models: null, connections: null, limit: 2 },
  };
  const life = {
    starts_at: limits[1]?.starts_at,
    resets_at: limits[1]?.resets_at,
  };
  const lifeMs = Date.parse(`${life.resets_at}`) -
    Date.parse(`${life.starts_at}`);
  assert.equal(lifeMs, 24 * 60 * MINUTE_MS);
  assert.deepEqual(limits, [
    { ...limit, ...none, session: null, starts_at: null, resets_at: null },
    {
      ...{ ...limit, ...life, session: "session-1" },
      ...{ used: 2, remaining: 0, used_percent: 100 },
    },
    {
      ...{ ...limit, session: "b", used: 1, remaining: 1, used_percent: 50 },
      ...{ starts_at: limits[2]?.starts_at, resets_at: limits[2]?.resets_at },
    },
  ]);
  assert.equal(windows[0]?.total.requests, 7);
});

Deno.test("a session's limit lasts a day from its first request, or the calendar window in the configuration", async () => {
  for (
    const [window, afterMidnight] of [
      [{}, 429],
      [{ window: "day" }, 200],
    ] as const
  ) {
    const scene = await openUsageScene(
      limited({ per: "session", requests: 2, ...window }),
    );
    const main = { "x-session-id": "session-1" };
    const ask = async () => (await askIn(scene, main)).status;
    const hours = (count: number) => scene.timers.advance(count * 3_600_000);
    hours(23.8);
    assert.equal(await ask(), 200);
    assert.equal(await ask(), 200);
    assert.equal(await ask(), 429);
    hours(0.5);
    assert.equal(await ask(), afterMidnight);
    if (afterMidnight === 200) continue;
    const refused = await askIn(scene, main);
    assert.match((await refused.json()).error.message, /2026-01-02 23:48 UTC/);
    hours(23.4);
    assert.equal(await ask(), 429);
    hours(0.2);
    // The session's next limit begins with the whole amount.
    assert.deepEqual([await ask(), await ask(), await ask()], [200, 200, 429]);
  }
});

Deno.test("a group's limit per session counts each session of each member separately, by model", async () => {
  const scene = await openUsageScene({
    groups: {
      team: {
        limits: [
          { per: "session", window: "hour", requests: 2, models: ["model-1"] },
        ],
      },
    },
    tokens: [
      tokenFile({ group: "team" }),
      tokenOf("bob", { group: "team" }),
    ],
  });
  const statuses = async (headers: Readonly<Record<string, string>>) => {
    const found = [];
    for (let count = 0; count < 3; count++) {
      found.push((await askIn(scene, headers)).status);
    }
    return found;
  };
  assert.deepEqual(await statuses({ "session-id": "a" }), [200, 200, 429]);
  assert.deepEqual(
    await statuses({ "session-id": "a", authorization: "Bearer mg_bob" }),
    [200, 200, 429],
  );
});

Deno.test("sessionHolder() spreads any number of sessions over at most 65,536 names", () => {
  const names = new Set(
    Array.from(
      { length: 150_000 },
      (_, at) => sessionHolder("a", `${at}`).name,
    ),
  );
  assert.ok(names.size > 55_000 && names.size <= 65_536, `${names.size}`);
});

Deno.test("sessions with any name are counted separately, and another caller's parent session is ignored", async () => {
  const long = "x".repeat(10_000);
  const names: Readonly<Record<string, Readonly<Record<string, string>>[]>> = {
    "of 10 KB": [{ "session-id": long }, { "session-id": `${long}y` }],
    "with control characters": [
      { "session-id": "s\x01\x7f-1" },
      { "session-id": "s-1\x02" },
    ],
    "of an object's own": [{ "session-id": "__proto__" }],
    "of bytes beyond ASCII": [{ "session-id": "\xe9\xff" }],
    "of Claude Code, from a subagent of a subagent": [
      { "x-claude-code-session-id": "c-1" },
      {
        "x-claude-code-session-id": "c-1",
        "x-claude-code-agent-id": "agent-2",
        "x-claude-code-parent-agent-id": "agent-1",
      },
    ],
    "of Codex, from a subagent of a subagent": [
      { "session-id": "t-1", "thread-id": "t-1" },
      { "session-id": "t-1", "thread-id": "t-3" },
    ],
    "of an older Codex": [
      { session_id: "o-1" },
      { session_id: "o-2", "x-codex-parent-thread-id": "o-1" },
    ],
    "of opencode": [
      { "x-session-id": "ses_1", "x-session-affinity": "ses_1" },
      { "x-session-id": "ses_2", "x-parent-session-id": "ses_1" },
    ],
  };
  const scene = await openUsageScene({
    tokens: ["alice", "bob"].map((name) =>
      tokenOf(name, { limits: [{ per: "session", requests: 3 }] })
    ),
  });
  for (const [what, variants] of Object.entries(names)) {
    const ask = async (token: string, at: number) => {
      const headers = variants[at % variants.length];
      const authorization = `Bearer mg_${token}`;
      return (await askIn(scene, { ...headers, authorization })).status;
    };
    const found = [];
    for (let at = 0; at < 4; at++) found.push(await ask("alice", at));
    assert.deepEqual(found, [200, 200, 200, 429], what);
    assert.equal(await ask("bob", 1), 200, `${what} of bob`);
  }
});

Deno.test("GET /usage lists only the caller's five sessions with the least of their limit left", async () => {
  const scene = await openUsageScene({
    tokens: ["alice", "bob"].map((name) =>
      tokenOf(name, { limits: [{ per: "session", requests: 9 }] })
    ),
  });
  const ask = (name: string, session: string) =>
    askIn(scene, {
      "session-id": session,
      authorization: `Bearer mg_${name}`,
    });
  for (let count = 0; count < 3; count++) await ask("alice", "long");
  for (let count = 0; count < 70; count++) await ask("alice", `short-${count}`);
  for (let count = 0; count < 2; count++) await ask("alice", "short-69");
  await ask("alice", "long");
  const { limits } = await scene.usage("mg_alice");
  const [own, ...listed] = limits;
  assert.equal(own?.session, null);
  assert.equal(listed.length, 5);
  assert.deepEqual(listed.map(({ used }) => used), [4, 3, 1, 1, 1]);
  assert.deepEqual(
    listed.slice(0, 2).map(({ session }) => session),
    ["long", "short-69"],
  );
  const { limits: others } = await scene.usage("mg_bob");
  assert.deepEqual(others.map(({ session }) => session), [null]);
});
