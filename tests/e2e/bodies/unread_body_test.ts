import assert from "node:assert/strict";
import { ALICE_TOKEN } from "../../support/gateway/config.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { connectRaw, sendRaw } from "../../support/wire/raw_socket.ts";
import { within } from "../../support/within.ts";

const MIB = 1024 * 1024;
const PIECE = new Uint8Array(MIB).fill(32);

/** The header of a body that would take hours. */
const ENDLESS = "content-length: 1000000000000";

/** Invalid requests, and their responses. */
const REFUSED: Readonly<
  Record<string, readonly [start: string, status: number]>
> = {
  "without a credential": ["POST /v1/chat/completions", 401],
  "with a credential": [
    `POST /v1/chat/completions HTTP/1.1\r\nauthorization: Bearer ${ALICE_TOKEN}`,
    413,
  ],
  "to no path": ["POST /nothing", 404],
  "with a wrong method": ["PUT /v1/chat/completions", 405],
  "with a method that has none": ["GET /livez", 200],
};

function head(start: string): string {
  const line = start.includes(" HTTP/1.1") ? start : `${start} HTTP/1.1`;
  return `${line}\r\nhost: a\r\ncontent-type: application/json\r\n${ENDLESS}\r\n\r\n`;
}

Deno.test("a body with a huge length gets a response, and its connection closes", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  for (const [name, [start, status]] of Object.entries(REFUSED)) {
    await t.step(`${name}, to a caller that sends nothing of it`, async () => {
      using socket = await connectRaw(gateway.port);
      await socket.write(head(start));
      const text = await socket.readAll();
      assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `));
      assert.match(text, /\r\nconnection: close\r\n/i);
      assert.match(text, /x-request-id/i);
      assert.doesNotMatch(text, /\r\n0\r\n/);
      if (status !== 200) assert.match(text, /"message":/);
    });
    await t.step(`${name}, to a caller that keeps sending`, async () => {
      using socket = await connectRaw(gateway.port);
      await socket.write(head(start));
      const flood = async () => {
        for (;;) await socket.write(PIECE);
      };
      await assert.rejects(within(flood(), "the connection to break"), {
        name: /BrokenPipe|ConnectionReset/,
      });
    });
  }
});

Deno.test("a body that is just too long gets a clean answer at once", async () => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  const answer = await sendRaw(
    gateway.port,
    `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n` +
      `authorization: Bearer ${ALICE_TOKEN}\r\ncontent-length: ${
        64 * MIB
      }\r\n\r\n`,
  );
  assert.equal(answer.status, 413);
  assert.equal(answer.isWhole, true);
});

Deno.test("a rejected body of unknown length is read up to a limit", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  const chunk = new TextEncoder().encode(`100000\r\n${" ".repeat(MIB)}\r\n`);
  const starts = {
    "without a credential": "POST /v1/chat/completions HTTP/1.1\r\n",
    "of a method that has none": "GET /livez HTTP/1.1\r\n",
  };
  for (const [name, start] of Object.entries(starts)) {
    await t.step(name, async () => {
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
  }
});

Deno.test("a rejected body of unknown length that ends soon gets a clean answer", async () => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  const answer = await sendRaw(
    gateway.port,
    "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n" +
      "transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
  );
  assert.equal(answer.status, 401);
  assert.equal(answer.isWhole, true);
});
