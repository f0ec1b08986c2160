import assert from "node:assert/strict";
import type { Protocol } from "../../../src/core/protocol.ts";
import { ask } from "../../support/wire/ask.ts";
import { ALICE_TOKEN } from "../../support/gateway/config.ts";
import { digest } from "../../support/wire/digest.ts";
import { errorAnswer, readError } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { paddedBody, streamOf } from "../../support/wire/padded_body.ts";
import { connectRaw, sendRaw } from "../../support/wire/raw_socket.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";

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

/**
 * One route for each limit, for bodies whose length is slow to find; the code is the same for every
 * route.
 */
const ROUTE_BY_LIMIT = [
  ...new Map(ROUTES.map((row) => [row[3], row])).values(),
];

for (const way of ["with its length", "chunked"] as const) {
  const routes = way === "chunked" ? ROUTE_BY_LIMIT : ROUTES;
  const wrap = (bytes: Uint8Array<ArrayBuffer>) =>
    way === "chunked" ? streamOf(bytes) : bytes;

  Deno.test(`a body of exactly the route's limit passes whole, ${way}`, async (t) => {
    await using upstream = startUpstream();
    await using gateway = await startGateway(familiesFile(upstream.url));
    for (const [path, protocol, model, mib] of routes) {
      await t.step(`${path}: ${mib} MiB`, async () => {
        const body = paddedBody(model, mib * MIB);
        const response = await gateway.call(path, ask(protocol, wrap(body)));
        assert.equal(response.status, 200, await response.text());
        const seen = await upstream.requests.next();
        assert.equal(await digest(seen.body), await digest(body));
        assert.equal(
          seen.headers.get("content-length"),
          String(body.length),
        );
        assert.equal((await gateway.lines.of(response)).bytes_in, body.length);
      });
    }
  });

  Deno.test(`a body of one byte more is 413, ${way}`, async (t) => {
    await using upstream = startUpstream();
    await using gateway = await startGateway(familiesFile(upstream.url));
    for (const [path, protocol, model, mib] of routes) {
      await t.step(`${path}: ${mib} MiB`, async () => {
        const body = paddedBody(model, mib * MIB + 1);
        const response = await gateway.call(path, ask(protocol, wrap(body)));
        const error = await readError(response, protocol);
        assert.equal(error.status, 413);
        assert.equal(error.type, "request_too_large");
        assert.ok(error.message.includes(`${mib} MiB`));
      });
    }
    assert.equal(upstream.requests.items.length, 0);
  });
}

function head(path: string, length: string): string {
  return `POST ${path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n` +
    `content-type: application/json\r\nauthorization: Bearer ${ALICE_TOKEN}\r\n` +
    `anthropic-version: 2023-06-01\r\n${length}\r\n\r\n`;
}

Deno.test("a body with a length above the limit is rejected before a byte of it is sent", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  for (const [path, protocol, , mib] of ROUTES) {
    await t.step(path, async () => {
      const length = `content-length: ${mib * MIB + 1}`;
      const answer = await sendRaw(gateway.port, head(path, length));
      assert.equal(errorAnswer(answer, protocol).status, 413);
    });
  }
});

Deno.test("an endless body is rejected as soon as it is too long", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  const chunk = new TextEncoder().encode(`100000\r\n${" ".repeat(MIB)}\r\n`);
  for (const [path, protocol, , mib] of ROUTE_BY_LIMIT) {
    await t.step(path, async () => {
      using socket = await connectRaw(gateway.port);
      await socket.write(head(path, "transfer-encoding: chunked"));
      for (let count = 0; count <= mib; count++) await socket.write(chunk);
      assert.equal(errorAnswer(await socket.answer(), protocol).status, 413);
      const { bytes_in } = await gateway.lines.requests.next();
      assert.ok(Number(bytes_in) >= mib * MIB, String(bytes_in));
    });
  }
});
