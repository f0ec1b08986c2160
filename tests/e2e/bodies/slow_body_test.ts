import assert from "node:assert/strict";
import type { Protocol } from "../../../src/core/protocol.ts";
import { hello, PATHS, PROTOCOLS } from "../../support/wire/ask.ts";
import { ALICE_TOKEN } from "../../support/gateway/config.ts";
import { errorAnswer } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { connectRaw, sendRaw } from "../../support/wire/raw_socket.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";

function head(protocol: Protocol, ...lines: readonly string[]): string {
  return [
    `POST ${PATHS[protocol]} HTTP/1.1`,
    "host: a",
    "content-type: application/json",
    `authorization: Bearer ${ALICE_TOKEN}`,
    "anthropic-version: 2023-06-01",
    ...lines,
    "\r\n",
  ].join("\r\n");
}

/** Bodies that begin and then do not go on. */
const STALLED: Readonly<Record<string, readonly string[]>> = {
  "with its length": ["content-length: 100"],
  "with a large length": ["content-length: 4000000"],
  "chunked": ["transfer-encoding: chunked"],
  "compressed": ["content-length: 100", "content-encoding: gzip"],
};

Deno.test("a body that does not arrive in time is 408, and the slot is free again", async (t) => {
  const timeouts = { body: 100 };
  await using gateway = await startGateway(
    familiesFile("http://127.0.0.1:9", { timeouts }),
  );
  for (const protocol of PROTOCOLS) {
    for (const [name, lines] of Object.entries(STALLED)) {
      await t.step(`${protocol}: ${name}`, async () => {
        const request = head(protocol, ...lines);
        const error = errorAnswer(
          await sendRaw(gateway.port, request),
          protocol,
        );
        assert.equal(error.status, 408);
        assert.equal(error.type, "timeout_error");
        const line = await gateway.lines.requests.next();
        assert.equal(line.status, 408);
        assert.equal(line.ended, "error");
        assert.equal(gateway.admission.active, 0);
      });
    }
  }
});

Deno.test("a body that comes drop by drop is 408 too: the deadline is for the whole of it", async () => {
  const timeouts = { body: 300 };
  await using gateway = await startGateway(
    familiesFile("http://127.0.0.1:9", { timeouts }),
  );
  using socket = await connectRaw(gateway.port);
  await socket.write(head("chat", "content-length: 1000000"));
  let answered = false;
  const answer = socket.answer().finally(() => {
    answered = true;
  });
  while (!answered) {
    await socket.write(" ");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.equal(errorAnswer(await answer, "chat").status, 408);
});

/** Bodies whose sender leaves before their end. */
const BROKEN_OFF: Readonly<Record<string, readonly [string, string]>> = {
  "shorter than its length": ["content-length: 100", `{"model":`],
  "far shorter than its length": ["content-length: 4000000", `{"model":`],
  "without its last chunk": ["transfer-encoding: chunked", "2\r\n{}\r\n"],
};

Deno.test("a body that breaks off reaches no upstream and is logged as the caller's leaving", async (t) => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const [name, [line, body]] of Object.entries(BROKEN_OFF)) {
    await t.step(name, async () => {
      const socket = await connectRaw(gateway.port);
      await socket.write(head("chat", line) + body);
      socket[Symbol.dispose]();
      const { ended, status } = await gateway.lines.requests.next();
      assert.equal(ended, "client_abort");
      assert.equal(status, 499);
      assert.equal(gateway.admission.active, 0);
    });
  }
  assert.equal(upstream.requests.items.length, 0);
});

Deno.test("what comes behind the declared length is no part of the body", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const body = hello("chat");
  const length = `content-length: ${body.length - 1}`;
  const answer = await sendRaw(gateway.port, head("chat", length) + body);
  assert.equal(errorAnswer(answer, "chat").status, 400);
  assert.equal(upstream.requests.items.length, 0);
});
