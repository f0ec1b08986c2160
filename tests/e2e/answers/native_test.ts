import assert from "node:assert/strict";
import { OPERATIONS } from "../../../src/core/protocol.ts";
import type { Fetch } from "../../../src/upstream/call.ts";
import {
  NATIVE_EXCHANGES,
  type NativeExchange,
} from "../../fixtures/native.ts";
import { piecewise } from "../../support/wire/answers.ts";
import { ask } from "../../support/wire/ask.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import {
  type RunningGateway,
  startGateway,
} from "../../support/gateway/gateway.ts";
import { streamOf } from "../../support/wire/padded_body.ts";
import { checkLoggedUsage } from "../../support/wire/logged_usage.ts";
import { readToEnd } from "../../support/wire/read_to_end.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { within } from "../../support/within.ts";

async function pass(
  exchange: NativeExchange,
  gateway: RunningGateway,
): Promise<void> {
  const { operation, request, status, headers, answer } = exchange;
  const { path, protocol } = OPERATIONS[operation];
  const response = await gateway.call(`/v1${path}`, ask(protocol, request));
  const read = await within(readToEnd(response.body), "the answer to end");
  assert.equal(read.text, answer);
  assert.equal(read.isCut, exchange.isCut ?? false);
  assert.equal(response.status, status);
  assert.equal(response.headers.get("content-type"), headers["content-type"]);
  const line = await gateway.lines.of(response);
  assert.equal(line.ended, exchange.ended);
  checkLoggedUsage(line.usage, exchange.usage, {
    isServed: status < 400 && operation !== "count_tokens",
  });
}

Deno.test("a native connection passes bodies byte for byte and the log counts their tokens", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const [name, exchange] of Object.entries(NATIVE_EXCHANGES)) {
    await t.step(name, async () => {
      const { operation, status, headers, answer, request } = exchange;
      upstream.play(() => new Response(answer, { status, headers }));
      await pass(exchange, gateway);
      const seen = await upstream.requests.next();
      assert.equal(seen.text(), request);
      assert.match(seen.path, /^\/[abc]\//);
      assert.equal(seen.path.slice(2), OPERATIONS[operation].path);
    });
  }
});

Deno.test("a model's name is replaced at its place only, also after megabytes", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const text = JSON.stringify("renamed-a ".repeat(300_000));
  const bodyFor = (model: string) => `{"user":${text},"model":"${model}"}`;
  const sent = new TextEncoder().encode(bodyFor("renamed-a"));
  const ways = { "with its length": sent, chunked: streamOf(sent) };
  for (const [way, body] of Object.entries(ways)) {
    await t.step(way, async () => {
      const response = await gateway.call(
        `/v1${OPERATIONS.chat_completions.path}`,
        ask("chat", body),
      );
      assert.equal(response.status, 200, await response.text());
      const seen = await upstream.requests.next();
      assert.ok(seen.text() === bodyFor("upstream-a"), "another body");
    });
  }
});

Deno.test("a native answer that arrives byte by byte passes unchanged", async (t) => {
  let current: NativeExchange | undefined;
  const fetch: Fetch = () => {
    const { answer, status = 200, headers } = current ?? {};
    const bytes = new TextEncoder().encode(answer);
    const pieces = Array.from(bytes, (byte) => Uint8Array.of(byte));
    return Promise.resolve(
      new Response(piecewise(pieces).body, { status, headers: { ...headers } }),
    );
  };
  const file = familiesFile("http://127.0.0.1:9");
  await using gateway = await startGateway(file, { fetch });
  for (const [name, exchange] of Object.entries(NATIVE_EXCHANGES)) {
    await t.step(name, async () => {
      current = exchange;
      await pass(exchange, gateway);
    });
  }
});
