import assert from "node:assert/strict";
import { QUOTA_KINDS } from "../../../../src/services/quota_kinds.ts";
import {
  connectionFile,
  loadFile,
  loadText,
  minimalFile,
  problemsOf,
  tokenFile,
} from "../../../support/gateway/config.ts";
import { steps } from "../../../support/steps.ts";
import { yamlTable } from "../../../support/yaml_table.ts";

const connection = (overrides: Readonly<Record<string, unknown>>) =>
  minimalFile({ connections: [connectionFile(overrides)] });
const token = (overrides: Readonly<Record<string, unknown>>) =>
  minimalFile({ tokens: [tokenFile(overrides)] });

const HASH = "a".repeat(64);
const KINDS = QUOTA_KINDS.join(", ");

/** Keys with an invalid value, and the reported problem. */
const FILES = yamlTable(`
{ servre: {} } → servre: is not a known key. Did you mean "server"?
{ plugins: {} } → plugins: is not a known key. Known here: server, messages_vendor, timeouts,
  limits, defaults, groups, usage, alerts, shared, include, connections, tokens, identity.
{ "<<": {} } → ["<<"]: is not a key: YAML 1.2 has no merge keys. Write the keys out.
{ server: null } → server: has no value. Give one, or remove the key.
{ server: [] } → server: must be a mapping, not a list.
{ server: { host: "" } } → server.host: must be a host name or an address, such as 127.0.0.1.
{ server: { host: "a b" } } → server.host: must be a host name or an address, such as 127.0.0.1.
{ server: { host: "localhost:8787" } } → server.host: must have no port. Write the port under
  \`port\`, such as 8787.
{ server: { host: "[::1]:8787" } } → server.host: must have no port. Write the port under
  \`port\`, such as 8787.
{ server: { admin: { host: ":9090" } } } → server.admin.host: must have no port. Write the port
  under \`port\`, such as 8787.
{ server: { drain_seconds: 30s } } → server.drain_seconds: must be a whole number of seconds, such as 30,
  without a unit or separators.
{ timeouts: { connect: 10s } } → timeouts.connect: must be a whole number of milliseconds, such as 10000, without a unit or separators.
{ limits: { budget: 12 s } } → limits.budget: must be a whole number of milliseconds, such as 10000, without a unit or separators.
{ server: { host: 1 } } → server.host: must be text, not a number. Put it in quotes,
  such as "4.1".
{ server: { port: -1 } } → server.port: must be at least 0.
{ server: { port: 65536 } } → server.port: must be at most 65535.
{ server: { port: 1.5 } } → server.port: must be a whole number.
{ server: { port: 100000000000000000000 } } → server.port: must be at most 65535.
{ server: { port: http } } → server.port: must be a whole number, such as 5000, without a unit or separators.
{ server: { port: true } } → server.port: must be a whole number, not true or false.
{ server: { workers: 0 } } → server.workers: must be at least 1.
{ server: { workers: 257 } } → server.workers: must be at most 256.
{ server: { workers: many } } → server.workers: must be a whole number from 1 to 256, or auto.
{ server: { max_concurrent_requests: 0 } } → server.max_concurrent_requests: must be at least 1.
{ server: { max_body_memory: "1 GB" } } → server.max_body_memory: must be a number of bytes or a
  size such as 2GiB, at least 64MiB.
{ server: { max_body_memory: "63MiB" } } → server.max_body_memory: must be a number of bytes or a
  size such as 2GiB, at least 64MiB.
{ server: { max_body_memory: 67108864.5 } } → server.max_body_memory: must be a number of bytes or a
  size such as 2GiB, at least 64MiB.
{ server: { drain_seconds: 3601 } } → server.drain_seconds: must be at most 3600.
{ server: { admin: { prot: 1 } } } → server.admin.prot: is not a known key. Did you mean "port"?
{ server: { tls: { cert: c } } } → server.tls.key: is missing.
{ messages_vendor: "A/B" } → messages_vendor: must be lower-case letters, digits and hyphens,
  such as anthropic.
{ timeouts: { connect: 86400001 } } → timeouts.connect: must be at most 86400000.
{ timeouts: { conect: 1 } } → timeouts.conect: is not a known key. Did you mean "connect"?
{ limits: { budget: 0 } } → limits.budget: must be at least 1.
{ limits: { budget: 12001 } } → limits.budget: must be at most 12000.
{ limits: { cache_seconds: 61 } } → limits.cache_seconds: must be at most 60.
{ usage: { replay: a.jsonl } } → usage.replay: must be a list, not text.
{ usage: { replay: [""] } } → usage.replay[0]: must not be empty.
{ connections: <absent> } → connections: is missing.
{ connections: [] } → connections: must list at least one connection.
{ connections: {} } → connections: must be a list, not a mapping.
{ connections: [main] } → connections[0]: must be a mapping, not text.
{ tokens: <absent> } → tokens: is missing.
`);

const CONNECTIONS = yamlTable(`
{ name: <absent> } → connections[0].name: is missing.
{ name: 7 } → connections[0].name: must be text, not a number. Put it in quotes,
  such as "4.1".
{ name: "" } → connections[0].name: must not be empty.
{ name: "*" } → connections[0].name: must not be *, which means every name.
{ name: " main" } → connections[0].name: must not begin or end with a space.
{ name: "a\\nb" } → connections[0].name: must not hold control characters.
{ name: ${
  "x".repeat(257)
} } → connections[0].name: must not be longer than 256 characters.
{ id: main } → connections[0].id: must be a UUID, such as 0b1d3c52-6a0e-4a3e-8f0e-2f9c3b0d1a11.
{ family: D } → connections[0].family: must be one of A, B, C.
{ family: a } → connections[0].family: must be one of A, B, C. Did you mean "A"?
{ enabled: "yes" } → connections[0].enabled: must be true or false, not text.
{ endpoints: { chta: "https://a.example" } } → connections[0].endpoints.chta: is not a known key.
  Did you mean "chat"?
{ auth: key } → connections[0].auth: must be a mapping, not text.
{ auth: { scheme: basic, key: k } } → connections[0].auth.scheme: must be one of bearer, x-api-key,
  api-key, none.
{ auth: { scheme: bearer, kye: k } } → connections[0].auth.kye: is not a known key. Did you mean
  "key"?
{ headers: { x-a: 1 } } → connections[0].headers.x-a: must be text, not a number. Put it in quotes,
  such as "4.1".
{ headers: [x-a] } → connections[0].headers: must be a mapping, not a list.
{ omit: temperature } → connections[0].omit: must be a list, not text.
{ omit: [""] } → connections[0].omit[0]: must not be empty.
{ service: bard } → connections[0].service: is not a service. \`model-gateway init --help\` lists
  them. For any other server, write \`service: custom\`.
{ service: 7 } → connections[0].service: is not a service. \`model-gateway init --help\` lists them.
  For any other server, write \`service: custom\`.
{ quota: { kind: zia } } → connections[0].quota.kind: must be one of ${KINDS}. Did you mean "zai"?
{ quota: { plan: Team } } → connections[0].quota.plan: must be one of personal,
  team. Did you mean "team"?
{ max_concurrent: 0 } → connections[0].max_concurrent: must be at least 1.
{ queue: { max_wait: 999 } } → connections[0].queue.max_wait: must be at least 1000.
{ timeouts: { idle: -1 } } → connections[0].timeouts.idle: must be at least 0.
{ models: <absent> } → connections[0].models: is missing.
{ models: [{ id: a, upstraem: b }] } → connections[0].models[0].upstraem: is not a known key. Did
  you mean "upstream"?
{ models: [{ upstream: b }] } → connections[0].models[0].id: is missing.
{ models: [5] } → connections[0].models[0].id: must be text, not a number. Put it in quotes,
  such as "4.1".
{ models: [true] } → connections[0].models[0].id: must be text, not true or false. Put it in quotes,
  such as "4.1".
{ models: [null] } → connections[0].models[0]: has no value. Give one, or remove the key.
{ models: [[a]] } → connections[0].models[0]: must be a mapping, not a list.
{ models: [{ id: a, aliases: [3.5] }] } → connections[0].models[0].aliases[0].id: must be text, not
  a number. Put it in quotes, such as "4.1".
{ models: [{ id: a, context_window: 200k }] } → connections[0].models[0].context_window: must be a
  whole number, such as 5000, without a unit or separators.
{ models: [{ id: a, price: { input: "$5", output: 2 } }] } → connections[0].models[0].price.input:
  must be a number from 0 to 1000000, such as 0.5, without a unit or separators.
{ queue: { max_wait: 30s } } → connections[0].queue.max_wait: must be a whole number of milliseconds,
  such as 10000, without a unit or separators.
{ max_concurrent: "5,000" } → connections[0].max_concurrent: must be a whole number, such as 5000, without a unit or separators.
{ models: [""] } → connections[0].models[0].id: must not be empty.
{ models: [{ id: a, max_output_tokens: 0 }] } → connections[0].models[0].max_output_tokens: must be
  at least 1.
{ models: [{ id: a, fallbacks: b }] } → connections[0].models[0].fallbacks: must be a list,
  not text.
`);

const TOKENS = yamlTable(`
{ name: "ali\\u200bce" } → tokens[0].name: must not hold invisible characters, or unusual spaces.
{ group: "pro\\u00a0motion" } → tokens[0].group: must not hold invisible characters, or unusual spaces.
{ name: <absent> } → tokens[0].name: is missing.
{ sha256: mg_token } → tokens[0].sha256: must be the SHA-256 of the token,
  64 hexadecimal digits. \`token new NAME\` makes both.
{ sha256: [mg_token] } → tokens[0].sha256: must be the SHA-256 of the token,
  64 hexadecimal digits. \`token new NAME\` makes both.
{ sha256: [] } → tokens[0].sha256: must be a list of 1 to 8 SHA-256 of tokens,
  64 hexadecimal digits each.
{ sha256: [${HASH}, x] } → tokens[0].sha256: must be a list of 1 to 8 SHA-256 of tokens,
  64 hexadecimal digits each.
{ sha256: [${
  Array(9).fill(HASH)
}] } → tokens[0].sha256: must be a list of 1 to 8 SHA-256 of tokens, 64 hexadecimal digits each.
{ sha256: <absent> } → tokens[0].sha256: is missing.
{ sha256: 7 } → tokens[0].sha256: must be the SHA-256 of the token,
  64 hexadecimal digits. \`token new NAME\` makes both.
{ expires_at: "2027-02-30" } → tokens[0].expires_at: must be an ISO 8601 time with a zone,
  such as 2027-01-01T00:00:00Z.
{ expires_at: "2027-01-01T00:00:00" } → tokens[0].expires_at: must be an ISO 8601 time with a zone,
  such as 2027-01-01T00:00:00Z.
{ expires_at: 2027 } → tokens[0].expires_at: must be an ISO 8601 time with a zone,
  such as 2027-01-01T00:00:00Z.
{ connections: <absent> } → tokens[0].connections: is missing.
{ group: 4.1 } → tokens[0].group: must be a name or a list of names. Put a number in quotes.
{ connections: "*" } → tokens[0].connections: must be a list, not text.
{ models: [] } → tokens[0].models: must not be empty. Leave it out to allow every model.
{ models: null } → tokens[0].models: has no value. Give one, or remove the key.
{ max_concurrent: 0 } → tokens[0].max_concurrent: must be at least 1.
{ toekn: x } → tokens[0].toekn: is not a known key. Known here: name, sha256, expires_at,
  connections, models, regions, max_concurrent, weight, group, limits.
`);

const TABLES = [
  [FILES, minimalFile],
  [CONNECTIONS, connection],
  [TOKENS, token],
] as const;

Deno.test("loadConfig() reports", async (t) => {
  for (const [rows, fileWith] of TABLES) {
    await steps(t, rows, async ([, fields, problem]) => {
      assert.deepEqual(problemsOf(await loadFile(fileWith(fields))), [problem]);
    });
  }
});

Deno.test("an option name of another program is reported with the gateway's name", async (t) => {
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

Deno.test("loadConfig() rejects a body field with a number that JSON cannot represent", async () => {
  const text = `
connections:
  - { name: a, service: openai, auth: { key: k }, models: [m], force: { x: { y: [.inf] } } }
tokens: []
`;
  assert.deepEqual(problemsOf(await loadText(text)), [
    "connections[0].force.x: must be a value that JSON can hold.",
  ]);
});

Deno.test("loadConfig() accepts the least and greatest value of every range", async () => {
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

Deno.test("loadConfig() rejects a file that is not a mapping", async (t) => {
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
