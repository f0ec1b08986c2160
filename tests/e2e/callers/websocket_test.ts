import assert from "node:assert/strict";
import { errorAnswer } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { sendRaw } from "../../support/wire/raw_socket.ts";

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

Deno.test("a GET of /responses without an upgrade, or with another one, is 405", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  for (const upgrade of ["", "upgrade: h2c\r\n"]) {
    await t.step(upgrade, async () => {
      const answer = await sendRaw(
        gateway.port,
        `GET /v1/responses HTTP/1.1\r\nhost: a\r\nconnection: close\r\n${upgrade}\r\n`,
      );
      assert.equal(errorAnswer(answer, "responses").status, 405);
      assert.equal(answer.headers.get("allow"), "POST");
    });
  }
});
