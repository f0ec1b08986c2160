import assert from "node:assert/strict";
import { copyTree, readYaml } from "../../../src/gateway/config/load.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
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
  warningsOf,
} from "../../support/gateway/config.ts";
import { steps } from "../../support/steps.ts";

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
    region: undefined,
    endpoints: {
      chat: "https://api.z.ai/api/coding/paas/v4",
      messages: "https://api.z.ai/api/anthropic/v1",
    },
    paths: [],
    auth: { scheme: "bearer", key: "zai-key" },
    headers: { "x-team": "platform" },
    headersDrop: {},
    streamOnly: false,
    force: { store: false },
    omit: ["temperature"],
    ability: undefined,
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
    queue: undefined,
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
      omit: [],
      ability: undefined,
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
      omit: [],
      ability: undefined,
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
    weight: 1,
    groups: [],
    limits: [],
    inherited: [],
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
      attribution: [],
      trustedProxies: [],
      removedTokens: "finish",
      admin: { host: "127.0.0.1", port: 9090 },
    },
    messagesVendor: "anthropic",
    timeouts: { ...connection.timeouts, idleMs: 120_000 },
    limits: { budgetMs: 12_000, cacheMs: 60_000 },
    usage: { replay: ["logs/*.jsonl"] },
    include: [],
    shared: undefined,
    connections: [connection],
    pools: new Map([
      ["glm-5.1", [{ connection, model: connection.models[0] }]],
      ["glm-fast", [{ connection, model: connection.models[1] }]],
    ]),
    listedModels: ["glm-5.1", "glm-fast"],
    callers: new Map([[caller.sha256, caller]]),
    identity: [],
  });
});

Deno.test("loadConfig() adds the defaults to a small file", async () => {
  const config = await minimalConfig();
  assert.deepEqual(config.server, {
    host: "127.0.0.1",
    port: 8787,
    tls: undefined,
    workers: 1,
    maxConcurrentRequests: 1024,
    maxBodyMemoryBytes: 1024 ** 3,
    drainMs: 30_000,
    attribution: [],
    trustedProxies: [],
    removedTokens: "finish",
    admin: undefined,
  });
  assert.equal(config.messagesVendor, "anthropic");
  assert.deepEqual(config.limits, { budgetMs: 12_000, cacheMs: 60_000 });
  assert.deepEqual(config.connections[0]?.timeouts, {
    connectMs: 10_000,
    firstByteMs: 300_000,
    firstOutputMs: 0,
    idleMs: 300_000,
    bodyMs: 300_000,
  });
  assert.deepEqual(config.connections[0]?.force, {});
  assert.equal(config.connections[0]?.enabled, true);
  assert.equal(config.connections[0]?.quota, undefined);
  const [caller] = config.callers.values();
  assert.equal(caller?.expiresAtMs, undefined);
  assert.equal(caller?.models, undefined);
});

Deno.test("loadConfig() limits a token by default to a quarter of the gateway's slots, but at least one", async () => {
  for (const [most, expected] of [[1024, 256], [7, 1], [3, 1], [1, 1]]) {
    const config = await minimalConfig({
      server: { max_concurrent_requests: most },
    });
    const [caller] = config.callers.values();
    assert.equal(caller?.maxConcurrent, expected);
  }
});

Deno.test("loadConfig() accepts an amount of memory in bytes and in larger units", async () => {
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
    "connections[1].auth.key: needs the environment variable NO_SUCH_KEY, which is not set.",
    "server.port: must be at most 65535.",
    'server.hots: is not a known key. Did you mean "host"?',
    "timeouts.idle: must be a whole number of milliseconds, such as 10000, without a unit or separators.",
    'connections[0].service: is not a service. Did you mean "zai"?',
    'connections[1].models[0].upstraem: is not a known key. Did you mean "upstream"?',
    "tokens[0].sha256: must be the SHA-256 of the token, 64 hexadecimal digits. `token new NAME` makes both.",
    'connections[1].models[0].fallbacks[0]: is served by no connection. Did you mean "model-a"?',
    "connections[1].endpoints.chat: must be a URL such as https://api.example.com/v1.",
    'tokens[0].connections[0]: is neither the name nor the id of a connection. Did you mean "second"?',
    "tokens[1].name: is also the name of tokens[0]. Each token needs its own.",
    'tokens[1].models[0]: is served by no connection. Did you mean "model-a"?',
  ]);
});

Deno.test("loadConfig() accepts auto or a variable as the number of workers", async () => {
  for (const [workers, expected] of [["auto", "auto"], ["3", 3]] as const) {
    const config = await minimalConfig({ server: { workers } });
    assert.equal(config.server.workers, expected);
  }
});

const connection = (overrides: Record<string, unknown>) =>
  minimalFile({ connections: [connectionFile(overrides)] });

const MEANT = "Only ${NAME} is replaced by an environment variable.";
const IS = `is the name of a variable without braces. ${MEANT}`;
const HOLDS = `holds the name of a variable without braces. ${MEANT}`;

Deno.test("a reference to a variable without braces is a problem", async (t) => {
  const cases: readonly (readonly [string, Record<string, unknown>])[] = [
    ["auth.key", { auth: { scheme: "bearer", key: "$ZAI_API_KEY" } }],
    ["auth.key", { auth: { scheme: "bearer", key: "$zai_key" } }],
    ["auth.key", { auth: { scheme: "bearer", key: "$(ZAI_API_KEY)" } }],
    ["quota.key", { quota: { kind: "litellm", key: "$KEY" } }],
    ["headers.x-team", { headers: { "x-team": "$TEAM" } }],
    ["name", { name: "$NAME" }],
  ];
  for (const [place, overrides] of cases) {
    await t.step(`${place} ${JSON.stringify(overrides)}`, async () => {
      const result = await loadFile(connection(overrides), {
        env: () => "value",
      });
      assert.deepEqual(problemsOf(result), [`connections[0].${place}: ${IS}`]);
    });
  }
});

Deno.test("a reference to a variable is a warning where the gateway does not expand it", async (t) => {
  const cases: readonly (readonly [string, string, Record<string, unknown>])[] =
    [
      ["headers.x-a", HOLDS, { headers: { "x-a": "Bearer $TEAM_KEY" } }],
      ["endpoints.chat", HOLDS, {
        endpoints: { chat: "http://127.0.0.1:9/$REGION/v1" },
      }],
      ["force.user", IS, { force: { user: "$USER" } }],
    ];
  await steps(t, cases, async ([place, message, overrides]) => {
    const result = await loadFile(connection(overrides));
    assert.deepEqual(warningsOf(result), [
      `connections[0].${place}: ${message}`,
    ]);
  });
});

Deno.test("a dollar sign is accepted without a name after it, and in a variable's value", async (t) => {
  const keys: readonly (readonly [written: string, key: string])[] = [
    ["$2b$12$abc", "$2b$12$abc"],
    ["sk$KEY", "sk$KEY"],
    ["$$KEY", "$$KEY"],
    ["key$", "key$"],
    ["${KEY}", "$VALUE"],
  ];
  await steps(t, keys, async ([written, key]) => {
    const file = connection({ auth: { scheme: "bearer", key: written } });
    const result = await loadFile(file, { env: () => "$VALUE" });
    assert.deepEqual(configOf(result).connections[0]?.auth, {
      scheme: "bearer",
      key,
    });
    assert.deepEqual(warningsOf(result), []);
  });
});

function copyYaml(text: string) {
  const yaml = readYaml(text);
  assert.ok("value" in yaml);
  return copyTree(yaml.value, (found) => found);
}

Deno.test("copyTree() maps every text, with its path", () => {
  const seen: string[] = [];
  const result = copyTree(
    { a: ["x", { b: "y" }], c: 1, d: null },
    (text, path) => {
      seen.push(`${path.join(".")}=${text}`);
      return text.toUpperCase();
    },
  );
  assert.deepEqual(result, { value: { a: ["X", { b: "Y" }], c: 1, d: null } });
  assert.deepEqual(seen, ["a.0=x", "a.1.b=y"]);
});

Deno.test("copyTree() does not change the original", () => {
  const tree = Object.freeze({ a: Object.freeze(["x"]) });
  copyTree(tree, () => "other");
  assert.deepEqual(tree, { a: ["x"] });
});

Deno.test("copyTree() copies the target of an alias", () => {
  assert.deepEqual(copyYaml("a: &x { k: v }\nb: *x\n"), {
    value: { a: { k: "v" }, b: { k: "v" } },
  });
});

Deno.test("copyTree() rejects nested aliases that expand exponentially", () => {
  const levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"];
  for (let level = 1; level < 10; level++) {
    const inner = Array(10).fill(`*a${level - 1}`).join(", ");
    levels.push(`a${level}: &a${level} [${inner}]`);
  }
  assert.deepEqual(copyYaml(levels.join("\n")), {
    problem: {
      path: "",
      message:
        "holds more than 1000000 values. Each alias counts as a copy of its anchor.",
    },
  });
});

Deno.test("copyTree() rejects an alias inside its own target", () => {
  const result = copyYaml("a: &x [*x]\n");
  assert.ok("problem" in result);
  assert.match(result.problem.path, /^a\[0\]\[0\]/);
  assert.match(result.problem.message, /^is nested too deeply/);
});

Deno.test("copyTree() rejects a key that would reach a prototype", () => {
  assert.deepEqual(copyYaml('{"a": {"__proto__": {"polluted": true}}}'), {
    problem: { path: "a.__proto__", message: "is not a known key." },
  });
  assert.equal(Reflect.get({}, "polluted"), undefined);
});
