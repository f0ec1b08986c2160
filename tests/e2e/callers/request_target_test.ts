import assert from "node:assert/strict";
import { hello } from "../../support/wire/ask.ts";
import { ALICE_TOKEN } from "../../support/gateway/config.ts";
import { errorAnswer } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { rawRequest } from "../../support/wire/raw_request.ts";
import { sendRaw } from "../../support/wire/raw_socket.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";

function get(target: string, host = "gateway"): string {
  return `GET ${target} HTTP/1.1\r\nhost: ${host}\r\n` +
    `authorization: Bearer ${ALICE_TOKEN}\r\nconnection: close\r\n\r\n`;
}

/** Targets in which a URL parser would find a path of ours. */
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

Deno.test("a path is used as written: nothing is decoded and no dots are resolved", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  for (const path of DETOURS) {
    await t.step(path, async () => {
      const answer = await sendRaw(gateway.port, get(path));
      // The server itself rejects invalid targets, before they become a request.
      if (answer.headers.has("x-request-id")) {
        assert.equal(errorAnswer(answer, "chat").status, 404);
      } else {
        assert.equal(answer.status, 400);
      }
    });
  }
});

Deno.test("a caller's host changes nothing, even when it is invalid in a URL", async (t) => {
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
  // Only the missing model lists of providers that do not exist.
  const others = gateway.lines.others.items.filter(({ event }) =>
    event !== "model_list_unread"
  );
  assert.deepEqual(others, []);
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

/** Hosts that contain a path of ours, before a target without one, and the reverse. */
const HOSTS_WITH_PATHS: readonly (readonly [
  target: string,
  host: string,
  status: number,
])[] = [
  ["/nope", "x/v1/models?", 404],
  ["/nope", "x/v1/models#", 404],
  ["/nope", "x/v1/models", 404],
  ["/models", "x/v1", 404],
  ["/nope", "/v1/models?", 404],
  ["/nope", "?x", 404],
  ["/nope", "\\v1\\models?", 404],
  ["/nope", "\xfc/v1/models?", 404],
  ["/v1/models", "x/nope?", 200],
  ["/v1/models", "x#", 200],
  ["/v1/models", "x\\nope", 200],
  // The platform replaces such a host, so the response cannot name the target.
  ["/v1/models", "\xfc/nope?", 404],
  ["/v1/limits", "x?query=1", 200],
  ["/v1/limits?x=1", "x#", 400],
  ["http://evil.example/nope", "x/v1/models?", 404],
  ["http://evil.example/nope", "evil.example/v1/models?", 404],
];

Deno.test("the target decides the route, with any host", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  for (const [target, host, status] of HOSTS_WITH_PATHS) {
    await t.step(`${target} at ${host}`, async () => {
      const answer = await sendRaw(gateway.port, get(target, host));
      assert.equal(answer.status, status, answer.body);
      if (status !== 200) errorAnswer(answer, "chat");
    });
  }
});

Deno.test("a host that contains a path reaches no model", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const headers: [string, string][] = [
    ["host", "x/v1/chat/completions?"],
    ["authorization", `Bearer ${ALICE_TOKEN}`],
    ["connection", "close"],
  ];
  const request = rawRequest("/nope", headers, hello("chat"));
  assert.equal((await sendRaw(gateway.port, request)).status, 404);
  assert.equal(upstream.requests.items.length, 0);
});

Deno.test("a long method is cut in the response and in the log", async () => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  const method = "M".repeat(10_000);
  const request = get("/v1/models").replace("GET", method);
  const answer = await sendRaw(gateway.port, request);
  const { status, headers, message } = errorAnswer(answer, "chat");
  assert.equal(status, 405);
  assert.equal(headers.get("allow"), "GET, HEAD");
  assert.ok(message.length < 200, message);
  const line = await gateway.lines.of(answer);
  assert.equal(line.method, "M".repeat(16));
});
