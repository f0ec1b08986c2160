import assert from "node:assert/strict";
import { ALICE_TOKEN } from "../../support/gateway/config.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { connectRaw, sendRaw } from "../../support/wire/raw_socket.ts";
import { ask, hello, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import { errorAnswer, readError } from "../../support/wire/error_answer.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { hurriedTimers } from "../../support/fakes/hurried_timers.ts";
import {
  BODY,
  BROKEN_CHUNKS,
  CHUNKED,
  CHUNKS,
  head,
  LENGTH,
  REFUSED,
  SECOND,
  SIZE,
  statuses,
} from "../../support/wire/framing.ts";
import { until } from "../../support/within.ts";
import { steps } from "../../support/steps.ts";

/** Returns a request for the models with more headers. */
function requestWith(headers: string): string {
  return `GET /v1/models HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${ALICE_TOKEN}\r\n` +
    `${headers}connection: close\r\n\r\n`;
}

function many(count: number): string {
  return Array.from({ length: count }, (_, n) => `x-${n}: a\r\n`).join("");
}

function long(kib: number): string {
  return `x: ${"a".repeat(kib * 1024)}\r\n`;
}

/** The responses to large headers. */
const CASES: Readonly<Record<string, readonly [string, number]>> = {
  "90 headers": [many(90), 200],
  "200 headers": [many(200), 400],
  "10,000 headers": [many(10_000), 400],
  "a value of 60 KiB": [long(60), 200],
  "a value of 64 KiB": [long(64), 400],
  "a value of 1 MiB": [long(1024), 400],
};

Deno.test("more than 200 headers or 64 KiB of them are 400, and the gateway continues to serve", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  await steps(t, Object.entries(CASES), async ([, [headers, expected]]) => {
    const { status } = await sendRaw(gateway.port, requestWith(headers));
    assert.equal(status, expected);
    assert.equal((await sendRaw(gateway.port, requestWith(""))).status, 200);
  });
});

function askWith(version: string, header = "anthropic-version"): RequestInit {
  const init = ask("messages");
  const headers = new Headers(init.headers);
  headers.delete("anthropic-version");
  if (version !== "") headers.set(header, version);
  return { ...init, headers };
}

Deno.test("another `messages_vendor` has its own version header and legacy paths", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(
    familiesFile(upstream.url, { messages_vendor: "acme" }),
  );
  const init = askWith("2023-06-01", "acme-version");
  for (const path of ["/v1/messages", "/api/acme/v1/messages"]) {
    const response = await gateway.call(path, init);
    await response.body?.cancel();
    assert.equal(response.status, 200);
  }
  const renamed = await gateway.call("/v1/messages", askWith("2023-06-01"));
  assert.match((await readError(renamed, "messages")).message, /acme-version/);
  const gone = await gateway.call("/api/anthropic/v1/messages", init);
  assert.equal((await readError(gone, "messages")).status, 404);
});

const UPGRADE = "upgrade: websocket\r\nsec-websocket-version: 13\r\n" +
  "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

Deno.test("a WebSocket upgrade of /responses is 426, with and without a credential", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  for (const path of ["/v1/responses", "/api/v1/responses"]) {
    for (const credential of ["", "authorization: Bearer mg_alice\r\n"]) {
      await t.step(`${path} ${credential}`, async () => {
        const answer = await sendRaw(
          gateway.port,
          `GET ${path} HTTP/1.1\r\nhost: a\r\nconnection: Upgrade, close\r\n` +
            `${UPGRADE}${credential}\r\n`,
        );
        const error = errorAnswer(answer, "responses");
        assert.equal(error.status, 426);
        assert.equal(error.code, "websocket_not_supported");
      });
    }
  }
});

Deno.test("a GET of /responses without an upgrade, or with an upgrade to HTTP/2, is 405", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  await steps(t, ["", "upgrade: h2c\r\n"], async (upgrade) => {
    const answer = await sendRaw(
      gateway.port,
      `GET /v1/responses HTTP/1.1\r\nhost: a\r\nconnection: close\r\n${upgrade}\r\n`,
    );
    assert.equal(errorAnswer(answer, "responses").status, 405);
    assert.equal(answer.headers.get("allow"), "POST");
  });
});

Deno.test("no request goes to an address that a caller names: the upstream is always the configured one", async (t) => {
  await using elsewhere = startUpstream();
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const host = new URL(elsewhere.url).host;
  await steps(t, PROTOCOLS, async (protocol) => {
    const body = hello(protocol, {
      api_base: elsewhere.url,
      base_url: elsewhere.url,
      custom_host: elsewhere.url,
    });
    const headers = {
      "x-forwarded-host": host,
      "x-original-url": elsewhere.url,
      forwarded: `host=${host}`,
    };
    const answer = await gateway.ask(protocol, body, headers);
    assert.equal(answer.status, 200, await answer.text());
    await upstream.requests.next();
    assert.equal(elsewhere.requests.items.length, 0);
  });
});

Deno.test("a picture's URL is forwarded unchanged and never fetched", async (t) => {
  await using elsewhere = startUpstream();
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url), {
    timers: hurriedTimers,
  });
  const url = `${elsewhere.url}/picture.png`;
  const messages = [{
    role: "user",
    content: [{ type: "image_url", image_url: { url } }],
  }];
  await steps(t, ["model-a", "model-b", "model-c"], async (model) => {
    const body = hello("chat", { model, messages });
    const answer = await gateway.ask("chat", body);
    await answer.body?.cancel();
    assert.ok((await upstream.requests.next()).text().includes(url));
    assert.equal(elsewhere.requests.items.length, 0);
  });
});

Deno.test("an ambiguous request is rejected, and no request after it is served", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  await steps(t, Object.entries(REFUSED), async ([, request]) => {
    using socket = await connectRaw(gateway.port);
    await socket.write(request + SECOND);
    assert.deepEqual(statuses(await socket.readAll()), [400]);
  });
  assert.equal(upstream.requests.items.length, 0);
});

/** The server finds the end of these bodies, but does not decode the coding within the chunks. */
const CODED: Readonly<Record<string, string>> = {
  "an unknown coding": head("transfer-encoding: x", CHUNKED) + CHUNKS,
  "a compression": head("transfer-encoding: gzip, chunked") + CHUNKS,
};

Deno.test("an ambiguous request is rejected in the protocol of its path", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  await steps(t, PROTOCOLS, async (protocol) => {
    const request = head(LENGTH, "host: b").replace(
      PATHS.chat,
      PATHS[protocol],
    );
    const error = errorAnswer(
      await sendRaw(gateway.port, request + BODY),
      protocol,
    );
    assert.equal(error.status, 400);
    assert.match(error.message, /several host headers/);
  });
});

Deno.test("a body with a transfer coding besides chunked is rejected in the caller's protocol", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  await steps(t, Object.entries(CODED), async ([, request]) => {
    const error = errorAnswer(await sendRaw(gateway.port, request), "chat");
    assert.equal(error.status, 400);
    assert.match(error.message, /transfer encoding/);
  });
  assert.equal(upstream.requests.items.length, 0);
});

Deno.test("a body in broken chunks is 400, and the bytes after it are not served", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  await steps(t, Object.entries(BROKEN_CHUNKS), async ([, chunks]) => {
    using socket = await connectRaw(gateway.port);
    await socket.write(head(CHUNKED) + chunks + SECOND);
    assert.deepEqual(statuses(await socket.readAll()), [400]);
  });
  assert.equal(upstream.requests.items.length, 0);
});

/** The part of a body that arrives before a malformed chunk. */
const BEGUN_CHUNKS: Readonly<Record<string, string>> = {
  "its first chunk": "",
  "its second chunk": "1\r\n{\r\n",
};

Deno.test("a malformed chunk that arrives while the body is read is 400 in the caller's protocol, and ends the connection", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const protocol of PROTOCOLS) {
    for (const [name, begun] of Object.entries(BEGUN_CHUNKS)) {
      await t.step(`${protocol}: ${name}`, async () => {
        using socket = await connectRaw(gateway.port);
        await socket.write(
          head(CHUNKED, "anthropic-version: 2023-06-01")
            .replace(PATHS.chat, PATHS[protocol]) + begun,
        );
        await until(() => gateway.admission.active === 1, "the request");
        await socket.write("xyz\r\n" + SECOND);
        const error = errorAnswer(await socket.answer(), protocol);
        assert.equal(error.status, 400);
        assert.match(error.message, /its chunks are malformed/);
        assert.equal(await socket.readAll(), "");
        const line = await gateway.lines.requests.next();
        assert.deepEqual([line.status, line.ended], [400, "error"]);
        assert.equal(gateway.admission.active, 0);
      });
    }
  }
  assert.equal(upstream.requests.items.length, 0);
});

/** Unusual but unambiguous requests. */
const SERVED: Readonly<Record<string, string>> = {
  "a length with zeros before it": head(`content-length: 000${BODY.length}`) +
    BODY,
  "chunks in capitals": head("Transfer-Encoding: CHUNKED") + CHUNKS,
  "chunks with an extension": head(CHUNKED) +
    `${SIZE};a=b\r\n${BODY}\r\n0\r\n\r\n`,
  "chunks with a long extension": head(CHUNKED) +
    `${SIZE};a=${"b".repeat(3000)}\r\n${BODY}\r\n0\r\n\r\n`,
  "chunks with a long trailer": head(CHUNKED) +
    `${SIZE}\r\n${BODY}\r\n0\r\nx: ${"y".repeat(12_000)}\r\n\r\n`,
  "chunks with a length and a credential behind them": head(CHUNKED) +
    `${SIZE}\r\n${BODY}\r\n0\r\ncontent-length: 1\r\nauthorization: Bearer x\r\n\r\n`,
};

Deno.test("an unusual but unambiguous request reaches the upstream once, with its body", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const [index, [name, request]] of Object.entries(SERVED).entries()) {
    await t.step(name, async () => {
      const { status } = await sendRaw(gateway.port, request);
      assert.equal(status, 200);
      assert.equal(upstream.requests.items.length, index + 1);
      assert.equal(upstream.requests.items.at(-1)?.text(), BODY);
    });
  }
});

Deno.test("an unread body that looks like a request is not served", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  using socket = await connectRaw(gateway.port);
  const outer = head(`content-length: ${SECOND.length}`)
    .replace(PATHS.chat, "/v1/nothing");
  const last = "GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
  await socket.write(outer + SECOND + last);
  const received = statuses(await socket.readAll());
  assert.equal(received[0], 404);
  assert.equal(upstream.requests.items.length, 0);
});
