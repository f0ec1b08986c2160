import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../../src/base/json.ts";
import { hurriedTimers } from "../../support/fakes/hurried_timers.ts";
import {
  ALICE_TOKEN,
  minimalFile,
  tokenFile,
} from "../../support/gateway/config.ts";
import {
  familiesFile,
  familyConnection,
} from "../../support/gateway/families.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import {
  type Script,
  type SeenRequest,
  startUpstream,
} from "../../support/upstream/scripted_upstream.ts";
import {
  JSON_HEADERS,
  piecewise,
  SSE_HEADERS,
} from "../../support/wire/answers.ts";
import {
  ask,
  credentials,
  hello,
  PATHS,
  PROTOCOLS,
} from "../../support/wire/ask.ts";
import { until } from "../../support/within.ts";
import { askOnce, serveFile } from "../../support/gateway/serve.ts";
import { protocolOfPath, WIRES } from "../../support/wire/wire.ts";
import { steps } from "../../support/steps.ts";

type Logged = Readonly<Record<string, JsonValue | undefined>>;

const NOWHERE = "http://127.0.0.1:9";

/**
 * Sends a request and reads the whole answer, even a broken one. Returns its length and its line.
 */
async function asked(
  gateway: RunningGateway,
  path: string,
  init: RequestInit,
): Promise<{ readonly length: number; readonly line: JsonObject }> {
  const response = await gateway.call(path, init);
  let length = 0;
  try {
    for await (const chunk of response.body ?? []) length += chunk.length;
  } catch {
    // It was cut.
  }
  return { length, line: await gateway.lines.of(response) };
}

/** Checks the fields of a line that the test names. */
function check(line: JsonObject, expected: Logged): void {
  const logged = Object.keys(expected).map((name) => [name, line[name]]);
  assert.deepEqual(Object.fromEntries(logged), expected);
}

const BEARER = { headers: credentials("chat") };

/** Every kind of response that the gateway sends itself. */
const OWN_ANSWERS: Readonly<
  Record<string, readonly [path: string, init: RequestInit, Logged]>
> = {
  "the models": ["/v1/models", BEARER, {
    status: 200,
    token: "alice",
    method: "GET",
  }],
  "a model": ["/v1/models/model-a", BEARER, {
    status: 200,
    route: "/v1/models/:id+",
  }],
  "no such model": ["/v1/models/nobodys", BEARER, {
    status: 404,
    error: "model_not_found",
  }],
  "the limits": ["/api/anthropic/v1/limits", BEARER, {
    status: 200,
    route: "/api/:vendor/v1/limits",
  }],
  "the limits with a query": ["/v1/limits?a=1", BEARER, { status: 400 }],
  "the usage": ["/v1/usage", BEARER, { status: 200 }],
  "the configuration of opencode": ["/.well-known/opencode/config", BEARER, {
    status: 200,
    route: "/.well-known/opencode/config",
  }],
  "the login of opencode": ["/.well-known/opencode", {}, { status: 200 }],
  "the page": ["/", {}, { status: 200, route: "/", token: undefined }],
  "the models without a body": ["/v1/models", { ...BEARER, method: "HEAD" }, {
    status: 200,
    bytes_out: 0,
  }],
  "an error without a body": ["/v1/models", { method: "HEAD" }, {
    status: 401,
    bytes_out: 0,
  }],
  "an unknown path": ["/nowhere", {}, { status: 404, route: undefined }],
  "a wrong method": [PATHS.chat, { method: "PUT" }, {
    status: 405,
    method: "PUT",
    route: undefined,
    error: "method_not_allowed",
  }],
  "a GET of the Responses": [PATHS.responses, {}, { status: 405 }],
  "a stranger": [PATHS.messages, { method: "POST" }, {
    status: 401,
    token: undefined,
    route: PATHS.messages,
    error: "unauthenticated",
  }],
  "no version of the protocol": [PATHS.messages, {
    ...ask("messages"),
    headers: { ...credentials("messages"), "anthropic-version": "new" },
  }, { status: 400 }],
  "a body that is no JSON": [PATHS.chat, ask("chat", "{]"), {
    status: 400,
    token: "alice",
    model: undefined,
    bytes_in: 2,
    error: "invalid_request",
  }],
  "a body that is too long": [
    PATHS.chat,
    ask("chat", " ".repeat(9 * 1024 * 1024)),
    { status: 413, bytes_in: 0, limit: "8 MiB a request body" },
  ],
  "an unknown model": [
    PATHS.chat,
    ask("chat", hello("chat", { model: "x\n" })),
    {
      status: 404,
      model: "x\n",
      upstream_model: undefined,
      error: "model_not_found",
    },
  ],
};

Deno.test("the line counts the bytes of the gateway's own responses, and names no provider", async (t) => {
  await using gateway = await startGateway(familiesFile(NOWHERE));
  await steps(
    t,
    Object.entries(OWN_ANSWERS),
    async ([, [path, init, logged]]) => {
      const { length, line } = await asked(gateway, path, init);
      check(line, {
        level: "info",
        bytes_out: length,
        ended: Number(line.status) < 400 ? "complete" : "error",
        connection: undefined,
        mode: undefined,
        failure: undefined,
        ...logged,
      });
    },
  );
});

Deno.test("the line of a request that is refused during a drain names the shutdown", async () => {
  await using gateway = await startGateway(familiesFile(NOWHERE));
  await gateway.admission.drain();
  const { line } = await asked(gateway, PATHS.chat, ask("chat"));
  check(line, {
    level: "error",
    status: 503,
    error: "gateway_overloaded",
    limit: undefined,
  });
  assert.match(String(line.reason), /shutting down/);
});

Deno.test("the line has the client's ids for any request", async () => {
  await using gateway = await startGateway(familiesFile(NOWHERE));
  const headers = { ...credentials("chat"), "session-id": "session-1" };
  const { line } = await asked(gateway, "/v1/models", { headers });
  check(line, { session: "session-1", token: "alice" });
});

const PROVIDER_ERROR = { error: { message: "no", code: "melted" } };

const STREAM = { ...ask("chat", hello("chat", { stream: true })) };

const CHUNK = `data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n`;

const TRANSLATED = ask("chat", hello("chat", { model: "model-b" }));

function errors(status: number, headers: HeadersInit = {}): Script {
  return () => Response.json(PROVIDER_ERROR, { status, headers });
}

/** A provider's action, the request, and the expected line. */
const PROVIDER_ENDINGS: Readonly<
  Record<string, readonly [Script | undefined, RequestInit, Logged]>
> = {
  "nobody there": [undefined, ask("chat"), {
    level: "warn",
    status: 502,
    error: "upstream_unreachable",
    failure: "unreachable",
    ended: "error",
  }],
  "a provider in trouble": [errors(500), ask("chat"), {
    level: "warn",
    status: 500,
    error: "melted",
    failure: "trouble",
    upstream_status: 500,
    ended: "complete",
  }],
  "a provider in trouble, translated": [errors(500), TRANSLATED, {
    level: "warn",
    status: 500,
    failure: "trouble",
    ended: "error",
  }],
  "a provider that refuses the request": [errors(400), ask("chat"), {
    level: "info",
    status: 400,
    error: "melted",
    failure: "refused",
  }],
  "a provider that refuses the gateway's key": [errors(401), ask("chat"), {
    level: "warn",
    status: 502,
    error: "upstream_authentication",
    failure: "misconfigured",
  }],
  "a provider that limits the gateway": [errors(429), ask("chat"), {
    level: "warn",
    status: 429,
    failure: "rate_limited",
  }],
  "a failure with the status of a success": [
    () => Response.json({ error: { message: "no", code: "melted" } }),
    ask("chat"),
    { level: "warn", status: 200, error: "melted", failure: "trouble" },
  ],
  "a stream that breaks off": [
    () => piecewise([CHUNK]),
    STREAM,
    { level: "warn", status: 200, failure: "broken", ended: "upstream_broken" },
  ],
  "a stream that ends with an error": [
    () => piecewise([CHUNK, `data: ${JSON.stringify(PROVIDER_ERROR)}\n\n`]),
    STREAM,
    { level: "warn", failure: "trouble", ended: "upstream_broken" },
  ],
  "a request that cannot be translated": [
    errors(500),
    ask("chat", hello("chat", { model: "model-b", n: 2 })),
    { level: "info", status: 400, failure: "untranslatable" },
  ],
};

Deno.test("the line has each failure of a provider that the caller received, with a level that depends on the cause", async (t) => {
  await steps(
    t,
    Object.entries(PROVIDER_ENDINGS),
    async ([, [script, init, logged]]) => {
      await using upstream = startUpstream(script);
      const url = script === undefined ? NOWHERE : upstream.url;
      await using gateway = await startGateway(familiesFile(url), {
        timers: hurriedTimers,
      });
      const { length, line } = await asked(gateway, PATHS.chat, init);
      check(line, { bytes_out: length, limit: undefined, ...logged });
    },
  );
});

Deno.test("the line counts the bytes of the final answer only", async () => {
  let calls = 0;
  const whole = JSON.stringify({
    choices: [{ message: { content: "Hello" }, finish_reason: "stop" }],
  });
  await using upstream = startUpstream(() => {
    const text = calls++ === 0 ? whole.slice(0, -5) : whole;
    return new Response(text, { headers: JSON_HEADERS });
  });
  await using gateway = await startGateway(familiesFile(upstream.url), {
    timers: hurriedTimers,
  });
  const { length, line } = await asked(gateway, PATHS.chat, ask("chat"));
  assert.equal(calls, 2);
  assert.equal(length, whole.length);
  check(line, { level: "info", bytes_out: length, failure: undefined });
});

const HELLO = JSON.stringify({
  choices: [{ message: { content: "Hello" }, finish_reason: "stop" }],
});

/** A limit, and the log line of the request that it rejects. */
const REFUSALS: Readonly<Record<string, readonly [file: object, Logged]>> = {
  "of the token at once": [{ tokens: [tokenFile({ max_concurrent: 1 })] }, {
    level: "info",
    status: 429,
    error: "token_concurrency_exceeded",
    limit: "1 concurrent requests of the token",
  }],
  "of the gateway at once": [{ server: { max_concurrent_requests: 1 } }, {
    level: "error",
    status: 503,
    error: "gateway_overloaded",
    limit: "1 concurrent requests of the gateway",
  }],
  "of a connection at once": [
    { connections: [familyConnection("A", NOWHERE, { max_concurrent: 1 })] },
    {
      level: "error",
      status: 503,
      error: "connection_overloaded",
      limit: "concurrent requests of every connection",
    },
  ],
  "of the token in a window": [
    { tokens: [tokenFile({ limits: [{ window: "day", requests: 1 }] })] },
    {
      level: "info",
      status: 429,
      error: "token_limit_exceeded",
      limit: "1 request per day",
      group: undefined,
    },
  ],
  "of the group in a window": [
    {
      tokens: [tokenFile({ group: "interns" })],
      groups: { interns: { limits: [{ window: "day", requests: 1 }] } },
    },
    {
      level: "info",
      status: 429,
      error: "token_limit_exceeded",
      limit: "1 request per day",
      group: "interns",
    },
  ],
};

Deno.test("the line of a request that a limit rejected names the limit", (t) =>
  steps(t, Object.entries(REFUSALS), async ([, [overrides, logged]]) => {
    const first = Promise.withResolvers<Response>();
    const file = familiesFile(NOWHERE, { ...overrides });
    await using gateway = await startGateway(file, {
      fetch: () => first.promise,
    });
    const running = gateway.ask("chat");
    await until(() => gateway.admission.active === 1, "the first request");
    const { length, line } = await asked(gateway, PATHS.chat, ask("chat"));
    first.resolve(new Response(HELLO, { headers: JSON_HEADERS }));
    await (await running).bytes();
    check(line, {
      bytes_out: length,
      token: "alice",
      ended: "error",
      ...logged,
    });
  }));

type Protocol = typeof PROTOCOLS[number];

const LETTERS = { chat: "a", messages: "b", responses: "c" } as const;

/** A provider that answers with its expensive model, for every requested model. */
function answerDear({ path, text }: SeenRequest): Response {
  const { start, output, end, answer } = WIRES[protocolOfPath(path)];
  const isStream = /"stream":\s*true/.test(text());
  const body = isStream ? start + output + end : JSON.stringify(answer);
  return new Response(body.replaceAll('"upstream"', '"lab/dear-1"'), {
    headers: isStream ? SSE_HEADERS : JSON_HEADERS,
  });
}

/**
 * Returns a configuration with one connection per protocol. Each has a cheap model and an expensive
 * one, with a limit in another unit.
 */
function fileFor(url: string, folder: string): Record<string, unknown> {
  const families = ["A", "B", "C"] as const;
  return minimalFile({
    server: { port: 0 },
    connections: families.map((family) => {
      const letter = family.toLowerCase();
      const price = { input: 1, output: 1 };
      return familyConnection(family, url, {
        models: [
          { id: `cheap-${letter}`, upstream: "lab/cheap-1", price },
          {
            id: `dear-${letter}`,
            upstream: "lab/dear-1",
            price: { input: 1000, output: 1000 },
          },
        ],
      });
    }),
    tokens: [
      tokenFile({
        limits: [
          { window: "month", requests: 2, models: ["dear-a"] },
          { window: "month", tokens: 100, models: ["dear-b"] },
          { window: "month", cost: 0.1, models: ["dear-c"] },
        ],
      }),
    ],
    usage: { replay: [`${folder}/*.jsonl`] },
  });
}

/** Returns the usage of each model in this month from `GET /usage`. */
async function monthOf(url: string): Promise<readonly unknown[]> {
  const { text } = await askOnce(`${url}/v1/usage`, {
    headers: { authorization: `Bearer ${ALICE_TOKEN}` },
  });
  const { windows } = JSON.parse(text);
  return windows.find((one: { window: string }) => one.window === "month").data;
}

function messageOf(text: string): string {
  const body = parseJson(text);
  const error = isJsonObject(body) && isJsonObject(body.error)
    ? body.error
    : {};
  return String(error.message);
}

Deno.test("usage counts for the model that answered, not the requested one, in every protocol and unit, even after a restart", async () => {
  await using upstream = startUpstream(answerDear);
  const folder = await Deno.makeTempDir();
  const file = fileFor(upstream.url, folder);
  const send = (url: string, protocol: Protocol, fields: JsonObject) =>
    askOnce(
      url + PATHS[protocol],
      ask(
        protocol,
        hello(protocol, {
          model: `cheap-${LETTERS[protocol]}`,
          models: ["lab/dear-1"],
          ...fields,
        }),
      ),
    );
  const long = "word ".repeat(100);
  const longer: Readonly<Record<Protocol, JsonObject>> = {
    chat: {},
    messages: { messages: [{ role: "user", content: long }] },
    responses: { input: long },
  };
  try {
    let log = "";
    let before: readonly unknown[] = [];
    {
      await using gateway = await serveFile(file);
      for (const protocol of PROTOCOLS) {
        for (const stream of [false, true]) {
          const received = await send(gateway.url, protocol, { stream });
          assert.equal(received.status, 200, received.text);
        }
        const refused = await send(gateway.url, protocol, longer[protocol]);
        assert.equal(refused.status, 429, refused.text);
        const dear = new RegExp(` for dear-${LETTERS[protocol]} and has`);
        assert.match(messageOf(refused.text), dear);
      }
      for (const stream of [false, true]) {
        const translated = { model: "cheap-b", stream };
        const received = await askOnce(
          gateway.url + PATHS.chat,
          ask("chat", hello("chat", translated)),
        );
        assert.equal(received.status, 200, received.text);
      }
      assert.equal(upstream.requests.items.length, 8);
      await until(
        () => gateway.lines("request").length === 11,
        "the log lines of the requests",
      );
      before = await monthOf(gateway.url);
      log = gateway.output();
    }
    const used = (letter: string, requests: number) => ({
      connection: `Family ${letter.toUpperCase()}`,
      model: `dear-${letter}`,
      requests,
      input_tokens: 3 * requests,
      cached_input_tokens: 0,
      cache_write_tokens: 0,
      output_tokens: 2 * requests,
      reasoning_tokens: 0,
      cost_usd: 0.005 * requests,
      unpriced_requests: 0,
      estimated_requests: 0,
    });
    assert.deepEqual(before, [used("a", 2), used("b", 4), used("c", 2)]);
    await Deno.writeTextFile(`${folder}/a.jsonl`, log);
    await using gateway = await serveFile(file);
    await gateway.line("usage_replayed");
    assert.deepEqual(await monthOf(gateway.url), before);
    assert.equal((await send(gateway.url, "chat", {})).status, 429);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
