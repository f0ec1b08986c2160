import assert from "node:assert/strict";
import { ask, hello, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import {
  type ErrorAnswer,
  errorAnswer,
  readError,
} from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import { ALICE_TOKEN } from "../../support/gateway/config.ts";
import { digest } from "../../support/wire/digest.ts";
import { paddedBody, streamOf } from "../../support/wire/padded_body.ts";
import { connectRaw, sendRaw } from "../../support/wire/raw_socket.ts";
import { within } from "../../support/within.ts";
import { steps } from "../../support/steps.ts";

/**
 * Bodies that are not exactly one JSON object, or have an invalid `model` or `stream`, and the
 * invalid field.
 */
const REFUSED: Readonly<
  Record<
    string,
    readonly [body: string | Uint8Array<ArrayBuffer>, param?: string]
  >
> = {
  "nothing": [""],
  "no JSON": ["hello"],
  "bytes that are no UTF-8": [bytesOf(`{"model":"model-a","x":"\xff"}`)],
  "a model that is a number": [`{"model":1}`, "model"],
  "two models, one in escapes": [
    `{"model":"model-a","mod\\u0065l":"model-b"}`,
    "model",
  ],
  "a stream that is a string": [
    `{"model":"model-a","stream":"true"}`,
    "stream",
  ],
};

function bytesOf(characters: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(characters, (one) => one.charCodeAt(0));
}

Deno.test("an ambiguous or invalid body is 400 in the path's protocol", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const protocol of PROTOCOLS) {
    for (const [name, [body, param]] of Object.entries(REFUSED)) {
      await t.step(`${protocol}: ${name}`, async () => {
        const response = await gateway.ask(protocol, body);
        const error = await readError(response, protocol);
        assert.equal(error.status, 400);
        assert.equal(error.type, "invalid_request_error");
        if (protocol !== "messages") assert.equal(error.param, param ?? null);
        if (param !== undefined) assert.ok(error.message.includes(param));
      });
    }
  }
  assert.equal(upstream.requests.items.length, 0);
});

/** Bodies that look dangerous, but that the gateway leaves to the upstream. */
const PASSED: Readonly<Record<string, string>> = {
  "depth 100,000": `{"x":${"[".repeat(1e5)}${
    "]".repeat(1e5)
  },"model":"model-a"}`,
  "a model below the top": `{"x":{"model":"model-b"},"model":"model-a"}`,
  "other duplicate keys": `{"x":1,"x":2,"model":"model-a"}`,
  "__proto__": `{"__proto__":{"model":"model-b"},"model":"model-a"}`,
  "a number that no double holds": `{"x":1e400,"model":"model-a"}`,
  "lone surrogates in escapes": `{"x":"\\ud800","model":"model-a"}`,
  "another base URL": `{"base_url":"http://evil.example","model":"model-a"}`,
  "a stream that is null": `{"stream":null,"model":"model-a"}`,
  "100,000 keys": `{${
    Array.from({ length: 1e5 }, (_, index) => `"k${index}":0`).join()
  },"model":"model-a"}`,
};

Deno.test("unusual but valid bodies are forwarded byte for byte", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  await steps(t, Object.entries(PASSED), async ([, body]) => {
    const response = await gateway.ask("chat", body);
    await response.body?.cancel();
    assert.equal(response.status, 200);
    const seen = await upstream.requests.next();
    assert.ok(seen.text() === body);
    assert.equal(seen.path, "/a/chat/completions");
  });
});

Deno.test("content types that are not JSON are 415", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  await steps(t, PROTOCOLS, async (protocol) => {
    const headers = { "content-type": "text/plain;charset=UTF-8" };
    const request = ask(protocol, hello(protocol), headers);
    const response = await gateway.call(PATHS[protocol], request);
    const error = await readError(response, protocol);
    assert.equal(error.status, 415);
    assert.equal(error.type, "invalid_request_error");
  });
  await t.step(
    "a content type of JSON other than application/json is forwarded unchanged",
    async () => {
      const headers = { "content-type": "Application/VND.api+json" };
      const request = ask("chat", hello("chat"), headers);
      const response = await gateway.call(PATHS.chat, request);
      await response.body?.cancel();
      assert.equal(response.status, 200);
      const seen = await upstream.requests.next();
      assert.equal(
        seen.headers.get("content-type"),
        "Application/VND.api+json",
      );
    },
  );
});

const MIB = 1024 * 1024;

/** The limit of every route with a body (docs/design.md#paths). */
const ROUTES: readonly (readonly [
  path: string,
  protocol: Protocol,
  model: string,
  mib: 8 | 32,
])[] = [
  ["/v1/chat/completions", "chat", "model-a", 8],
  ["/api/v1/completions", "chat", "model-a", 8],
  ["/api/coding/paas/v4/chat/completions", "chat", "model-a", 8],
  ["/api/anthropic/v1/messages", "messages", "model-a", 8],
  ["/api/anthropic/v1/messages/count_tokens", "messages", "model-a", 8],
  ["/v1/messages", "messages", "model-b", 32],
  ["/api/v1/messages/count_tokens", "messages", "model-b", 32],
  ["/v1/responses", "responses", "model-c", 32],
  ["/api/v1/responses/compact", "responses", "model-c", 32],
];

/** One route for each limit, for tests of bodies whose length is slow to find. All routes share the code. */
const ROUTE_BY_LIMIT = [
  ...new Map(ROUTES.map((row) => [row[3], row])).values(),
];

for (const way of ["with its length", "chunked"] as const) {
  const routes = way === "chunked" ? ROUTE_BY_LIMIT : ROUTES;
  const wrap = (bytes: Uint8Array<ArrayBuffer>) =>
    way === "chunked" ? streamOf(bytes) : bytes;

  Deno.test(`a body of exactly the route's limit is forwarded completely, ${way}`, async (t) => {
    await using upstream = startUpstream();
    await using gateway = await startGateway(familiesFile(upstream.url));
    for (const [path, protocol, model, mib] of routes) {
      await t.step(`${path}: ${mib} MiB`, async () => {
        const body = paddedBody(model, mib * MIB);
        const response = await gateway.call(path, ask(protocol, wrap(body)));
        assert.equal(response.status, 200, await response.text());
        const seen = await upstream.requests.next();
        assert.equal(await digest(seen.body), await digest(body));
        assert.equal(seen.headers.get("content-length"), String(body.length));
        assert.equal((await gateway.lines.of(response)).bytes_in, body.length);
      });
    }
  });
}

function checkTooLarge(error: ErrorAnswer, mib: number): void {
  assert.equal(error.status, 413);
  assert.equal(error.type, "request_too_large");
  assert.ok(error.message.includes(`${mib} MiB`));
}

function head(path: string, length: string): string {
  return `POST ${path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n` +
    `content-type: application/json\r\nauthorization: Bearer ${ALICE_TOKEN}\r\n` +
    `anthropic-version: 2023-06-01\r\n${length}\r\n\r\n`;
}

Deno.test("a body with a length above the limit is rejected before a byte of it is sent", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  await steps(t, ROUTES, async ([path, protocol, , mib]) => {
    const length = `content-length: ${mib * MIB + 1}`;
    const answer = await sendRaw(gateway.port, head(path, length));
    checkTooLarge(errorAnswer(answer, protocol), mib);
  });
});

Deno.test("an endless body is rejected as soon as it is too long", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  const chunk = new TextEncoder().encode(`100000\r\n${" ".repeat(MIB)}\r\n`);
  await steps(t, ROUTE_BY_LIMIT, async ([path, protocol, , mib]) => {
    using socket = await connectRaw(gateway.port);
    await socket.write(head(path, "transfer-encoding: chunked"));
    for (let count = 0; count <= mib; count++) await socket.write(chunk);
    assert.equal(errorAnswer(await socket.answer(), protocol).status, 413);
    const { bytes_in } = await gateway.lines.requests.next();
    assert.ok(Number(bytes_in) >= mib * MIB, String(bytes_in));
  });
});

const UNREAD_BODY_MIB = 1024 * 1024;
const PIECE = new Uint8Array(UNREAD_BODY_MIB).fill(32);

/** The content-length of a body that would take hours. */
const ENDLESS = "content-length: 1000000000000";

/** Invalid requests, and their responses. */
const UNREAD_BODY_REFUSED: Readonly<
  Record<string, readonly [start: string, status: number]>
> = {
  "without a credential": ["POST /v1/chat/completions", 401],
  "with a credential": [
    `POST /v1/chat/completions HTTP/1.1\r\nauthorization: Bearer ${ALICE_TOKEN}`,
    413,
  ],
  "to an unknown path": ["POST /nothing", 404],
  "with a wrong method": ["PUT /v1/chat/completions", 405],
  "with a method that has no body": ["GET /livez", 200],
};

function headUnreadBody(start: string): string {
  const line = start.includes(" HTTP/1.1") ? start : `${start} HTTP/1.1`;
  return `${line}\r\nhost: a\r\ncontent-type: application/json\r\n${ENDLESS}\r\n\r\n`;
}

Deno.test("a request with a huge content-length gets a response, and its connection closes", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  for (const [name, [start, status]] of Object.entries(UNREAD_BODY_REFUSED)) {
    await t.step(
      `${name}, for a caller that sends none of the body`,
      async () => {
        using socket = await connectRaw(gateway.port);
        await socket.write(headUnreadBody(start));
        const text = await socket.readAll();
        assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `));
        assert.match(text, /\r\nconnection: close\r\n/i);
        assert.match(text, /x-request-id/i);
        assert.doesNotMatch(text, /\r\n0\r\n/);
        if (status !== 200) assert.match(text, /"message":/);
      },
    );
    await t.step(`${name}, for a caller that keeps sending`, async () => {
      using socket = await connectRaw(gateway.port);
      await socket.write(headUnreadBody(start));
      const flood = async () => {
        for (;;) await socket.write(PIECE);
      };
      await assert.rejects(within(flood(), "the connection to break"), {
        name: /BrokenPipe|ConnectionReset/,
      });
    });
  }
});

Deno.test("a request with a slightly too long body gets a complete response at once", async () => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  const answer = await sendRaw(
    gateway.port,
    `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n` +
      `authorization: Bearer ${ALICE_TOKEN}\r\ncontent-length: ${
        64 * UNREAD_BODY_MIB
      }\r\n\r\n`,
  );
  assert.equal(answer.status, 413);
  assert.equal(answer.isWhole, true);
});

Deno.test("the rest of a rejected body of unknown length is read up to a limit", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  const chunk = new TextEncoder().encode(
    `100000\r\n${" ".repeat(UNREAD_BODY_MIB)}\r\n`,
  );
  const starts = {
    "without a credential": "POST /v1/chat/completions HTTP/1.1\r\n",
    "of a method that has no body": "GET /livez HTTP/1.1\r\n",
  };
  await steps(t, Object.entries(starts), async ([, start]) => {
    using socket = await connectRaw(gateway.port);
    await socket.write(
      `${start}host: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
    );
    const flood = async () => {
      for (;;) await socket.write(chunk);
    };
    await assert.rejects(within(flood(), "the connection to break"), {
      name: /BrokenPipe|ConnectionReset/,
    });
  });
});

Deno.test("a request with a rejected body of unknown length gets a complete response if the body ends soon", async () => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  const answer = await sendRaw(
    gateway.port,
    "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n" +
      "transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
  );
  assert.equal(answer.status, 401);
  assert.equal(answer.isWhole, true);
});
