import assert from "node:assert/strict";
import { ALICE_TOKEN } from "../support/config.ts";
import { familiesFile } from "../support/families.ts";
import { startGateway } from "../support/gateway.ts";
import { sendRaw } from "../support/raw_socket.ts";

/** A request for the models with more headers. */
function requestWith(headers: string): string {
  return `GET /v1/models HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${ALICE_TOKEN}\r\n` +
    `${headers}connection: close\r\n\r\n`;
}

const KIB = 1024;

Deno.test("16: headers without end are refused, many and long ones are served or refused, and the gateway serves on", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  const many = Array.from({ length: 200 }, (_, n) => `x-${n}: a\r\n`).join("");
  const cases: Readonly<Record<string, readonly [string, number[]]>> = {
    "200 headers": [many, [200, 400, 431]],
    "a value of 64 KiB": [`x: ${"a".repeat(64 * KIB)}\r\n`, [200, 400, 431]],
    "a value of 1 MiB": [`x: ${"a".repeat(KIB * KIB)}\r\n`, [400, 431]],
  };
  for (const [name, [headers, statuses]] of Object.entries(cases)) {
    await t.step(name, async () => {
      const { status } = await sendRaw(gateway.port, requestWith(headers));
      assert.ok(statuses.includes(status), String(status));
      assert.equal((await sendRaw(gateway.port, requestWith(""))).status, 200);
    });
  }
});
