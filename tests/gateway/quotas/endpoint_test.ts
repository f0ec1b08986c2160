/** GET /limits over real sockets: the gateway, simulated providers, and callers. */
import assert from "node:assert/strict";
import { createGateway } from "../../../src/gateway/app.ts";
import { createLiveConfig } from "../../../src/gateway/config/live_config.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import type { QuotaList } from "@gateway/page/answers";
import {
  ALICE_TOKEN,
  connectionFile,
  minimalConfig,
  tokenFile,
} from "../../support/gateway/config.ts";
import { fixture } from "./quota_case.ts";
import { steps } from "../../support/steps.ts";

const CANARY = "canary-5c0e";

const BOB_TOKEN = "mg_bob";

/** The simulated providers, by the first part of the path. */
type Provider = (request: Request) => Response | Promise<Response>;

interface World {
  /** Sends a request to the gateway. */
  ask(path: string, init?: RequestInit): Promise<Response>;
  /** The requested paths of the providers. */
  readonly calls: string[];
  /** The log lines. */
  readonly lines: string[];
}

interface WorldParts {
  readonly providers: Readonly<Record<string, Provider>>;
  /** Returns top-level keys of the configuration. `base` is the address of the providers. */
  file(base: string): Readonly<Record<string, unknown>>;
}

function listen(handler: Provider): { base: string; end(): Promise<void> } {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    handler,
  );
  return {
    base: `http://127.0.0.1:${server.addr.port}`,
    end: () => server.shutdown(),
  };
}

/** Runs a gateway with its providers while `use` runs. */
async function withWorld(
  { providers, file }: WorldParts,
  use: (world: World) => Promise<void>,
): Promise<void> {
  const calls: string[] = [];
  const lines: string[] = [];
  const upstream = listen(async (request) => {
    const { pathname } = new URL(request.url);
    calls.push(pathname);
    const provider = providers[pathname.split("/")[1] ?? ""] ?? credits;
    return await provider(request);
  });
  const config = await minimalConfig(file(upstream.base));
  const { handler } = createGateway({
    liveConfig: createLiveConfig(config),
    fetch,
    log: { write: (...line) => lines.push(JSON.stringify(line)) },
  });
  const gateway = listen(handler);
  try {
    await use({
      calls,
      lines,
      ask: (path, init) => fetch(gateway.base + path, init),
    });
  } finally {
    await gateway.end();
    await upstream.end();
  }
}

function credits(): Response {
  return Response.json(fixture("zai/credits"));
}

/** Returns a connection with Z.ai's quota, at the path of its name. */
function zai(name: string, base: string): Record<string, unknown> {
  return connectionFile({
    name,
    endpoints: { chat: `${base}/${name}/v1` },
    auth: { scheme: "bearer", key: `${CANARY}-${name}` },
    quota: { kind: "zai", url: `${base}/${name}/quota` },
    models: [`model-${name}`],
  });
}

function bearer(token: string): RequestInit {
  return { headers: { authorization: `Bearer ${token}` } };
}

async function listFrom(response: Response): Promise<QuotaList> {
  assert.equal(response.status, 200);
  return await response.json();
}

Deno.test("GET /limits answers on all its paths, and requires GET, a bearer token and no query", async (t) => {
  const file = (base: string) => ({ connections: [zai("one", base)] });
  await withWorld({ providers: {}, file }, async ({ ask, calls }) => {
    await steps(t, [
      "/api/v1/limits",
      "/v1/limits",
      "/api/coding/paas/v4/limits",
      "/api/anthropic/v1/limits",
    ], async (path) => {
      const list = await listFrom(await ask(path, bearer(ALICE_TOKEN)));
      assert.equal(list.object, "list");
      assert.equal(list.data[0]?.status, "ok");
    });
    assert.equal(calls.length, 1);
    const refusals = {
      "another method": [405, "/v1/limits", {
        ...bearer(ALICE_TOKEN),
        method: "POST",
      }],
      "a query": [400, "/v1/limits?refresh=1", bearer(ALICE_TOKEN)],
      "no credential": [401, "/v1/limits", {}],
      "an unknown token": [401, "/v1/limits", bearer("mg_mallory")],
      "the header of the Messages routes": [401, "/v1/limits", {
        headers: { "x-api-key": ALICE_TOKEN },
      }],
    } as const;
    await steps(
      t,
      Object.entries(refusals),
      async ([, [status, path, init]]) => {
        const response = await ask(path, init);
        assert.equal(response.status, status);
        assert.equal("data" in await response.json(), false);
      },
    );
  });
});

Deno.test("GET /limits is a 504 after its time budget, and the next call shows the readings so far", async () => {
  const hung = Promise.withResolvers<Response>();
  const providers = { mute: () => hung.promise };
  const file = (base: string) => ({
    limits: { budget: 300 },
    connections: [zai("good", base), zai("mute", base)],
  });
  await withWorld({ providers, file }, async ({ ask }) => {
    const late = await ask("/v1/limits", bearer(ALICE_TOKEN));
    assert.equal(late.status, 504);
    const body = await late.json();
    assert.deepEqual(Object.keys(body), ["error"]);
    assert.equal(body.error.type, "provider_limits_timeout");

    const list = await listFrom(await ask("/v1/limits", bearer(ALICE_TOKEN)));
    assert.deepEqual(
      list.data.map((
        { name, status, cached, error },
      ) => [name, status, cached, error?.type]),
      [
        ["good", "ok", true, undefined],
        ["mute", "unavailable", false, "provider_limits_unreachable"],
      ],
    );
    hung.resolve(new Response());
  });
});

Deno.test("GET /limits reads 200 connections at once", async () => {
  const names = Array.from({ length: 200 }, (_, index) => `c${index}`);
  const all = Promise.withResolvers<void>();
  let asked = 0;
  const provider = async () => {
    asked += 1;
    // No provider answers before all of them have a request.
    if (asked === names.length) all.resolve();
    await all.promise;
    return credits();
  };
  const providers = Object.fromEntries(names.map((name) => [name, provider]));
  const file = (base: string) => ({
    connections: names.map((name) => zai(name, base)),
  });
  await withWorld({ providers, file }, async ({ ask }) => {
    const { data } = await listFrom(
      await ask("/v1/limits", bearer(ALICE_TOKEN)),
    );
    assert.deepEqual(data.map(({ name }) => name), names);
    assert.ok(data.every(({ status }) => status === "ok"));
  });
});

Deno.test("GET /limits makes one call per connection for 1,000 concurrent requests", async () => {
  const file = (base: string) => ({
    connections: ["one", "two", "three"].map((name) => zai(name, base)),
  });
  await withWorld({ providers: {}, file }, async ({ ask, calls }) => {
    const lists = await Promise.all(Array.from(
      { length: 1000 },
      () => ask("/v1/limits", bearer(ALICE_TOKEN)).then(listFrom),
    ));
    for (const { data } of lists) {
      assert.deepEqual(data.map(({ status }) => status), ["ok", "ok", "ok"]);
    }
    assert.equal(calls.length, 3);
  });
});

Deno.test("GET /limits shows each caller only the assigned connections", async () => {
  const file = (base: string) => ({
    connections: [zai("one", base), zai("two", base)],
    tokens: [
      tokenFile({ connections: ["one"] }),
      tokenFile({
        name: "bob",
        sha256: sha256Hex(BOB_TOKEN),
        connections: ["two"],
      }),
    ],
  });
  await withWorld({ providers: {}, file }, async ({ ask }) => {
    const ofAlice = await (await ask("/v1/limits", bearer(ALICE_TOKEN))).text();
    const ofBob = await (await ask("/v1/limits", bearer(BOB_TOKEN))).text();
    assert.match(ofAlice, /"name":"one"/);
    assert.doesNotMatch(ofAlice, /"name":"two"/);
    assert.match(ofBob, /"name":"two"/);
    assert.doesNotMatch(ofBob, /"name":"one"/);
  });
});

Deno.test("GET /limits reports each kind of failure and no secret", async () => {
  const page = { headers: { "content-type": "text/html" } };
  const providers: Record<string, Provider> = {
    refused: () => new Response(CANARY, { status: 401 }),
    busy: () => new Response(CANARY, { status: 429 }),
    broken: () => new Response(`<html>${CANARY}</html>`, page),
    planless: () =>
      Response.json({ code: 500, msg: `${CANARY} no active coding plan` }),
    down: () => new Response(CANARY, { status: 503 }),
    moved: () => Response.redirect(`https://${CANARY}.example/`),
  };
  const file = (base: string) => ({
    connections: [
      ...Object.keys(providers).map((name) => zai(name, base)),
      { ...zai("gone", "http://127.0.0.1:9") },
      { ...zai("team", base), quota: { kind: "zai", plan: "team" } },
      { ...zai("off", base), enabled: false },
      { ...zai("bare", base), quota: undefined },
    ],
  });
  await withWorld({ providers, file }, async ({ ask, lines }) => {
    const response = await ask("/v1/limits", bearer(ALICE_TOKEN));
    const text = await response.clone().text();
    const list = await listFrom(response);
    assert.deepEqual(
      list.data.map(({ name, status, error }) => [
        name,
        error?.type.replace("provider_limits_", "") ?? status,
      ]),
      [
        ["refused", "unauthorized"],
        ["busy", "rate_limited"],
        ["broken", "invalid_response"],
        ["planless", "no_plan"],
        ["down", "unavailable"],
        ["moved", "invalid_response"],
        ["gone", "unreachable"],
        ["team", "configuration_required"],
        ["off", "disabled"],
        ["bare", "unsupported"],
      ],
    );
    assert.ok(list.data.every(({ limits }) => limits.length === 0));
    assert.doesNotMatch(text, new RegExp(CANARY));
    assert.ok(lines.length > 0);
    assert.doesNotMatch(lines.join("\n"), new RegExp(CANARY));
  });
});

Deno.test("GET /limits reports the quota in the headers of a relayed answer", async () => {
  const chat = () =>
    Response.json({ id: "c", object: "chat.completion", choices: [] }, {
      headers: {
        "x-ratelimit-limit-requests": "1000",
        "x-ratelimit-remaining-requests": "750",
        "x-ratelimit-limit-tokens": "6000",
        "x-ratelimit-remaining-tokens": "6000",
      },
    });
  const file = (base: string) => ({
    connections: [{ ...zai("fast", base), quota: { kind: "groq" } }],
  });
  const world = { providers: { fast: chat }, file };
  await withWorld(world, async ({ ask, calls }) => {
    const before = await listFrom(await ask("/v1/limits", bearer(ALICE_TOKEN)));
    assert.equal(before.data[0]?.error?.type, "provider_limits_not_known_yet");
    const answer = await ask("/v1/chat/completions", {
      method: "POST",
      headers: {
        authorization: `Bearer ${ALICE_TOKEN}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({
        model: "model-fast",
        messages: [{ role: "user", content: "hello" }],
      }),
    });
    assert.equal(answer.status, 200);
    await answer.text();
    const after = await listFrom(await ask("/v1/limits", bearer(ALICE_TOKEN)));
    assert.deepEqual(
      after.data[0]?.limits.map((
        { type, window, used, limit },
      ) => [type, window, used, limit]),
      [
        ["REQUESTS_LIMIT", "daily", 250, 1000],
        ["TOKENS_LIMIT", "minute", 0, 6000],
      ],
    );
    assert.deepEqual(calls, ["/fast/v1/chat/completions"]);
  });
});
