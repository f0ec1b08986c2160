import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { sha256Hex } from "../../../src/base/sha256.ts";
import {
  JSON_HEADERS,
  noAnswer,
  openAnswer,
} from "../../support/wire/answers.ts";
import {
  ask,
  credentials,
  hello,
  PATHS,
  PROTOCOLS,
} from "../../support/wire/ask.ts";
import { createCanary, findCanaries } from "../../support/gateway/canaries.ts";
import { tokenFile } from "../../support/gateway/config.ts";
import { familyConnection } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { hurriedTimers } from "../../support/fakes/hurried_timers.ts";
import { connectRaw } from "../../support/wire/raw_socket.ts";
import {
  type Script,
  startUpstream,
} from "../../support/upstream/scripted_upstream.ts";
import {
  askOnce,
  type ServedGateway,
  serveFile,
} from "../../support/gateway/serve.ts";
import { until, within } from "../../support/within.ts";
import { steps } from "../../support/steps.ts";

/** Secrets that must never be printed. */
const CANARIES = {
  callerToken: createCanary("caller-token"),
  wrongToken: createCanary("wrong-token"),
  upstreamKey: createCanary("upstream-key"),
  quotaKey: createCanary("quota-key"),
  fixedHeader: createCanary("fixed-header"),
  cookie: createCanary("cookie"),
  query: createCanary("query"),
  prompt: createCanary("prompt"),
  answer: createCanary("answer"),
  upstreamError: createCanary("upstream-error"),
  configMistake: createCanary("config-mistake"),
};

/** Secrets that must never reach a caller. */
const { upstreamKey, quotaKey, fixedHeader } = CANARIES;
const UPSTREAM_SECRETS = { upstreamKey, quotaKey, fixedHeader };

function fileFor(url: string): Record<string, unknown> {
  const families = ["A", "B", "C"] as const;
  return {
    server: { port: 0 },
    timeouts: { first_byte: 5_000, idle: 5_000 },
    connections: [
      ...families.map((family) =>
        familyConnection(family, url, {
          auth: { scheme: "bearer", key: upstreamKey },
          headers: { "x-secret": fixedHeader },
          quota: { kind: "zai", url: `${url}/quota`, key: quotaKey },
        })
      ),
      familyConnection("A", "http://127.0.0.1:9", {
        name: "Unreachable",
        auth: { scheme: "bearer", key: upstreamKey },
        models: ["unreachable"],
      }),
    ],
    tokens: [tokenFile({ sha256: sha256Hex(CANARIES.callerToken) })],
  };
}

const CHAT_ANSWER = {
  id: "chatcmpl-1",
  object: "chat.completion",
  choices: [{
    index: 0,
    message: { role: "assistant", content: CANARIES.answer },
    finish_reason: "stop",
  }],
  usage: { prompt_tokens: 1, completion_tokens: 1 },
};

const CHAT_DELTA = `data: ${
  JSON.stringify({ choices: [{ delta: { content: CANARIES.answer } }] })
}\n\n`;

const SSE_HEADERS = { "content-type": "text/event-stream" };

/** Scripts of an upstream whose answers and errors contain canaries. */
const SCRIPTS: Readonly<Record<string, Script>> = {
  "JSON": () => Response.json(CHAT_ANSWER),
  "a stream": () =>
    new Response(`${CHAT_DELTA}data: [DONE]\n\n`, { headers: SSE_HEADERS }),
  "a stream that breaks": () => {
    const answer = openAnswer();
    answer.write(CHAT_DELTA);
    queueMicrotask(() => answer.cut());
    return answer.response;
  },
  "a stream that falls silent": () => {
    const answer = openAnswer();
    answer.write(CHAT_DELTA);
    return answer.response;
  },
  "an error within a stream": () =>
    new Response(
      `${CHAT_DELTA}event: error\ndata: {"error":{"message":"${CANARIES.upstreamError}"}}\n\n`,
      { headers: SSE_HEADERS },
    ),
  "JSON that is none": () =>
    new Response(`{"broken": ${CANARIES.answer}`, { headers: JSON_HEADERS }),
  "JSON of another shape": () => Response.json([CANARIES.answer]),
  "HTML": () =>
    new Response(`<p>${CANARIES.upstreamError}</p>`, { status: 502 }),
  "compressed with garbage": () =>
    new Response(CANARIES.answer, { headers: { "content-encoding": "gzip" } }),
  "a redirect": () =>
    Response.redirect(`http://evil.example/${CANARIES.upstreamError}`),
  "nothing": noAnswer,
};

function failing(status: number): Script {
  return () =>
    Response.json({
      type: "error",
      error: {
        message: CANARIES.upstreamError,
        type: CANARIES.upstreamError,
        code: `${CANARIES.upstreamError} in words`,
        param: CANARIES.prompt,
      },
    }, {
      status,
      headers: {
        "www-authenticate": CANARIES.upstreamError,
        "retry-after": "9",
      },
    });
}

const STATUSES = [400, 401, 402, 403, 404, 413, 422, 429, 500, 503, 529];

/** Sends a request and checks that the response has no secret of the gateway. */
async function askSecretly(
  url: string,
  path: string,
  init: RequestInit,
): Promise<void> {
  const address = `${url}${path}?key=${CANARIES.query}`;
  const answer = await askOnce(address, init).catch(() => undefined);
  // A broken stream has no response to check. The test checks the printed lines at the end.
  const text = answer?.text ?? "";
  assert.deepEqual(findCanaries(text, UPSTREAM_SECRETS), []);
}

const MODELS_BY_PROTOCOL = {
  chat: ["model-a", "model-b", "model-c"],
  messages: ["model-b", "model-a"],
  responses: ["model-c", "model-a"],
} as const;

/** The number of requests of {@linkcode askEverything}. */
const QUESTIONS = 14;

/**
 * Sends a request full of canaries, streamed and not, in every protocol, for native and translated
 * models.
 */
async function askEverything(url: string): Promise<void> {
  const calls = PROTOCOLS.flatMap((protocol) => {
    const headers = {
      ...credentials(protocol, CANARIES.callerToken),
      cookie: CANARIES.cookie,
    };
    const question = protocol === "responses"
      ? { input: CANARIES.prompt }
      : { messages: [{ role: "user", content: CANARIES.prompt }] };
    return MODELS_BY_PROTOCOL[protocol].flatMap((model) =>
      [true, false].map((stream) => {
        const body = hello(protocol, { model, stream, ...question });
        return askSecretly(url, PATHS[protocol], ask(protocol, body, headers));
      })
    );
  });
  await Promise.all(calls);
}

type RefusedRequest = readonly [path: string, init: RequestInit];

/**
 * Returns requests that the gateway itself rejects, each with canaries where its error could quote
 * them.
 */
function refusedRequests(): readonly RefusedRequest[] {
  const { prompt, callerToken, wrongToken } = CANARIES;
  return PROTOCOLS.flatMap((protocol): readonly RefusedRequest[] => {
    const secret = credentials(protocol, callerToken);
    const path = PATHS[protocol];
    const conversation = protocol === "responses" ? "input" : "messages";
    const bodies = [
      prompt,
      `{"model":"model-a","messages":"${prompt}`,
      `{"model":"model-a","x":${prompt}}`,
      `{"model":"model-a","model":"${prompt}"}`,
      `{"model":{"x":"${prompt}"}}`,
      `{"model":"model-a","stream":"${prompt}"}`,
      `["${prompt}"]`,
      hello(protocol, { model: "unreachable", user: prompt }),
      // A translated request with fields that no codec knows.
      hello(protocol, {
        model: protocol === "chat" ? "model-b" : "model-a",
        [conversation]: { [prompt]: prompt },
      }),
    ];
    const headers: readonly Record<string, string>[] = [
      { "content-type": prompt },
      { "content-encoding": prompt },
      { "content-encoding": "gzip" },
    ];
    const gzip = new Uint8Array(gzipSync(prompt));
    return [
      ...bodies.map((body): RefusedRequest => [
        path,
        ask(protocol, body, secret),
      ]),
      ...headers.map((one): RefusedRequest => [
        path,
        ask(protocol, prompt, { ...secret, ...one }),
      ]),
      [path, ask(protocol, gzip, { ...secret, "content-encoding": "gzip" })],
      [path, ask(protocol, hello(protocol), credentials(protocol, wrongToken))],
      [path, { method: "DELETE", headers: secret }],
      [`/${prompt}`, ask(protocol, prompt, secret)],
      [`/v1/models/${prompt}`, { headers: secret }],
      [
        "/v1/messages",
        ask("messages", prompt, { ...secret, "anthropic-version": prompt }),
      ],
    ];
  });
}

Deno.test("no secret, prompt or answer is logged, whatever the upstream does", async (t) => {
  const scripts = {
    ...SCRIPTS,
    ...Object.fromEntries(STATUSES.map((one) => [String(one), failing(one)])),
  };
  await steps(t, Object.entries(scripts), async ([, script]) => {
    // An upstream does not always notice that the gateway disconnected before it had sent the
    // whole request.
    const over = Promise.withResolvers<Response>();
    await using upstream = startUpstream((seen) =>
      Promise.race([script(seen), over.promise])
    );
    using _ = { [Symbol.dispose]: () => over.resolve(new Response(null)) };
    await using gateway = await startGateway(fileFor(upstream.url), {
      timers: hurriedTimers,
    });
    await askEverything(gateway.url);
    await until(() => gateway.admission.active === 0, "all to end");
    // The platform's fetch retries when a connection breaks before a response.
    assert.ok(gateway.lines.requests.items.length >= QUESTIONS);
    assert.deepEqual(findCanaries(gateway.lines.text(), CANARIES), []);
  });
});

Deno.test("the program prints no secret, prompt or answer, whatever its callers do", async () => {
  await using upstream = startUpstream(SCRIPTS.JSON);
  await using gateway = await serveFile(fileFor(upstream.url));
  await askEverything(gateway.url);
  const refused = refusedRequests();
  for (const [path, init] of refused) {
    await askSecretly(gateway.url, path, init);
  }
  await leaveEarly(gateway);
  upstream.play(failing(401));
  await askSecretly(gateway.url, "/v1/limits", {
    headers: credentials("chat", CANARIES.callerToken),
  });
  await makeMistakes(gateway);
  gateway.kill("SIGTERM");
  await within(gateway.ended, "the gateway to stop");
  assert.ok(gateway.lines("request").length > refused.length);
  assert.deepEqual(findCanaries(gateway.output(), CANARIES), []);
});

/** Disconnects in the middle of a request. */
async function leaveEarly(gateway: ServedGateway): Promise<void> {
  using socket = await connectRaw(Number(new URL(gateway.url).port));
  await socket.write(
    `POST ${PATHS.chat} HTTP/1.1\r\nhost: a\r\ncontent-length: 999\r\n` +
      `authorization: Bearer ${CANARIES.callerToken}\r\n\r\n${CANARIES.prompt}`,
  );
}

/** Writes configurations with an error at a secret. */
async function makeMistakes(gateway: ServedGateway): Promise<void> {
  const mistake = CANARIES.configMistake;
  const address = `http://user:${mistake}@example.com`;
  const texts = [
    `connections: [{ auth: { key: "${mistake}`,
    `connections:\n  - auth:\n      key: ${mistake}\n     scheme: bearer\n`,
    ...[
      { connections: [{ auth: mistake }], tokens: mistake },
      { connections: [{ auth: { kez: mistake, key: [mistake] } }] },
      { tokens: [{ name: "x", sha256: mistake }] },
      { connections: [{ headers: { x: `${mistake}\n` } }] },
      { connections: [{ endpoints: { chat: address } }] },
    ].map((file) => JSON.stringify(file)),
  ];
  for (const [index, text] of texts.entries()) {
    await Deno.writeTextFile(gateway.path, text);
    gateway.kill("SIGHUP");
    await until(
      () => gateway.lines("config_rejected").length > index,
      "the mistake to be reported",
    );
  }
}
