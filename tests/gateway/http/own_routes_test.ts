import { CallerLeft, type Fetch } from "../../../src/gateway/upstream/call.ts";
import assert from "node:assert/strict";
import { createAdminHandler } from "../../../src/gateway/http/admin.ts";
import { createGateway } from "../../../src/gateway/app.ts";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import { createAttributionReader } from "../../../src/gateway/http/attribution.ts";
import {
  ALICE_TOKEN,
  configOf,
  connectionFile,
  loadFile,
  minimalConfig,
  NOW_MS,
  tokenFile,
} from "../../support/gateway/config.ts";
import { createLogLines } from "../../support/gateway/log_lines.ts";
import { hello } from "../../support/wire/ask.ts";
import { entryOf } from "../../support/wire/limits_list.ts";
import { healthResponse } from "../../../src/gateway/http/health.ts";
import { GatewayError } from "../../../src/base/error.ts";
import { limitsResponse } from "../../../src/gateway/http/reports.ts";
import type { QuotaService } from "../../../src/gateway/quotas/service.ts";
import { PAGE_PATHS } from "../../../src/page/page.ts";
import { ROUTES } from "../../../src/gateway/http/routes.ts";

function admin(isReady = true) {
  const handler = createAdminHandler({
    hasShortage: () => false,
    isReady: () => isReady,
    metrics: () => Promise.resolve("a_total 1\n"),
    metricsType: "text/plain; version=0.0.4",
  });
  return (path: string, init?: RequestInit) =>
    handler(new Request(`http://127.0.0.1:9090${path}`, init));
}

Deno.test("the second listener returns the metrics at /metrics", async () => {
  const answer = await admin()("/metrics?x=1");
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("content-type"), "text/plain; version=0.0.4");
  assert.equal(await answer.text(), "a_total 1\n");
});

Deno.test("the second listener reports liveness and readiness", async () => {
  assert.equal((await admin(false)("/livez")).status, 200);
  assert.equal((await admin(true)("/readyz")).status, 200);
  assert.equal((await admin(false)("/readyz")).status, 503);
});

Deno.test("the second listener rejects other paths and methods", async () => {
  for (const path of ["/", "/metrics/", "/v1/models", "/__proto__"]) {
    assert.equal((await admin()(path)).status, 404, path);
  }
  const answer = await admin()("/metrics", { method: "POST" });
  assert.equal(answer.status, 405);
  assert.equal(answer.headers.get("allow"), "GET, HEAD");
});

Deno.test("an attribution header becomes a field of the log, and is not sent to the provider", async () => {
  const sent: string[] = [];
  const fetch: Fetch = (_, { headers }) => {
    sent.push(JSON.stringify([...new Headers(headers)]));
    return Promise.resolve(Response.json({ choices: [] }));
  };
  const lines = createLogLines();
  const { handler } = createGateway({
    liveConfig: createLiveConfig(configOf(
      await loadFile({
        server: { attribution: ["X-Project", "x-cost-center"] },
        groups: { interns: {} },
        connections: [connectionFile()],
        tokens: [tokenFile({ group: "interns" })],
      }),
    )),
    fetch,
    log: lines.log,
  });
  const response = await handler(
    new Request("http://gateway/v1/chat/completions", {
      method: "POST",
      headers: {
        "authorization": `Bearer ${ALICE_TOKEN}`,
        "content-type": "application/json",
        "x-project": "billing-service",
        "x-other": "passes",
      },
      body: hello("chat"),
    }),
  );
  await response.text();
  const line = await lines.of(response);
  assert.deepEqual(line.attribution, { "x-project": "billing-service" });
  assert.equal(line.token_group, "interns");
  assert.equal(sent.length, 1);
  assert.match(sent.join(), /"x-other","passes"/);
  assert.doesNotMatch(sent.join(), /billing-service|x-project/);
});

/** Opens a reader of one attribution header, with a clock that the test sets. */
function setUp() {
  const clock = { nowMs: NOW_MS };
  const reader = createAttributionReader({ now: () => clock.nowMs });
  const read = (value: string, caller = "alice") =>
    reader.read(new Map([["x-team", value]]), ["x-team", "x-missing"], caller)
      ?.["x-team"];
  return { clock, read };
}

Deno.test("an attribution value is cut to 64 printable characters, and an empty one is ignored", () => {
  const { read } = setUp();
  assert.equal(read(`  a\u0007b\u00e9c ${"x".repeat(100)}`)?.length, 64);
  assert.equal(read(" core team "), "core team");
  assert.equal(read(" \u00ff "), undefined);
});

Deno.test("an attribution header has at most 1000 values a day, and further values count together", () => {
  const { clock, read } = setUp();
  for (let count = 0; count < 1000; count++) read(`team-${count}`);
  assert.equal(read("one more"), "(other)");
  assert.equal(read("team-7"), "team-7");
  clock.nowMs += 86_400_000;
  assert.equal(read("one more"), "one more");
});

Deno.test("a caller with a thousand attribution values does not prevent values of other callers", () => {
  const { read } = setUp();
  for (let count = 0; count < 3000; count++) read(`team-${count}`);
  for (const caller of ["bob", "carol"]) {
    for (let count = 0; count < 300; count++) {
      const value = `${caller} ${count}`;
      assert.equal(read(value, caller), value);
    }
  }
  assert.equal(read("team-399"), "team-399", "the first ones stay");
  assert.equal(read("team-400"), "(other)");
  assert.equal(read("bob 299", "carol"), "bob 299");
});

Deno.test("callers with equal shares do not displace each other's attribution values", () => {
  const { read } = setUp();
  const known = new Set<string | undefined>();
  for (let count = 0; count < 20_000; count++) {
    known.add(read(`value ${count}`, `caller ${count % 8}`));
  }
  assert.equal(known.size, 1001);
  for (let count = 0; count < 20_000; count++) {
    known.add(read(`new ${count}`, `another ${count % 8}`));
  }
  assert.equal(known.size, 1497, "half of the room is theirs");
});

Deno.test("healthResponse() shows the health by its status, and forbids caching", async () => {
  const cases = [[true, 200, "ok"], [false, 503, "draining"]] as const;
  for (const [isHealthy, code, status] of cases) {
    const response = healthResponse(isHealthy);
    assert.equal(response.status, code);
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.deepEqual(await response.json(), { status });
  }
});

async function ask(
  read: QuotaService["read"],
  { query = "", signal, restMs = () => 0, cause, isWait = false }: {
    query?: string;
    signal?: AbortSignal;
    restMs?: (modelId: string) => number;
    cause?: "authentication";
    isWait?: boolean;
  } = {},
): Promise<Response> {
  const config = await minimalConfig();
  const [caller] = config.callers.values();
  assert.ok(caller);
  const request = new Request(`http://gateway/v1/limits${query}`, {
    ...(signal === undefined ? {} : { signal }),
  });
  return await limitsResponse(request, {
    ...{ caller, config, quotas: { read } },
    clock: { now: () => Date.UTC(2026, 0, 1) },
    health: {
      restMs: ({ model }) => restMs(model.id),
      lastingCause: () => cause && { kind: cause },
      isRequestedWait: () => isWait,
    },
    queue: {
      loadOf: (id) => ({ waiting: id === FULL_ID ? 7 : 0, expectedMs: 19_200 }),
    },
  });
}

const FULL_ID = "00000000-0000-4000-8000-000000000007";

const LIST = {
  object: "list",
  scope: "provider",
  refresh_after_seconds: 60,
  data: [],
} as const;

Deno.test("limitsResponse() returns the service's list, and forbids caching", async () => {
  const response = await ask((caller, config) => {
    assert.equal(caller.name, "alice");
    assert.equal(config.connections.length, 1);
    return Promise.resolve(LIST);
  });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("cache-control"), "no-store");
  assert.deepEqual(await response.json(), LIST);
});

Deno.test("limitsResponse() adds the number of requests that wait for a connection", async () => {
  const entries = [entryOf("free"), {
    ...entryOf("full"),
    provider_id: FULL_ID,
  }];
  const response = await ask(() => Promise.resolve({ ...LIST, data: entries }));
  const { data } = await response.json();
  assert.deepEqual(data, [
    entries[0],
    { ...entries[1], waiting: { requests: 7, seconds: 20 } },
  ]);
});

Deno.test("limitsResponse() shows the cool-down of all models of a connection, and its cause", async () => {
  const { connections: [connection] } = await minimalConfig();
  assert.ok(connection);
  const entry = { ...entryOf("ill"), provider_id: connection.id };
  const read = () => Promise.resolve({ ...LIST, data: [entry] });
  const failing = async (options: Parameters<typeof ask>[1]) =>
    (await (await ask(read, options)).json()).data[0].failing;
  const until = "2026-01-01T00:01:00.000Z";
  const restMs = () => 60_000;
  assert.deepEqual(await failing({ restMs }), { until });
  const cause = "authentication";
  assert.deepEqual(await failing({ restMs, cause }), { until, cause });
  assert.equal(await failing({ restMs, isWait: true }), undefined);
  assert.equal(await failing({ cause }), undefined);
});

Deno.test("limitsResponse() rejects a query, except an empty one", async () => {
  const read = () => Promise.resolve(LIST);
  for (const query of ["?a=1", "?a", "?="]) {
    await assert.rejects(ask(read, { query }), (error) => {
      assert.ok(error instanceof GatewayError);
      assert.equal(error.kind, "invalid_request");
      return true;
    });
  }
  assert.equal((await ask(read, { query: "?" })).status, 200);
});

Deno.test("limitsResponse() rejects with the service's errors", async () => {
  const error = new GatewayError("timeout", "Too late");
  await assert.rejects(ask(() => Promise.reject(error)), error);
});

Deno.test("limitsResponse() rejects when the caller disconnects", async () => {
  const caller = new AbortController();
  const asking = ask((_caller, _config, signal) => {
    caller.abort();
    assert.ok(signal?.aborted);
    return Promise.reject(signal.reason);
  }, { signal: caller.signal });
  await assert.rejects(asking, CallerLeft);
});

const MIB = 1024 * 1024;

Deno.test("ROUTES has the paths of docs/design.md#paths and the page, with their credentials, errors and limits", () => {
  const rows = ROUTES.flatMap((route) => {
    const { methods, paths, protocol, action } = route;
    const does = "open" in action
      ? `${action.open.name} none`
      : "relay" in action
      ? `${action.relay} ${action.credential}`
      : `${action.response.name} ${action.credential}`;
    const size = `${route.maxBodyBytes / MIB} MiB`;
    return paths.map((path) =>
      [methods.join("/"), path, does, protocol ?? "own", size].join(" ")
    );
  });
  assert.deepEqual(rows, [
    "POST /api/v1/chat/completions chat_completions bearer chat 8 MiB",
    "POST /v1/chat/completions chat_completions bearer chat 8 MiB",
    "POST /api/coding/paas/v4/chat/completions chat_completions bearer chat 8 MiB",
    "POST /api/v1/completions completions bearer chat 8 MiB",
    "POST /v1/completions completions bearer chat 8 MiB",
    "POST /api/v1/messages messages messages messages 32 MiB",
    "POST /v1/messages messages messages messages 32 MiB",
    "POST /api/:vendor/v1/messages messages messages messages 8 MiB",
    "POST /api/v1/messages/count_tokens count_tokens messages messages 32 MiB",
    "POST /v1/messages/count_tokens count_tokens messages messages 32 MiB",
    "POST /api/:vendor/v1/messages/count_tokens count_tokens messages messages 8 MiB",
    "POST /api/v1/responses responses bearer responses 32 MiB",
    "POST /v1/responses responses bearer responses 32 MiB",
    "POST /api/v1/responses/compact compact bearer responses 32 MiB",
    "POST /v1/responses/compact compact bearer responses 32 MiB",
    "GET /api/v1/responses websocket none responses 0 MiB",
    "GET /v1/responses websocket none responses 0 MiB",
    "GET/HEAD /api/v1/models models either own 0 MiB",
    "GET/HEAD /v1/models models either own 0 MiB",
    "GET/HEAD /api/v1/models/:id+ model either own 0 MiB",
    "GET/HEAD /v1/models/:id+ model either own 0 MiB",
    "GET /api/v1/limits limits bearer own 0 MiB",
    "GET /v1/limits limits bearer own 0 MiB",
    "GET /api/coding/paas/v4/limits limits bearer own 0 MiB",
    "GET /api/:vendor/v1/limits limits bearer own 0 MiB",
    "GET/HEAD /.well-known/opencode opencodeLogin none own 0 MiB",
    "GET/HEAD /.well-known/oauth-authorization-server signIn none own 0 MiB",
    "POST /oauth/device_authorization signIn none own 0 MiB",
    "POST /oauth/token signIn none own 0 MiB",
    "GET/HEAD /.well-known/opencode/config opencodeConfig bearer own 0 MiB",
    "GET /managed/settings managedSettings bearer own 0 MiB",
    "GET /api/v1/usage usage bearer own 0 MiB",
    "GET /v1/usage usage bearer own 0 MiB",
    "GET/HEAD /livez live none own 0 MiB",
    "GET/HEAD /healthz live none own 0 MiB",
    "GET/HEAD /readyz ready none own 0 MiB",
    ...PAGE_PATHS.map((path) => `GET/HEAD ${path} page none own 0 MiB`),
    "HEAD /api/hello probe none own 0 MiB",
    "HEAD /api/api/hello probe none own 0 MiB",
    "HEAD /v1/api/hello probe none own 0 MiB",
    "HEAD /api/v1/api/hello probe none own 0 MiB",
    "HEAD /api/:vendor/api/hello probe none own 0 MiB",
  ]);
});
