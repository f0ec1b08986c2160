import assert from "node:assert/strict";
import {
  brotliCompressSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { JSON_HEADERS, SSE_HEADERS } from "../../support/wire/answers.ts";
import { ask, hello, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import { readError } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { hurriedTimers } from "../../support/fakes/hurried_timers.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { within } from "../../support/within.ts";

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

Deno.test("an answer that is compressed without a request is decompressed, and its tokens are counted", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const [encoding, compress] of Object.entries(ENCODINGS)) {
    for (const [name, [text, headers]] of Object.entries(ANSWERS)) {
      await t.step(`${encoding}: ${name}`, async () => {
        upstream.play(() => encoded(compress(text), encoding, headers));
        const response = await gateway.call(PATHS.chat, ask("chat"));
        assert.equal(response.headers.get("content-encoding"), null);
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

Deno.test("an error that is compressed without a request is decompressed", async () => {
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
  const response = await gateway.call(PATHS.chat, ask("chat"));
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
  for (const protocol of PROTOCOLS) {
    await t.step(protocol, async () => {
      const response = await gateway.call(PATHS[protocol], ask(protocol));
      assert.equal((await readError(response, protocol)).status, 502);
      assert.equal((await gateway.lines.of(response)).error, "upstream_broken");
    });
  }
});

Deno.test("an answer that violates its encoding breaks off for the caller", async () => {
  const cut = gzipSync("x".repeat(100_000)).subarray(0, -20);
  await using upstream = startUpstream(() =>
    encoded(cut, "gzip", JSON_HEADERS)
  );
  await using gateway = await startGateway(familiesFile(upstream.url));
  const response = await gateway.call(PATHS.chat, ask("chat"));
  await assert.rejects(within(response.text(), "the answer to break"));
  const line = await gateway.lines.requests.next();
  assert.equal(line.ended, "upstream_broken");
});
