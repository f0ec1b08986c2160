import assert from "node:assert/strict";
import { ALICE_TOKEN } from "../../support/gateway/config.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { sendRaw } from "../../support/wire/raw_socket.ts";

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

/** The responses of the platform's server to large headers, before the gateway sees them. */
const CASES: Readonly<Record<string, readonly [string, number]>> = {
  "90 headers": [many(90), 200],
  "200 headers": [many(200), 400],
  "10,000 headers": [many(10_000), 400],
  "a value of 60 KiB": [long(60), 200],
  "a value of 64 KiB": [long(64), 400],
  "a value of 1 MiB": [long(1024), 400],
};

Deno.test("more than 100 headers or 64 KiB of them are 400, and the gateway continues to serve", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  for (const [name, [headers, expected]] of Object.entries(CASES)) {
    await t.step(name, async () => {
      const { status } = await sendRaw(gateway.port, requestWith(headers));
      assert.equal(status, expected);
      assert.equal((await sendRaw(gateway.port, requestWith(""))).status, 200);
    });
  }
});
