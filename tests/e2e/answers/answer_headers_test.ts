import assert from "node:assert/strict";
import {
  brotliCompressSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { ask, hello, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { say, startRawUpstream } from "../../support/upstream/raw_upstream.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { JSON_HEADERS, SSE_HEADERS } from "../../support/wire/answers.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { hurriedTimers } from "../../support/fakes/hurried_timers.ts";
import { within } from "../../support/within.ts";
import { steps } from "../../support/steps.ts";

/** Headers that the caller receives. */
const PASSED = {
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-cache",
  "retry-after": "2",
  "openai-model": "gpt-5.5",
  "openai-processing-ms": "17",
  "openai-version": "2020-10-01",
  "anthropic-ratelimit-requests-remaining": "99",
  "x-codex-turn-state": "ts-124",
  "x-codex-primary-used-percent": "12",
  "x-models-etag": "W/1",
  "x-ratelimit-limit-tokens": "100000",
  "x-should-retry": "false",
  "x-unheard-of": "1",
};

/** Headers of the upstream's own connection, body encoding and host. */
const WITHHELD = {
  "connection": "close, x-only-here",
  "x-only-here": "1",
  "keep-alive": "timeout=5",
  "proxy-connection": "close",
  "trailer": "x-checksum",
  "upgrade": "h2c",
  "set-cookie": "session=1",
  "www-authenticate": "Bearer",
  "proxy-authenticate": "Basic",
  "alt-svc": 'h3=":443"',
  "authorization": "Bearer 1",
  "x-api-key": "1",
  "api-key": "1",
  "x-goog-api-key": "1",
  "openai-organization": "org-1",
  "openai-project": "proj-1",
  "anthropic-organization-id": "org-1",
  "chatgpt-account-id": "1",
  "bigmodel-organization": "1",
  "x-gateway-model": "another",
  "x-gateway-dropped": "seed",
  "x-gateway-unheard-of": "1",
  "x-litellm-key-spend": "12.5",
  "x-litellm-model-api-base": "http://10.0.0.1",
  "strict-transport-security": "max-age=1",
};

/** Headers of every response of the gateway's own server. */
const OWN = ["content-length", "date", "vary", "x-request-id"];

function answerWith(
  headers: Readonly<Record<string, string>>,
  body: string,
): string {
  const lines = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 200 OK\r\n${lines.join("")}` +
    `content-length: ${body.length}\r\n\r\n${body}`;
}

Deno.test("an upstream's headers are forwarded, except the headers that concern only its connection", async () => {
  await using upstream = startRawUpstream((connection) =>
    say(connection, answerWith({ ...PASSED, ...WITHHELD }, "{}"))
  );
  await using gateway = await startGateway(familiesFile(upstream.url));
  const { headers, body } = await gateway.ask("chat");
  await body?.cancel();
  const seen = Object.fromEntries(
    [...headers].filter(([name]) => !OWN.includes(name)),
  );
  assert.deepEqual(seen, PASSED);
});

Deno.test("every answer has the gateway's request id; the upstream's own goes to the log", async (t) => {
  await using upstream = startUpstream(() =>
    Response.json({}, { headers: { "x-request-id": "upstream-1" } })
  );
  await using gateway = await startGateway(familiesFile(upstream.url));
  await steps(t, PROTOCOLS, async (protocol) => {
    const response = await gateway.ask(protocol);
    await response.body?.cancel();
    const id = response.headers.get("x-request-id");
    assert.match(id ?? "", /^req_[0-9a-f]{32}$/);
    assert.equal(
      response.headers.get("request-id"),
      protocol === "messages" ? id : null,
    );
    const line = await gateway.lines.of(response);
    assert.equal(line.upstream_request_id, "upstream-1");
  });
});

Deno.test("a Messages answer keeps the upstream's request-id header, because Anthropic's SDK reads it", async () => {
  await using upstream = startUpstream(() =>
    Response.json({}, { headers: { "request-id": "req_upstream" } })
  );
  await using gateway = await startGateway(familiesFile(upstream.url));
  const response = await gateway.ask("messages");
  await response.body?.cancel();
  assert.equal(response.headers.get("request-id"), "req_upstream");
  const line = await gateway.lines.of(response);
  assert.equal(line.upstream_request_id, "req_upstream");
});

Deno.test("openai-model is withheld when the model was renamed", async () => {
  await using upstream = startUpstream(() =>
    Response.json({}, { headers: { "openai-model": "upstream-c" } })
  );
  await using gateway = await startGateway(familiesFile(upstream.url));
  const modelHeader = async (model: string) => {
    const init = ask("responses", hello("responses", { model }));
    const response = await gateway.call(PATHS.responses, init);
    await response.body?.cancel();
    return response.headers.get("openai-model");
  };
  assert.equal(await modelHeader("renamed-c"), null);
  assert.equal(await modelHeader("model-c"), "upstream-c");
});

Deno.test("x-codex-turn-state is forwarded in both directions", async () => {
  await using upstream = startUpstream(({ headers }) => {
    const state = headers.get("x-codex-turn-state");
    return Response.json({}, {
      headers: { "x-codex-turn-state": `${state}+1` },
    });
  });
  await using gateway = await startGateway(familiesFile(upstream.url));
  const headers = { "x-codex-turn-state": "ts-1" };
  const response = await gateway.ask("responses", hello("responses"), headers);
  await response.body?.cancel();
  assert.equal(response.headers.get("x-codex-turn-state"), "ts-1+1");
});

Deno.test("answers without a body are forwarded", async (t) => {
  for (const status of [204, 205, 304]) {
    await t.step(String(status), async () => {
      await using upstream = startUpstream(() =>
        new Response(null, { status, headers: { "x-unheard-of": "1" } })
      );
      await using gateway = await startGateway(familiesFile(upstream.url));
      const response = await gateway.ask("chat");
      if (status === 304) {
        // A redirection is not an answer to a POST.
        assert.equal(response.status, 502);
        await response.body?.cancel();
      } else {
        assert.equal(response.status, status);
        assert.equal(response.headers.get("x-unheard-of"), "1");
      }
      assert.equal(gateway.admission.active, 0);
    });
  }
});

/** Encodings that upstreams may choose, although the gateway requests none. */
const ENCODINGS: Readonly<Record<string, (text: string) => Uint8Array>> = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: (text) => zstdCompressSync(text),
};

const STREAM = `data: {"choices":[{"delta":{"content":"ü🙂"}}]}\n\n` +
  `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}\n\n` +
  "data: [DONE]\n\n";

const ANSWERS: Readonly<
  Record<string, readonly [text: string, type: HeadersInit]>
> = {
  "short JSON": [
    `{"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
    JSON_HEADERS,
  ],
  "long JSON": [
    `{"x":"${
      "ü".repeat(300_000)
    }","usage":{"prompt_tokens":3,"completion_tokens":4}}`,
    JSON_HEADERS,
  ],
  "a stream": [STREAM, SSE_HEADERS],
};

function encoded(
  bytes: Uint8Array,
  encoding: string,
  headers: HeadersInit,
): Response {
  const all = new Headers(headers);
  all.set("content-encoding", encoding);
  return new Response(new Uint8Array(bytes), { headers: all });
}

Deno.test("an answer that the provider compresses unasked is decompressed, and its tokens are counted", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const [encoding, compress] of Object.entries(ENCODINGS)) {
    for (const [name, [text, headers]] of Object.entries(ANSWERS)) {
      await t.step(`${encoding}: ${name}`, async () => {
        upstream.play(() => encoded(compress(text), encoding, headers));
        const response = await gateway.ask("chat");
        // With `identity`, a proxy neither compresses nor holds back a stream.
        const isStream = headers === SSE_HEADERS;
        assert.equal(
          response.headers.get("content-encoding"),
          isStream ? "identity" : null,
        );
        assert.ok(await response.text() === text);
        const line = await gateway.lines.of(response);
        assert.equal(line.ended, "complete");
        assert.deepEqual(line.usage, { input_tokens: 3, output_tokens: 4 });
        const seen = await upstream.requests.next();
        assert.equal(seen.headers.get("accept-encoding"), "identity");
      });
    }
  }
});

Deno.test("an error that the provider compresses unasked is decompressed", async () => {
  const text = `{"error":{"message":"Nö"}}`;
  await using upstream = startUpstream(() =>
    new Response(new Uint8Array(gzipSync(text)), {
      status: 429,
      headers: { "content-encoding": "gzip", "retry-after": "3" },
    })
  );
  await using gateway = await startGateway(familiesFile(upstream.url), {
    timers: hurriedTimers,
  });
  const response = await gateway.ask("chat");
  assert.equal(response.status, 429);
  assert.equal(response.headers.get("retry-after"), "3");
  assert.equal(await response.text(), text);
});

Deno.test("a translated answer may be compressed too", async () => {
  const text = JSON.stringify({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "model-b",
    content: [{ type: "text", text: "Grüße" }],
    stop_reason: "end_turn",
    usage: { input_tokens: 1, output_tokens: 1 },
  });
  await using upstream = startUpstream(() =>
    encoded(gzipSync(text), "gzip", JSON_HEADERS)
  );
  await using gateway = await startGateway(familiesFile(upstream.url));
  const init = ask("chat", hello("chat", { model: "model-b" }));
  const response = await gateway.call(PATHS.chat, init);
  const answer = await response.json();
  assert.equal(answer.choices[0].message.content, "Grüße");
});

Deno.test("an answer in an unknown encoding is 502", async (t) => {
  await using upstream = startUpstream(() =>
    encoded(new Uint8Array(9), "compress", JSON_HEADERS)
  );
  await using gateway = await startGateway(familiesFile(upstream.url), {
    timers: hurriedTimers,
  });
  await steps(t, PROTOCOLS, async (protocol) => {
    const response = await gateway.ask(protocol);
    assert.equal((await readError(response, protocol)).status, 502);
    assert.equal((await gateway.lines.of(response)).error, "upstream_broken");
  });
});

Deno.test("an answer whose compression is invalid breaks off for the caller", async () => {
  const cut = gzipSync("x".repeat(100_000)).subarray(0, -20);
  await using upstream = startUpstream(() =>
    encoded(cut, "gzip", JSON_HEADERS)
  );
  await using gateway = await startGateway(familiesFile(upstream.url));
  const response = await gateway.ask("chat");
  await assert.rejects(within(response.text(), "the answer to break"));
  const line = await gateway.lines.requests.next();
  assert.equal(line.ended, "upstream_broken");
});
