import assert from "node:assert/strict";
import {
  ALICE_TOKEN,
  configOf,
  connectionFile,
  loadFile,
  loadText,
  minimalConfig,
  minimalFile,
  problemsOf,
  tokenFile,
} from "../support/gateway/config.ts";
import { sha256Hex } from "../../src/core/sha256.ts";

const SAMPLE = `
server:
  host: 127.0.0.1
  port: 8787
  tls: { cert: cert.pem, key: key.pem }
  workers: 1
  max_concurrent_requests: 1024
  max_body_memory: 1GiB
  drain_seconds: 30
  admin: { host: 127.0.0.1, port: 9090 }
messages_vendor: anthropic
timeouts:
  connect: 10000
  first_byte: 300000
  first_output: 0
  idle: 120000
  body: 60000
limits: { budget: 12000, cache_seconds: 60 }
usage: { replay: [logs/*.jsonl] }
connections:
  - name: GLM team
    id: 0B1D3C52-6a0e-4a3e-8f0e-2f9c3b0d1a11
    service: zai
    family: A
    enabled: true
    endpoints:
      chat: https://api.z.ai/api/coding/paas/v4/
      messages: https://api.z.ai/api/anthropic/v1
    auth: { scheme: bearer, key: "\${ZAI_API_KEY}" }
    headers: { X-Team: platform }
    stream_only: false
    force: { store: false }
    omit: [temperature]
    strict: false
    quota: { kind: zai, plan: team, organization: org-1, project: proj_1 }
    max_concurrent: 64
    timeouts: { idle: 5000 }
    models:
      - glm-5.1
      - { id: glm-fast, upstream: glm-5-air, max_output_tokens: 8192, fallbacks: [glm-5.1], quota_routing: true }
tokens:
  - name: alice
    sha256: ${sha256Hex(ALICE_TOKEN).toUpperCase()}
    expires_at: 2027-01-01T00:00:00Z
    connections: ["*"]
    models: ["*"]
    max_concurrent: 32
`;

const PEM_FILES: Readonly<Record<string, string>> = {
  "cert.pem": "-----BEGIN CERTIFICATE-----\n",
  "key.pem": "-----BEGIN PRIVATE KEY-----\n",
};

Deno.test("loadConfig() resolves every key of a full file", async () => {
  const config = configOf(
    await loadText(SAMPLE, {
      env: (name) => name === "ZAI_API_KEY" ? "zai-key" : undefined,
      readFile: (path) => Promise.resolve(PEM_FILES[path] ?? ""),
    }),
  );
  const connection = {
    name: "GLM team",
    id: "0b1d3c52-6a0e-4a3e-8f0e-2f9c3b0d1a11",
    service: "zai",
    family: "A",
    enabled: true,
    endpoints: {
      chat: "https://api.z.ai/api/coding/paas/v4",
      messages: "https://api.z.ai/api/anthropic/v1",
    },
    auth: { scheme: "bearer", key: "zai-key" },
    headers: { "x-team": "platform" },
    streamOnly: false,
    force: { store: false },
    omit: ["temperature"],
    strict: false,
    quota: {
      kind: "zai",
      plan: "team",
      organization: "org-1",
      project: "proj_1",
      url: undefined,
      key: undefined,
      json: undefined,
    },
    maxConcurrent: 64,
    timeouts: {
      connectMs: 10_000,
      firstByteMs: 300_000,
      firstOutputMs: 0,
      idleMs: 5_000,
      bodyMs: 60_000,
    },
    models: [{
      id: "glm-5.1",
      upstream: "glm-5.1",
      aliases: [],
      isListed: true,
      displayName: undefined,
      contextWindow: undefined,
      maxOutputTokens: undefined,
      input: undefined,
      efforts: undefined,
      fallbacks: [],
      quotaRouting: false,
      price: undefined,
    }, {
      id: "glm-fast",
      upstream: "glm-5-air",
      aliases: [],
      isListed: true,
      displayName: undefined,
      contextWindow: undefined,
      maxOutputTokens: 8192,
      input: undefined,
      efforts: undefined,
      fallbacks: ["glm-5.1"],
      quotaRouting: true,
      price: undefined,
    }],
  };
  const caller = {
    name: "alice",
    sha256: sha256Hex(ALICE_TOKEN),
    expiresAtMs: Date.UTC(2027, 0, 1),
    connectionIds: new Set([connection.id]),
    models: undefined,
    maxConcurrent: 32,
    group: undefined,
    limits: [],
  };
  assert.deepEqual(config, {
    server: {
      host: "127.0.0.1",
      port: 8787,
      tls: { cert: PEM_FILES["cert.pem"], key: PEM_FILES["key.pem"] },
      workers: 1,
      maxConcurrentRequests: 1024,
      maxBodyMemoryBytes: 1024 ** 3,
      drainMs: 30_000,
      admin: { host: "127.0.0.1", port: 9090 },
    },
    messagesVendor: "anthropic",
    timeouts: { ...connection.timeouts, idleMs: 120_000 },
    limits: { budgetMs: 12_000, cacheMs: 60_000 },
    usage: { replay: ["logs/*.jsonl"] },
    shared: undefined,
    connections: [connection],
    pools: new Map([
      ["glm-5.1", [{ connection, model: connection.models[0] }]],
      ["glm-fast", [{ connection, model: connection.models[1] }]],
    ]),
    listedModels: ["glm-5.1", "glm-fast"],
    callers: new Map([[caller.sha256, caller]]),
  });
});

Deno.test("loadConfig() gives defaults to everything a small file leaves out", async () => {
  const config = await minimalConfig();
  assert.deepEqual(config.server, {
    host: "127.0.0.1",
    port: 8787,
    tls: undefined,
    workers: 1,
    maxConcurrentRequests: 1024,
    maxBodyMemoryBytes: 1024 ** 3,
    drainMs: 30_000,
    admin: undefined,
  });
  assert.equal(config.messagesVendor, "anthropic");
  assert.deepEqual(config.limits, { budgetMs: 12_000, cacheMs: 60_000 });
  assert.deepEqual(config.connections[0]?.timeouts, {
    connectMs: 10_000,
    firstByteMs: 300_000,
    firstOutputMs: 0,
    idleMs: 120_000,
    bodyMs: 60_000,
  });
  assert.deepEqual(config.connections[0]?.force, {});
  assert.equal(config.connections[0]?.enabled, true);
  assert.equal(config.connections[0]?.quota, undefined);
  const [caller] = config.callers.values();
  assert.equal(caller?.expiresAtMs, undefined);
  assert.equal(caller?.models, undefined);
});

Deno.test("loadConfig() gives a token without a limit a quarter of the gateway's places, and at least one", async () => {
  for (const [most, expected] of [[1024, 256], [7, 1], [3, 1], [1, 1]]) {
    const config = await minimalConfig({
      server: { max_concurrent_requests: most },
    });
    const [caller] = config.callers.values();
    assert.equal(caller?.maxConcurrent, expected);
  }
});

Deno.test("loadConfig() takes an amount of memory in bytes and in larger units", async () => {
  for (
    const [written, bytes] of [
      [268_435_456, 256 * 1024 ** 2],
      ["268435456", 256 * 1024 ** 2],
      ["262144KiB", 256 * 1024 ** 2],
      ["300 MiB", 300 * 1024 ** 2],
      ["2GiB", 2 * 1024 ** 3],
    ]
  ) {
    const config = await minimalConfig({
      server: { max_body_memory: written },
    });
    assert.equal(config.server.maxBodyMemoryBytes, bytes);
  }
});

Deno.test("loadConfig() reports the problems of every part of a file at once", async () => {
  const file = minimalFile({
    server: { port: 70_000, hots: "localhost" },
    timeouts: { idle: "soon" },
    connections: [
      connectionFile({ service: "zia" }),
      connectionFile({
        name: "second",
        auth: { scheme: "bearer", key: "${NO_SUCH_KEY}" },
        endpoints: { chat: "ftp://example.com" },
        models: [{ id: "model-b", upstraem: "b", fallbacks: ["model-c"] }],
      }),
    ],
    tokens: [
      tokenFile({ sha256: "short", connections: ["secnod"] }),
      tokenFile({ models: ["model-z"] }),
    ],
  });
  assert.deepEqual(problemsOf(await loadFile(file)), [
    "connections[1].auth.key: needs the environment variable NO_SUCH_KEY, which is not set",
    "server.port: must be at most 65535",
    'server.hots: is not a known key; did you mean "host"?',
    "timeouts.idle: must be a whole number, not text",
    "connections[0].service: must be one of zai, bigmodel, anthropic, openai, codex, openrouter, kimi, " +
    "moonshot, minimax, deepseek, groq, cerebras, mistral, siliconflow, synthetic, gateway, custom; " +
    'did you mean "zai"?',
    'connections[1].models[0].upstraem: is not a known key; did you mean "upstream"?',
    "tokens[0].sha256: must be the SHA-256 of the token, 64 hexadecimal digits; `token new NAME` makes both",
    'connections[1].models[0].fallbacks[0]: is served by no connection; did you mean "model-a"?',
    "connections[1].endpoints.chat: must be a URL such as https://api.example.com/v1",
    'tokens[0].connections[0]: is neither the name nor the id of a connection; did you mean "second"?',
    "tokens[1].name: is also the name of tokens[0]; each token has its own",
    'tokens[1].models[0]: is served by no connection; did you mean "model-a"?',
  ]);
});

Deno.test("loadConfig() takes auto for the number of workers, and digits from a variable", async () => {
  for (const [workers, expected] of [["auto", "auto"], ["3", 3]] as const) {
    const config = await minimalConfig({ server: { workers } });
    assert.equal(config.server.workers, expected);
  }
});
