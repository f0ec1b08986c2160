import assert from "node:assert/strict";
import { type Operation, OPERATIONS } from "../../../src/base/protocol.ts";
import { ask, credentials, hello } from "../../support/wire/ask.ts";
import { errorAnswer, readError } from "../../support/wire/error_answer.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { ALICE_TOKEN } from "../../support/gateway/config.ts";
import { rawRequest } from "../../support/wire/raw_request.ts";
import { sendRaw } from "../../support/wire/raw_socket.ts";
import { steps } from "../../support/steps.ts";

/** Every path that relays an operation, with a model that has it (docs/design.md#paths). */
const RELAYED: readonly (readonly [
  operation: Operation,
  model: string,
  paths: readonly string[],
])[] = [
  ["chat_completions", "model-a", [
    "/api/v1/chat/completions",
    "/v1/chat/completions",
    "/api/coding/paas/v4/chat/completions",
  ]],
  ["messages", "model-b", [
    "/api/v1/messages",
    "/v1/messages",
    "/api/anthropic/v1/messages",
  ]],
  ["messages", "model-a", ["/api/v1/messages", "/api/anthropic/v1/messages"]],
  ["count_tokens", "model-b", [
    "/api/v1/messages/count_tokens",
    "/v1/messages/count_tokens",
    "/api/anthropic/v1/messages/count_tokens",
  ]],
  ["count_tokens", "model-a", ["/api/anthropic/v1/messages/count_tokens"]],
  ["responses", "model-c", ["/api/v1/responses", "/v1/responses"]],
  ["responses", "model-a", ["/v1/responses"]],
  ["compact", "model-c", [
    "/api/v1/responses/compact",
    "/v1/responses/compact",
  ]],
  ["compact", "model-a", ["/v1/responses/compact"]],
  ["completions", "model-a", ["/api/v1/completions", "/v1/completions"]],
];

/** Every path that the gateway answers itself. */
const ANSWERED = [
  "/api/v1/models",
  "/v1/models",
  "/api/v1/models/model-a",
  "/v1/models/model-a",
  "/api/v1/limits",
  "/v1/limits",
  "/api/coding/paas/v4/limits",
  "/api/anthropic/v1/limits",
  "/.well-known/opencode",
  "/.well-known/opencode/config",
  "/livez",
  "/readyz",
  "/healthz",
];

/** Paths that agents request at their start. */
const PROBES = [
  "/",
  "/api/hello",
  "/api/api/hello",
  "/v1/api/hello",
  "/api/v1/api/hello",
  "/api/anthropic/api/hello",
];

const HEADERS = { ...credentials("messages"), ...credentials("chat") };

const ALL_METHODS = [
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
];

/** Returns the `Allow` header of a path. */
function allowOf(path: string): string {
  if (path === "/") return "GET, HEAD";
  if (PROBES.includes(path)) return "HEAD";
  if (path.endsWith("/limits")) return "GET";
  return ANSWERED.includes(path) ? "GET, HEAD" : "POST";
}

function protocolOf(path: string) {
  return /\/messages(\/|$)/.test(path) ? "messages" : "chat";
}

Deno.test("every relayed path reaches the operation of the model's upstream, with any query", async (t) => {
  await using upstream = startUpstream(() => Response.json({ good: true }));
  await using gateway = await startGateway(familiesFile(upstream.url));
  for (const [operation, model, paths] of RELAYED) {
    for (const path of paths) {
      await t.step(`${path} with ${model}`, async () => {
        const { protocol } = OPERATIONS[operation];
        const response = await gateway.call(
          `${path}?beta=true&x=/v1/models`,
          ask(protocol, JSON.stringify({ model })),
        );
        assert.deepEqual(await response.json(), { good: true });
        assert.equal(response.status, 200);
        assert.match(response.headers.get("x-request-id") ?? "", /^req_/);
        const letter = model.slice(-1);
        const seen = await upstream.requests.next();
        assert.equal(seen.path, `/${letter}${OPERATIONS[operation].path}`);
        assert.equal(seen.method, "POST");
      });
    }
  }
});

Deno.test("every own path of the gateway responds to GET", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  await steps(t, ANSWERED, async (path) => {
    const response = await gateway.call(path, { headers: HEADERS });
    assert.equal(response.status, 200, await response.text());
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.match(response.headers.get("x-request-id") ?? "", /^req_/);
  });
});

Deno.test("agents' probes with HEAD need no credential", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  await steps(t, [...PROBES, "/livez", "/readyz", "/healthz"], async (path) => {
    const response = await gateway.call(path, { method: "HEAD" });
    assert.equal(response.status, 200);
    assert.equal(await response.text(), "");
  });
});

Deno.test("a wrong method is 405 in the path's protocol, and the response names the right method", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  const paths = RELAYED.flatMap(([, , paths]) => paths);
  for (const path of new Set([...paths, ...ANSWERED, ...PROBES])) {
    const allow = allowOf(path);
    await t.step(`${path} accepts ${allow}`, async () => {
      for (const method of ALL_METHODS) {
        if (allow.split(", ").includes(method)) continue;
        const response = await gateway.call(path, { method, headers: HEADERS });
        assert.equal(response.status, 405, method);
        assert.equal(response.headers.get("allow"), allow);
        if (method === "HEAD") continue;
        const error = await readError(response, protocolOf(path));
        assert.equal(error.type, "invalid_request_error");
        assert.ok(
          error.message.endsWith(`Use ${allow.replace(", ", " or ")}.`),
          error.message,
        );
      }
    });
  }
});

/** Paths that resemble ours. */
const UNKNOWN = [
  "/v1/unknown",
  "/v1/messages/",
  "//v1/models",
  "/api/%61nthropic/v1/messages",
  "/metrics",
];

Deno.test("an unknown path is 404 with every method, in its clients' protocol", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  await steps(t, UNKNOWN, async (path) => {
    for (const method of ["GET", "POST", "HEAD", "DELETE"]) {
      const response = await gateway.call(path, { method, headers: HEADERS });
      assert.equal(response.status, 404, method);
      if (method === "HEAD") continue;
      const error = await readError(response, protocolOf(path));
      assert.equal(error.type, "not_found_error");
    }
  });
});

function get(target: string, host = "gateway"): string {
  return `GET ${target} HTTP/1.1\r\nhost: ${host}\r\n` +
    `authorization: Bearer ${ALICE_TOKEN}\r\nconnection: close\r\n\r\n`;
}

/** Targets that a URL parser would resolve to a path of ours. */
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
  await steps(t, DETOURS, async (path) => {
    const answer = await sendRaw(gateway.port, get(path));
    // The server itself rejects invalid targets, before they become a request.
    if (answer.headers.has("x-request-id")) {
      assert.equal(errorAnswer(answer, "chat").status, 404);
    } else {
      assert.equal(answer.status, 400);
    }
  });
});

Deno.test("a caller's host changes nothing, even when it is invalid in a URL", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  const hosts = ["", "evil.example", "[::1]:1", "a.1", "a:99999", "a%20b"];
  await steps(t, hosts, async (host) => {
    const good = await sendRaw(gateway.port, get("/v1/models", host));
    assert.equal(good.status, 200);
    assert.match(good.body, /"object":"list"/);
    const unknown = await sendRaw(gateway.port, get("/unknown", host));
    assert.equal(errorAnswer(unknown, "chat").status, 404);
    const query = await sendRaw(gateway.port, get("/v1/limits?x", host));
    assert.equal(errorAnswer(query, "chat").status, 400);
  });
  // The only lines are about the model lists, because the providers do not exist.
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

Deno.test("a target that is not a path is unknown", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  await steps(t, ["OPTIONS *", "CONNECT gateway:80"], async (start) => {
    const request = get("/").replace("GET /", start);
    const answer = await sendRaw(gateway.port, request);
    assert.equal(errorAnswer(answer, "chat").status, 404);
  });
});

/** Invalid hosts. Some contain a path of ours before a target without one, or the reverse. */
const INVALID_HOSTS: readonly (readonly [target: string, host: string])[] = [
  ["/nope", "x/v1/models?"],
  ["/nope", "x/v1/models#"],
  ["/nope", "x/v1/models"],
  ["/models", "x/v1"],
  ["/nope", "/v1/models?"],
  ["/nope", "?x"],
  ["/nope", "\\v1\\models?"],
  ["/nope", "\xfc/v1/models?"],
  ["/v1/models", "x/nope?"],
  ["/v1/models", "x#"],
  ["/v1/models", "x\\nope"],
  ["/v1/models", "\xfc/nope?"],
  ["/v1/models", "[::"],
  ["/v1/models", "a b"],
  ["/v1/models", "a@b"],
  ["/v1/models", "%"],
  ["/v1/limits", "x?query=1"],
  ["http://evil.example/nope", "x/v1/models?"],
  ["http://evil.example/nope", "evil.example/v1/models?"],
];

Deno.test("a request with an invalid host is refused, with any target", async (t) => {
  await using gateway = await startGateway(familiesFile("http://127.0.0.1:9"));
  for (const [target, host] of INVALID_HOSTS) {
    await t.step(`${target} at ${host}`, async () => {
      const answer = await sendRaw(gateway.port, get(target, host));
      const { status, message } = errorAnswer(answer, "chat");
      assert.equal(status, 400);
      assert.match(message, /its host header is no host/);
      assert.equal(answer.headers.get("connection"), "close");
    });
  }
});

Deno.test("a host header that contains a path reaches no model", async () => {
  await using upstream = startUpstream();
  await using gateway = await startGateway(familiesFile(upstream.url));
  const headers: [string, string][] = [
    ["host", "x/v1/chat/completions?"],
    ["authorization", `Bearer ${ALICE_TOKEN}`],
    ["connection", "close"],
  ];
  const request = rawRequest("/nope", headers, hello("chat"));
  assert.equal((await sendRaw(gateway.port, request)).status, 400);
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
