import assert from "node:assert/strict";
import { ALICE_TOKEN } from "../support/config.ts";
import { errorAnswer } from "../support/error_answer.ts";
import { familiesFile } from "../support/families.ts";
import { startGateway } from "../support/gateway.ts";
import { sendRaw } from "../support/raw_socket.ts";

function get(target: string, host = "gateway"): string {
  return `GET ${target} HTTP/1.1\r\nhost: ${host}\r\n` +
    `authorization: Bearer ${ALICE_TOKEN}\r\nconnection: close\r\n\r\n`;
}

/** Where a URL parser would see a path of ours. */
const DETOURS = [
  "/x/%2e%2e/v1/models",
  "/x/../v1/models",
  "/./v1/models",
  "/%2e/v1/models",
  "\\v1\\models",
  "/v1\\models",
  "//gateway/v1/models",
  "/v1/models%2f",
  "/v1/mod%65ls",
  "/v1;x=1/models",
];

Deno.test("a path is taken as it is written: nothing is decoded and no dots are followed", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  for (const path of DETOURS) {
    await t.step(path, async () => {
      const answer = await sendRaw(gateway.port, get(path));
      // What is no target at all is refused by the server before it becomes a request.
      if (answer.headers.has("x-request-id")) {
        assert.equal(errorAnswer(answer, "chat").status, 404);
      } else {
        assert.equal(answer.status, 400);
      }
    });
  }
});

Deno.test("the host that a caller names changes nothing, even when no URL could hold it", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  const hosts = ["", "evil.example", "[::", "a b", "a:99999", "ü", "a@b", "%"];
  for (const host of hosts) {
    await t.step(host, async () => {
      const good = await sendRaw(gateway.port, get("/v1/models", host));
      assert.equal(good.status, 200);
      assert.match(good.body, /"object":"list"/);
      const unknown = await sendRaw(gateway.port, get("/unknown", host));
      assert.equal(errorAnswer(unknown, "chat").status, 404);
      const query = await sendRaw(gateway.port, get("/v1/limits?x", host));
      assert.equal(errorAnswer(query, "chat").status, 400);
    });
  }
  assert.equal(gateway.lines.others.items.length, 0);
});

Deno.test("a target in absolute form is served by its path", async () => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  const target = "http://evil.example/v1/models";
  assert.equal((await sendRaw(gateway.port, get(target))).status, 200);
});

Deno.test("targets that are no path are unknown", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  for (const start of ["OPTIONS *", "CONNECT gateway:80"]) {
    await t.step(start, async () => {
      const request = get("/").replace("GET /", start);
      const answer = await sendRaw(gateway.port, request);
      assert.equal(errorAnswer(answer, "chat").status, 404);
    });
  }
});
