import assert from "node:assert/strict";
import type { Protocol } from "../../../src/base/protocol.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { hello, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import {
  ALICE_TOKEN,
  minimalFile,
  tokenFile,
} from "../../support/gateway/config.ts";
import { errorAnswer, readError } from "../../support/wire/error_answer.ts";
import {
  familiesFile,
  familyConnection,
} from "../../support/gateway/families.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import { sendRaw } from "../../support/wire/raw_socket.ts";
import {
  type ScriptedUpstream,
  startUpstream,
} from "../../support/upstream/scripted_upstream.ts";
import { hurriedTimers } from "../../support/fakes/hurried_timers.ts";
import { protocolOfPath } from "../../support/wire/wire.ts";
import { steps } from "../../support/steps.ts";

const BOB_TOKEN = "mg_bob";

const EXPIRED_TOKEN = "mg_expired";

function fileFor({ url }: ScriptedUpstream): Record<string, unknown> {
  return familiesFile(url, {
    tokens: [
      tokenFile(),
      tokenFile({ name: "bob", sha256: sha256Hex(BOB_TOKEN) }),
      tokenFile({
        name: "expired",
        sha256: sha256Hex(EXPIRED_TOKEN),
        expires_at: "2026-01-02T00:00:00Z",
      }),
    ],
  });
}

/** One route of each group, requested without a credential. */
const ROUTES: Readonly<
  Record<string, { path: string; protocol: Protocol; init: RequestInit }>
> = {
  "a bearer route": route("chat"),
  "a Messages route": route("messages"),
  "the list of models": { path: "/v1/models", protocol: "chat", init: {} },
  "the limits": { path: "/v1/limits", protocol: "chat", init: {} },
};

function route(protocol: Protocol) {
  return {
    path: PATHS[protocol],
    protocol,
    init: {
      method: "POST",
      body: hello(protocol),
      headers: {
        "content-type": "application/json",
        "anthropic-version": "2023-06-01",
      },
    },
  };
}

/** Sends a route's request with these additional headers. */
function send(
  name: string,
  headers: Readonly<Record<string, string>>,
  gateway: RunningGateway,
): Promise<Response> {
  const { path, init } = ROUTES[name] ?? assert.fail();
  const all = new Headers(init.headers);
  for (const [name, value] of Object.entries(headers)) all.set(name, value);
  return gateway.call(path, { ...init, headers: all });
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

/** Credentials that are invalid for every route. */
const REFUSED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "no credential": {},
  "an unknown token": bearer("mg_unknown"),
  "an expired token": bearer(EXPIRED_TOKEN),
  "an expired x-api-key": { "x-api-key": EXPIRED_TOKEN },
  "a bearer token and an x-api-key of different callers": {
    ...bearer(ALICE_TOKEN),
    "x-api-key": BOB_TOKEN,
  },
};

Deno.test("a request without a valid credential gets 401, and reaches no upstream", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream));
  for (const [routeName, { protocol }] of Object.entries(ROUTES)) {
    for (const [name, headers] of Object.entries(REFUSED)) {
      // Bearer routes do not read x-api-key.
      const isBearerRoute = !/Messages|models/.test(routeName);
      if (isBearerRoute && name.includes("different callers")) continue;
      await t.step(`${routeName}: ${name}`, async () => {
        const response = await send(routeName, headers, gateway);
        const error = await readError(response, protocol);
        assert.equal(error.status, 401);
        assert.equal(error.type, "authentication_error");
        assert.equal(error.headers.get("www-authenticate"), "Bearer");
        const line = await gateway.lines.of(response);
        assert.equal(line.status, 401);
        assert.equal(line.ended, "error");
        assert.equal(line.token, undefined);
      });
    }
  }
  assert.equal(upstream.requests.items.length, 0);
});

/** Alice's credentials, for routes that read both headers. */
const ACCEPTED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "a bearer token": bearer(ALICE_TOKEN),
  "an x-api-key": { "x-api-key": ALICE_TOKEN },
  "a valid x-api-key and an expired bearer token": {
    ...bearer(EXPIRED_TOKEN),
    "x-api-key": ALICE_TOKEN,
  },
};

Deno.test("one valid credential is enough on routes that read both credential headers", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream));
  for (const routeName of ["a Messages route", "the list of models"]) {
    for (const [name, headers] of Object.entries(ACCEPTED)) {
      await t.step(`${routeName}: ${name}`, async () => {
        const response = await send(routeName, headers, gateway);
        assert.equal(response.status, 200, await response.text());
        assert.equal((await gateway.lines.of(response)).token, "alice");
      });
    }
  }
});

/** Header lines that no HTTP client writes, with the status of the response. */
const RAW_LINES: Readonly<Record<string, readonly [number, string]>> = {
  "two Authorization headers": [
    401,
    `authorization: Bearer ${ALICE_TOKEN}\r\n` +
    `authorization: Bearer ${BOB_TOKEN}\r\n`,
  ],
  "the same Authorization header twice": [
    401,
    `authorization: Bearer ${ALICE_TOKEN}\r\n`.repeat(2),
  ],
  "two x-api-keys": [
    401,
    `x-api-key: ${ALICE_TOKEN}\r\nx-api-key: ${BOB_TOKEN}\r\n`,
  ],
  "bytes beyond ASCII": [401, "authorization: Bearer mg_\xe9\xff\r\n"],
  "a NUL": [400, `authorization: Bearer ${ALICE_TOKEN}\0\r\n`],
  "a carriage return": [400, `authorization: Bearer mg_\r${ALICE_TOKEN}\r\n`],
  "a line feed": [400, `authorization: Bearer mg_\n${ALICE_TOKEN}: x\r\n`],
  "a folded header": [400, `authorization: Bearer\r\n ${ALICE_TOKEN}\r\n`],
  "a space before the colon": [
    400,
    `authorization : Bearer ${ALICE_TOKEN}\r\n`,
  ],
};

Deno.test("credentials that no normal client sends are rejected, and the gateway continues to serve", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(fileFor(upstream));
  await steps(t, Object.entries(RAW_LINES), async ([, [status, lines]]) => {
    const answer = await sendRaw(
      gateway.port,
      `GET /v1/models HTTP/1.1\r\nhost: a\r\nconnection: close\r\n${lines}\r\n`,
    );
    assert.equal(errorAnswer(answer, "chat").status, status);
    const next = await send("the list of models", bearer("mg_bob"), gateway);
    await next.body?.cancel();
    assert.equal(next.status, 200);
  });
});

const KEY = "sk-upstream-0123456789-abcdef";

function fileForEchoedKey(url: string): Record<string, unknown> {
  const families = ["A", "B", "C"] as const;
  return minimalFile({
    connections: families.map((family) =>
      familyConnection(family, url, {
        auth: { scheme: family === "B" ? "x-api-key" : "bearer", key: KEY },
      })
    ),
  });
}

/** The native and the translated models of each protocol. */
const MODELS = {
  chat: ["model-a", "model-b", "model-c"],
  messages: ["model-b", "model-a"],
  responses: ["model-c", "model-a"],
} as const;

const escaped = [...KEY].map((one) =>
  `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`
).join("");

/** Mentions of the key in an upstream's error. */
const WORDS = {
  plain: `Cannot use ${KEY} here`,
  "its beginning": `Cannot use ${KEY.slice(0, 20)}*** here`,
  escaped: `Cannot use ${escaped} here`,
  "base64": `Cannot use Basic ${btoa(`user:${KEY}`)} here`,
};

function assertClean(text: string, lines: string): void {
  for (const one of [text, lines]) {
    assert.ok(!one.includes(KEY.slice(4, 14)), one);
    assert.ok(!one.includes(escaped.slice(0, 60)), one);
    assert.ok(!one.includes(btoa(`user:${KEY}`).slice(8, 24)), one);
  }
}

async function everyWay(
  gateway: RunningGateway,
  stream: boolean,
): Promise<readonly Response[]> {
  const ways = PROTOCOLS.flatMap((protocol) =>
    MODELS[protocol].map((model) =>
      gateway.ask(protocol, hello(protocol, { model, stream }))
    )
  );
  return await Promise.all(ways);
}

for (const status of [400, 403, 404, 429, 500]) {
  Deno.test(`a provider's error of status ${status} that quotes the key arrives without it`, (t) =>
    steps(t, Object.entries(WORDS), async ([, words]) => {
      await using upstream = startUpstream(() =>
        new Response(
          `{"type":"error","error":{"message":"${words}","type":"invalid_request_error","code":"${
            words.split(" ")[2]
          }"}}`,
          {
            status,
            headers: {
              "content-type": "application/json",
              "x-request-id": KEY,
              "x-debug": `Bearer ${KEY}`,
              "x-kept": "1",
            },
          },
        )
      );
      await using gateway = await startGateway(
        fileForEchoedKey(upstream.url),
        { timers: hurriedTimers },
      );
      for (const response of await everyWay(gateway, false)) {
        const text = await response.text();
        assert.ok(response.status >= 400);
        assert.match(text, /"message":"[^"]+"/);
        const headers = JSON.stringify([...response.headers]);
        assertClean(headers + text, gateway.lines.text());
      }
    }));
}

Deno.test("an error that does not contain the key is forwarded byte for byte", async () => {
  const body = '{"error" : {"message":"sk-upstream is no model"}}';
  await using upstream = startUpstream(() =>
    new Response(body, {
      status: 400,
      headers: { "content-type": "application/json" },
    })
  );
  await using gateway = await startGateway(fileForEchoedKey(upstream.url), {
    timers: hurriedTimers,
  });
  const response = await gateway.ask("chat");
  assert.equal(await response.text(), body);
});

/** An error event in a stream of each protocol, after a first chunk of text. */
const BROKEN_STREAMS = {
  chat:
    `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"}}]}\n\n` +
    `data: {"error":{"message":"the key ${KEY} is over","code":500}}\n\n`,
  messages:
    `event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}\n\n` +
    `event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n` +
    `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}\n\n` +
    `event: error\ndata: {"type":"error","error":{"type":"api_error","message":"the key ${KEY} is over"}}\n\n`,
  responses:
    `event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{"id":"r","object":"response","status":"in_progress","output":[]}}\n\n` +
    `event: error\ndata: {"type":"error","sequence_number":1,"code":"server_error","message":"the key ${KEY} is over"}\n\n`,
};

Deno.test("an error event in a stream arrives without the key", async (t) => {
  for (const pieceBytes of [1000, 37]) {
    await t.step(`in pieces of ${pieceBytes} bytes`, async () => {
      await using upstream = startUpstream(({ path }) => {
        const broken = BROKEN_STREAMS[protocolOfPath(path)];
        const bytes = new TextEncoder().encode(broken);
        const pieces = Array.from(
          { length: Math.ceil(bytes.length / pieceBytes) },
          (_, index) =>
            bytes.slice(index * pieceBytes, (index + 1) * pieceBytes),
        );
        return new Response(ReadableStream.from(pieces), {
          headers: { "content-type": "text/event-stream" },
        });
      });
      await using gateway = await startGateway(fileForEchoedKey(upstream.url), {
        timers: hurriedTimers,
      });
      for (const response of await everyWay(gateway, true)) {
        const text = await response.text().catch(() => "");
        assertClean(text, gateway.lines.text());
      }
    });
  }
});

const ECHO = `the key is ${KEY}`;

/** A whole answer of each protocol whose text holds the key. */
const WHOLE_ANSWERS = {
  chat: {
    object: "chat.completion",
    choices: [{
      index: 0,
      message: { role: "assistant", content: ECHO },
      finish_reason: "stop",
    }],
  },
  messages: {
    type: "message",
    role: "assistant",
    content: [{ type: "text", text: ECHO }],
    stop_reason: "end_turn",
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  responses: {
    object: "response",
    status: "completed",
    output: [{
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: ECHO, annotations: [] }],
    }],
  },
};

Deno.test("a JSON answer that quotes the key arrives without the key, native or translated, as JSON or as a stream", async () => {
  await using upstream = startUpstream(({ path }) =>
    Response.json(WHOLE_ANSWERS[protocolOfPath(path)])
  );
  await using gateway = await startGateway(fileForEchoedKey(upstream.url), {
    timers: hurriedTimers,
  });
  for (const stream of [false, true]) {
    for (const response of await everyWay(gateway, stream)) {
      const text = await response.text();
      assert.equal(response.status, 200);
      assertClean(text, gateway.lines.text());
      assert.match(text, /the key is \*+"/);
    }
  }
});
