import assert from "node:assert/strict";
import { QUOTA_KINDS } from "../../../src/config/quota_kinds.ts";
import {
  connectionFile,
  loadFile,
  loadText,
  minimalFile,
  problemsOf,
  tokenFile,
} from "../../support/gateway/config.ts";

type Row = readonly [file: Record<string, unknown>, problem: string];

const connection = (overrides: Record<string, unknown>) =>
  minimalFile({ connections: [connectionFile(overrides)] });
const model = (fields: unknown) => connection({ models: [fields] });
const token = (overrides: Record<string, unknown>) =>
  minimalFile({ tokens: [tokenFile(overrides)] });

const WHOLE_NUMBER = "must be a whole number";

const BYTE_SIZE =
  "must be a number of bytes or a size such as 2GiB, at least 64MiB.";

/** A field with what it may not be, and what is said of it. */
const ROWS: readonly Row[] = [
  [
    minimalFile({ servre: {} }),
    'servre: is not a known key. Did you mean "server"?',
  ],
  [
    minimalFile({ plugins: {} }),
    "plugins: is not a known key. Known here: server, messages_vendor, timeouts, limits, defaults, groups, usage, shared, include, connections, tokens, identity.",
  ],
  [
    minimalFile({ "<<": {} }),
    '["<<"]: is not a key: YAML 1.2 has no merge keys. Write the keys out.',
  ],
  [
    minimalFile({ server: null }),
    "server: has no value. Give one, or remove the key.",
  ],
  [minimalFile({ server: [] }), "server: must be a mapping, not a list."],
  [
    minimalFile({ server: { host: "" } }),
    "server.host: must be a host name or an address, such as 127.0.0.1.",
  ],
  [
    minimalFile({ server: { host: "a b" } }),
    "server.host: must be a host name or an address, such as 127.0.0.1.",
  ],
  [
    minimalFile({ server: { host: 1 } }),
    "server.host: must be text, not a number. Put it in quotes.",
  ],
  [minimalFile({ server: { port: -1 } }), "server.port: must be at least 0."],
  [
    minimalFile({ server: { port: 65_536 } }),
    "server.port: must be at most 65535.",
  ],
  [minimalFile({ server: { port: 1.5 } }), `server.port: ${WHOLE_NUMBER}.`],
  [
    minimalFile({ server: { port: 1e20 } }),
    "server.port: must be at most 65535.",
  ],
  [
    minimalFile({ server: { port: "http" } }),
    `server.port: ${WHOLE_NUMBER}, not text.`,
  ],
  [
    minimalFile({ server: { port: true } }),
    `server.port: ${WHOLE_NUMBER}, not true or false.`,
  ],
  [
    minimalFile({ server: { workers: 0 } }),
    "server.workers: must be at least 1.",
  ],
  [
    minimalFile({ server: { workers: 257 } }),
    "server.workers: must be at most 256.",
  ],
  [
    minimalFile({ server: { workers: "many" } }),
    "server.workers: must be a whole number from 1 to 256, or auto.",
  ],
  [
    minimalFile({ server: { max_concurrent_requests: 0 } }),
    "server.max_concurrent_requests: must be at least 1.",
  ],
  [
    minimalFile({ server: { max_body_memory: "1 GB" } }),
    `server.max_body_memory: ${BYTE_SIZE}`,
  ],
  [
    minimalFile({ server: { max_body_memory: "63MiB" } }),
    `server.max_body_memory: ${BYTE_SIZE}`,
  ],
  [
    minimalFile({ server: { max_body_memory: 67_108_864.5 } }),
    `server.max_body_memory: ${BYTE_SIZE}`,
  ],
  [
    minimalFile({ server: { drain_seconds: 3601 } }),
    "server.drain_seconds: must be at most 3600.",
  ],
  [
    minimalFile({ server: { admin: { prot: 1 } } }),
    'server.admin.prot: is not a known key. Did you mean "port"?',
  ],
  [
    minimalFile({ server: { tls: { cert: "c" } } }),
    "server.tls.key: is missing.",
  ],
  [
    minimalFile({ messages_vendor: "A/B" }),
    "messages_vendor: must be lower-case letters, digits and hyphens, such as anthropic.",
  ],
  [
    minimalFile({ timeouts: { connect: 86_400_001 } }),
    "timeouts.connect: must be at most 86400000.",
  ],
  [
    minimalFile({ timeouts: { conect: 1 } }),
    'timeouts.conect: is not a known key. Did you mean "connect"?',
  ],
  [
    minimalFile({ limits: { budget: 0 } }),
    "limits.budget: must be at least 1.",
  ],
  [
    minimalFile({ limits: { budget: 12_001 } }),
    "limits.budget: must be at most 12000.",
  ],
  [
    minimalFile({ limits: { cache_seconds: 61 } }),
    "limits.cache_seconds: must be at most 60.",
  ],
  [
    minimalFile({ usage: { replay: "a.jsonl" } }),
    "usage.replay: must be a list, not text.",
  ],
  [
    minimalFile({ usage: { replay: [""] } }),
    "usage.replay[0]: must not be empty.",
  ],
  [minimalFile({ connections: undefined }), "connections: is missing."],
  [
    minimalFile({ connections: [] }),
    "connections: must list at least one connection.",
  ],
  [
    minimalFile({ connections: {} }),
    "connections: must be a list, not a mapping.",
  ],
  [
    minimalFile({ connections: ["main"] }),
    "connections[0]: must be a mapping, not text.",
  ],
  [minimalFile({ tokens: undefined }), "tokens: is missing."],
  [connection({ name: undefined }), "connections[0].name: is missing."],
  [
    connection({ name: 7 }),
    "connections[0].name: must be text, not a number. Put it in quotes.",
  ],
  [connection({ name: "" }), "connections[0].name: must not be empty."],
  [
    connection({ name: "*" }),
    "connections[0].name: must not be *, which means every name.",
  ],
  [
    connection({ name: " main" }),
    "connections[0].name: must not begin or end with a space.",
  ],
  [
    connection({ name: "a\nb" }),
    "connections[0].name: must not hold control characters.",
  ],
  [
    token({ name: "ali\u200bce" }),
    "tokens[0].name: must not hold characters that do not show, or spaces of other kinds.",
  ],
  [
    token({ group: "pro\u00a0motion" }),
    "tokens[0].group: must not hold characters that do not show, or spaces of other kinds.",
  ],
  [
    connection({ name: "x".repeat(257) }),
    "connections[0].name: must not be longer than 256 characters.",
  ],
  [
    connection({ id: "main" }),
    "connections[0].id: must be a UUID, such as 0b1d3c52-6a0e-4a3e-8f0e-2f9c3b0d1a11.",
  ],
  [
    connection({ family: "D" }),
    "connections[0].family: must be one of A, B, C.",
  ],
  [
    connection({ family: "a" }),
    'connections[0].family: must be one of A, B, C. Did you mean "A"?',
  ],
  [
    connection({ enabled: "yes" }),
    "connections[0].enabled: must be true or false, not text.",
  ],
  [
    connection({ endpoints: { chta: "https://a.example" } }),
    'connections[0].endpoints.chta: is not a known key. Did you mean "chat"?',
  ],
  [
    connection({ auth: "key" }),
    "connections[0].auth: must be a mapping, not text.",
  ],
  [
    connection({ auth: { scheme: "basic", key: "k" } }),
    "connections[0].auth.scheme: must be one of bearer, x-api-key, api-key, none.",
  ],
  [
    connection({ auth: { scheme: "bearer", kye: "k" } }),
    'connections[0].auth.kye: is not a known key. Did you mean "key"?',
  ],
  [
    connection({ headers: { "x-a": 1 } }),
    "connections[0].headers.x-a: must be text, not a number. Put it in quotes.",
  ],
  [
    connection({ headers: ["x-a"] }),
    "connections[0].headers: must be a mapping, not a list.",
  ],
  [
    connection({ omit: "temperature" }),
    "connections[0].omit: must be a list, not text.",
  ],
  [connection({ omit: [""] }), "connections[0].omit[0]: must not be empty."],
  [
    connection({ service: "bard" }),
    "connections[0].service: is not a service. `model-gateway init --help` lists them. For any other server, write `service: custom`.",
  ],
  [
    connection({ service: 7 }),
    "connections[0].service: is not a service. `model-gateway init --help` lists them. For any other server, write `service: custom`.",
  ],
  [
    connection({ quota: { kind: "zia" } }),
    `connections[0].quota.kind: must be one of ${
      QUOTA_KINDS.join(", ")
    }. Did you mean "zai"?`,
  ],
  [
    connection({ quota: { plan: "Team" } }),
    'connections[0].quota.plan: must be one of personal, team. Did you mean "team"?',
  ],
  [
    connection({ max_concurrent: 0 }),
    "connections[0].max_concurrent: must be at least 1.",
  ],
  [
    connection({ queue: { max_wait: 999 } }),
    "connections[0].queue.max_wait: must be at least 1000.",
  ],
  [
    connection({ timeouts: { idle: -1 } }),
    "connections[0].timeouts.idle: must be at least 0.",
  ],
  [connection({ models: undefined }), "connections[0].models: is missing."],
  [
    model({ id: "a", upstraem: "b" }),
    'connections[0].models[0].upstraem: is not a known key. Did you mean "upstream"?',
  ],
  [model({ upstream: "b" }), "connections[0].models[0].id: is missing."],
  [model(5), "connections[0].models[0]: must be a mapping."],
  [model(""), "connections[0].models[0].id: must not be empty."],
  [
    model({ id: "a", max_output_tokens: 0 }),
    "connections[0].models[0].max_output_tokens: must be at least 1.",
  ],
  [
    model({ id: "a", fallbacks: "b" }),
    "connections[0].models[0].fallbacks: must be a list, not text.",
  ],
  [token({ name: undefined }), "tokens[0].name: is missing."],
  [
    token({ sha256: "mg_token" }),
    "tokens[0].sha256: must be the SHA-256 of the token, 64 hexadecimal digits. `token new NAME` makes both.",
  ],
  [
    token({ sha256: ["mg_token"] }),
    "tokens[0].sha256: must be the SHA-256 of the token, 64 hexadecimal digits. `token new NAME` makes both.",
  ],
  [
    token({ sha256: [] }),
    "tokens[0].sha256: must be a list of 1 to 8 SHA-256 of tokens, 64 hexadecimal digits each.",
  ],
  [
    token({ sha256: ["a".repeat(64), "x"] }),
    "tokens[0].sha256: must be a list of 1 to 8 SHA-256 of tokens, 64 hexadecimal digits each.",
  ],
  [
    token({ sha256: Array(9).fill("a".repeat(64)) }),
    "tokens[0].sha256: must be a list of 1 to 8 SHA-256 of tokens, 64 hexadecimal digits each.",
  ],
  [token({ sha256: undefined }), "tokens[0].sha256: is missing."],
  [
    token({ sha256: 7 }),
    "tokens[0].sha256: must be the SHA-256 of the token, 64 hexadecimal digits. `token new NAME` makes both.",
  ],
  [
    token({ expires_at: "2027-02-30" }),
    "tokens[0].expires_at: must be an ISO 8601 time with a zone, such as 2027-01-01T00:00:00Z.",
  ],
  [
    token({ expires_at: "2027-01-01T00:00:00" }),
    "tokens[0].expires_at: must be an ISO 8601 time with a zone, such as 2027-01-01T00:00:00Z.",
  ],
  [
    token({ expires_at: 2027 }),
    "tokens[0].expires_at: must be an ISO 8601 time with a zone, such as 2027-01-01T00:00:00Z.",
  ],
  [token({ connections: undefined }), "tokens[0].connections: is missing."],
  [
    token({ connections: "*" }),
    "tokens[0].connections: must be a list, not text.",
  ],
  [
    token({ models: [] }),
    "tokens[0].models: must not be empty. Leave it out to allow every model.",
  ],
  [
    token({ models: null }),
    "tokens[0].models: has no value. Give one, or remove the key.",
  ],
  [
    token({ max_concurrent: 0 }),
    "tokens[0].max_concurrent: must be at least 1.",
  ],
  [
    token({ toekn: "x" }),
    "tokens[0].toekn: is not a known key. Known here: name, sha256, expires_at, connections, models, max_concurrent, weight, group, limits.",
  ],
];

Deno.test("loadConfig() reports", async (t) => {
  for (const [file, problem] of ROWS) {
    await t.step(problem, async () => {
      assert.deepEqual(problemsOf(await loadFile(file)), [problem]);
    });
  }
});

Deno.test("another program's name of an option leads to the name of this one", async (t) => {
  const cases: readonly (readonly [Record<string, unknown>, RegExp])[] = [
    [
      { base_url: "https://a.example" },
      /^connections\[0\]\.base_url: is not a known key\. Write `endpoints: \{ chat: URL \}`/,
    ],
    [{ api_base: "https://a.example" }, /\.api_base: .* `endpoints: /],
    [
      { api_key: "canary" },
      /^connections\[0\]\.api_key: is not a known key\. Write `auth: \{ key_file: FILE \}`/,
    ],
    [
      { auth: { api_key: "canary" } },
      /^connections\[0\]\.auth\.api_key: is not a known key\. Did you mean "key"\?/,
    ],
    [{ provider: "openai" }, /\.provider: .* Did you mean "service"\?/],
    [
      { service: "azure-openai" },
      /^connections\[0\]\.service: is not a service\. Did you mean "azure"\? It needs `resource`/,
    ],
    [
      { service: "openai-compatible" },
      /For a server that speaks Chat Completions, write `service: custom`/,
    ],
  ];
  for (const [overrides, expected] of cases) {
    await t.step(JSON.stringify(overrides), async () => {
      const file = minimalFile({ connections: [connectionFile(overrides)] });
      const problems = problemsOf(await loadFile(file));
      assert.ok(
        problems.some((one) => expected.test(one)),
        problems.join("\n"),
      );
      assert.doesNotMatch(problems.join(), /canary/);
    });
  }
});

Deno.test("loadConfig() rejects a number that JSON cannot hold as a body field", async () => {
  const text = `
connections:
  - { name: a, service: openai, auth: { key: k }, models: [m], force: { x: { y: [.inf] } } }
tokens: []
`;
  assert.deepEqual(problemsOf(await loadText(text)), [
    "connections[0].force.x: must be a value that JSON can hold.",
  ]);
});

Deno.test("loadConfig() accepts the ends of every range", async () => {
  for (const port of [0, 65_535]) {
    const result = await loadFile(minimalFile({
      server: { port, workers: 256, drain_seconds: 0 },
      timeouts: { connect: 0, idle: 86_400_000 },
      limits: { budget: 1, cache_seconds: 0 },
    }));
    assert.ok("config" in result);
    assert.equal(result.config.server.port, port);
  }
});

const OUTERMOST: Readonly<Record<string, string>> = {
  "": "file: is empty. It needs at least `connections` and `tokens`.",
  "# only a comment\n":
    "file: is empty. It needs at least `connections` and `tokens`.",
  "- a\n- b\n":
    "file: must be a mapping with `connections` and `tokens`, not a list.",
  "just text":
    "file: must be a mapping with `connections` and `tokens`, not a single value.",
};

Deno.test("loadConfig() rejects a file that is no mapping", async (t) => {
  for (const [text, problem] of Object.entries(OUTERMOST)) {
    await t.step(JSON.stringify(text), async () => {
      assert.deepEqual(problemsOf(await loadText(text)), [problem]);
    });
  }
});

Deno.test("loadConfig() rejects a huge file before it parses it", async () => {
  const text = "#".repeat(16 * 1024 * 1024 + 1);
  assert.deepEqual(problemsOf(await loadText(text)), [
    "file: is longer than 16777216 characters.",
  ]);
});
