import assert from "node:assert/strict";
import {
  connectionFile,
  loadFile,
  minimalConfig,
  minimalFile,
  problemsOf,
  warningsOf,
} from "../../../support/gateway/config.ts";
import {
  readBaseUrl,
  readHttpUrl,
} from "../../../../src/gateway/config/resolve/endpoints.ts";
import { adminPort } from "../../../../src/gateway/config/resolve/server.ts";
import {
  nextTestCertificate,
  testCertificate,
} from "../../../support/upstream/test_certificate.ts";
import { steps } from "../../../support/steps.ts";
import { yamlTable } from "../../../support/yaml_table.ts";

const connection = (overrides: Readonly<Record<string, unknown>>) =>
  minimalFile({ connections: [connectionFile(overrides)] });

const URL_A = "https://a.example/v1";
const ROUTED = "is set by the gateway itself. Remove it.";
const FAMILIES = "needs A (Chat Completions), B (Messages) or C (Responses).";

const TOOLLESS =
  "refuses Chat Completions, at least with both tools and reasoning. Set `endpoints.responses`, so that the gateway translates them.";

const PROBLEMS = yamlTable(`
{ family: <absent> } → connections[0].family: is missing. \`service: custom\` ${FAMILIES}
{ service: gateway, family: <absent> } → connections[0].family: is missing. \`service: gateway\`
  ${FAMILIES}
{ endpoints: <absent> } → connections[0].endpoints.chat: is missing. Family A needs it.
{ endpoints: { messages: "${URL_A}" } } → connections[0].endpoints.chat: is missing. Family A needs
  it.
{ family: B } → connections[0].endpoints.messages: is missing. Family B needs it.
{ family: C } → connections[0].endpoints.responses: is missing. Family C needs it.
{ endpoints: { chat: "http://u:canary@h" } } → connections[0].endpoints.chat: must not hold
  credentials. Set them in auth.
{ headers: { "a b": c } } → connections[0].headers["a b"]: is not a valid header name.
{ headers: { Host: c } } → connections[0].headers.Host: is a header that the gateway sets itself.
  Remove it.
{ headers: { Authorization: canary } } → connections[0].headers.Authorization: would replace the
  credential of auth. Remove it, or use \`scheme: none\`.
{ headers: { X-A: "1", x-a: "2" } } → connections[0].headers.x-a: appears twice. Upper and lower
  case are the same.
{ headers: { x-a: "can\\r\\nary: 1" } } → connections[0].headers.x-a: must be printable ASCII
  without line breaks or outer spaces.
{ force: { model: x } } → connections[0].force.model: ${ROUTED}
{ force: { stream: true } } → connections[0].force.stream: ${ROUTED}
{ omit: [a, model] } → connections[0].omit[1]: must not be model, which every request needs.
{ models: [{ id: a, lessons: ["omit temperature", "omit messages"] }] } →
  connections[0].models[0].lessons[1]: is no lesson. Copy one from \`check --live --try\` or the
  log's \`lesson\`.
{ ability: { limits: { most_stops: -1 } } } → connections[0].ability.limits.most_stops: must be at
  least 0.
{ ability: { reasoning: { effort: [low] } } } → connections[0].ability.reasoning.effort:
  is not a known key. Did you mean "efforts"?
{ ability: { reasoning: { efforts: [low, huge] } } } → connections[0].ability.reasoning.efforts[1]:
  must be one of none, minimal, low, medium, high, xhigh, max.
{ ability: { protocol: chat } } → connections[0].ability.protocol: is not a known key.
  Known here: reasoning, tools, schemas, sampling, limits, settings, tiers, cache_marks, continues,
  names.
{ models: [{ id: a, ability: { tools: { forbid: 1 } } }] } →
  connections[0].models[0].ability.tools.forbid: must be true or false.
{ quota: { url: nowhere } } → connections[0].quota.url: must be a URL such as
  https://api.example.com/v1.
{ models: [a, b, { id: a }] } → connections[0].models[2]: has the id of connections[0].models[0].
  Each model of a connection needs its own.
`);

Deno.test("a connection reports", (t) =>
  steps(t, PROBLEMS, async ([, overrides, problem]) => {
    const file = { ...connection(overrides), tokens: [] };
    assert.deepEqual(problemsOf(await loadFile(file)), [problem]);
  }));

const WARNINGS = yamlTable(`
{ endpoints: { chat: "http://10.0.0.1/v1" } } → connections[0].endpoints.chat: sends prompts and the
  key unencrypted. Use https.
{ quota: { kind: litellm, url: "http://10.0.0.1/q" } } → connections[0].quota.url: sends the key
  unencrypted. Use https.
{ family: C, endpoints: { chat: "${URL_A}", responses: "${URL_A}" } } →
  connections[0].endpoints.chat: is not used: no route of family C needs it.
{ family: B, endpoints: { messages: "${URL_A}", completions: "${URL_A}" } } →
  connections[0].endpoints.completions: is not used: no route of family B needs it.
{ timeouts: { body: 1 } } → connections[0].timeouts.body: has no effect: a body arrives before its
  connection is chosen. Set timeouts.body for all connections.
{ service: azure-chat, family: <absent>, endpoints: { chat: "${URL_A}" }, models: [gpt-4.1, Kimi-K2.6,
  { id: a, upstream: prod-gpt-6.1-sol }] } → connections[0].models[2]: ${TOOLLESS}
{ service: openai-chat, family: <absent>, endpoints: { chat: "${URL_A}" }, models: [gpt-5-codex] } →
  connections[0].models[0]: ${TOOLLESS}
`);

Deno.test("a connection warns", (t) =>
  steps(t, WARNINGS, async ([, overrides, warning]) => {
    const result = await loadFile(connection(overrides));
    assert.deepEqual(warningsOf(result), [warning]);
  }));

Deno.test("an id is derived from the connection's name, stable and different for each name", async () => {
  const config = await minimalConfig({
    connections: [
      connectionFile(),
      connectionFile({ name: "other" }),
      connectionFile({
        name: "third",
        id: "0B1D3C52-6A0E-4A3E-8F0E-2F9C3B0D1A11",
      }),
    ],
  });
  assert.deepEqual(config.connections.map(({ id }) => id), [
    "0e090408-0e68-585e-9b1c-8e6bf337403b",
    "4bc77049-1d93-5cec-a11f-330ab651d1a4",
    "0b1d3c52-6a0e-4a3e-8f0e-2f9c3b0d1a11",
  ]);
});

Deno.test("a connection's deadlines override the global deadlines", async () => {
  const config = await minimalConfig({
    timeouts: { connect: 1, first_byte: 2, first_output: 3, idle: 4, body: 5 },
    connections: [
      connectionFile({ timeouts: { connect: 0, idle: 40 } }),
      connectionFile({
        name: "other",
        timeouts: { first_byte: 20, first_output: 30, body: 50 },
      }),
    ],
  });
  assert.deepEqual(config.connections.map(({ timeouts }) => timeouts), [
    { connectMs: 0, firstByteMs: 2, firstOutputMs: 3, idleMs: 40, bodyMs: 5 },
    { connectMs: 1, firstByteMs: 20, firstOutputMs: 30, idleMs: 4, bodyMs: 50 },
  ]);
});

Deno.test("header names are resolved to lower case", async () => {
  const config = await minimalConfig({
    connections: [connectionFile({ headers: { "X-Team": "A b" } })],
  });
  assert.deepEqual(config.connections[0]?.headers, { "x-team": "A b" });
});

Deno.test("a missing price is derived from another one, and multiplied prices are rounded", async () => {
  const price = {
    input: 3,
    cached_input: 0.3,
    cache_write: 3.75,
    output: 15,
    rates: [{ when: { speed: "fast" }, times: 6 }],
  };
  const { connections } = await minimalConfig({
    connections: [
      connectionFile({
        models: [{ id: "a", price }, {
          id: "b",
          price: { input: 2, output: 4 },
        }],
      }),
    ],
  });
  const [first, second] = connections[0]?.models ?? [];
  const { rates = [], ...prices } = first?.price ?? {};
  assert.deepEqual(prices, {
    input: 3,
    cachedInput: 0.3,
    cacheWrite: 3.75,
    cacheWrite1h: 3.75,
    output: 15,
  });
  assert.deepEqual(rates.map((rate) => rate.prices), [{
    input: 18,
    cachedInput: 1.8,
    cacheWrite: 22.5,
    cacheWrite1h: 22.5,
    output: 90,
  }]);
  assert.deepEqual(second?.price, {
    input: 2,
    cachedInput: 2,
    cacheWrite: 2,
    cacheWrite1h: 2,
    output: 4,
    rates: [],
  });
});

const GOOD:
  readonly (readonly [text: string, url: string, exposed: boolean])[] = [
    ["https://api.example.com/v1", "https://api.example.com/v1", false],
    ["https://api.example.com/v1///", "https://api.example.com/v1", false],
    ["https://API.Example.com:443/", "https://api.example.com", false],
    ["https://api.example.com/a/../v1", "https://api.example.com/v1", false],
    ["http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1", false],
    ["http://127.9.9.9/v1", "http://127.9.9.9/v1", false],
    ["http://localhost:11434/v1", "http://localhost:11434/v1", false],
    ["http://llm.localhost/v1", "http://llm.localhost/v1", false],
    ["http://[::1]:8080", "http://[::1]:8080", false],
    ["http://10.0.0.5/v1", "http://10.0.0.5/v1", true],
    ["http://localhost.example.com", "http://localhost.example.com", true],
    ["http://127.0.0.1.example.com", "http://127.0.0.1.example.com", true],
  ];

Deno.test("readBaseUrl() reads", (t) =>
  steps(t, GOOD, ([text, url, exposed]) => {
    assert.deepEqual(readBaseUrl(text, "chat"), { url, exposed });
  }));

const NO_URL = "must be a URL such as https://api.example.com/v1.";
const NO_BASE = "must be a base URL, without a query or a fragment.";

const BAD: Readonly<Record<string, string>> = {
  "": NO_URL,
  "api.example.com/v1": NO_URL,
  "/v1": NO_URL,
  "ftp://api.example.com": NO_URL,
  "file:///etc/passwd": NO_URL,
  "javascript:alert(1)": NO_URL,
  "https://": NO_URL,
  " https://api.example.com": NO_URL,
  "https://api.exa\nmple.com": NO_URL,
  "https://api.example.com/a b": NO_URL,
  "https://api.example.com/v1?x=1": NO_BASE,
  "https://api.example.com/v1?": NO_BASE,
  "https://api.example.com/v1#x": NO_BASE,
  "https://user:canary@example.com":
    "must not hold credentials. Set them in auth.",
  "https://canary@example.com": "must not hold credentials. Set them in auth.",
  "https://api.example.com/v1/chat/completions/":
    "must be a base URL. Leave out /chat/completions, which the gateway appends.",
};

Deno.test("readBaseUrl() rejects", async (t) => {
  for (const [text, fault] of Object.entries(BAD)) {
    await t.step(JSON.stringify(text), () => {
      assert.deepEqual(readBaseUrl(text, "chat"), { fault });
    });
  }
});

Deno.test("readBaseUrl() rejects only paths that belong to the given protocol", () => {
  const url = "https://api.example.com/messages";
  assert.deepEqual(readBaseUrl(url, "chat"), { url, exposed: false });
  assert.ok("fault" in readBaseUrl(url, "messages"));
  assert.ok("fault" in readBaseUrl(`${url}/count_tokens`, "messages"));
});

Deno.test("readHttpUrl() allows a query", () => {
  assert.deepEqual(readHttpUrl("https://api.example.com/quota?type=2"), {
    url: "https://api.example.com/quota?type=2",
    exposed: false,
  });
});

const FILES: Readonly<Record<string, string>> = {
  "cert.pem": "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
  "key.pem":
    "-----BEGIN EC PRIVATE KEY-----\nAA==\n-----END EC PRIVATE KEY-----\n",
};
const readFile = (path: string) => Promise.resolve(FILES[path] ?? "canary");

Deno.test("a certificate and its key are read", async () => {
  const tls = { cert: "cert.pem", key: "key.pem" };
  const config = await minimalConfig({ server: { tls } }, { readFile });
  assert.deepEqual(config.server.tls, {
    cert: FILES["cert.pem"],
    key: FILES["key.pem"],
  });
});

Deno.test("a certificate and key are problems when their files are swapped", async () => {
  const tls = { cert: "key.pem", key: "cert.pem" };
  const file = minimalFile({ server: { tls } });
  assert.deepEqual(problemsOf(await loadFile(file, { readFile })), [
    "server.tls.cert: must name a PEM file that holds a certificate.",
    "server.tls.key: must name a PEM file that holds a private key.",
  ]);
});

Deno.test("a key that does not belong to the certificate is a problem", async () => {
  const files: Readonly<Record<string, string>> = {
    "cert.pem": testCertificate.cert,
    "key.pem": testCertificate.key,
    "other.pem": nextTestCertificate.key,
  };
  const context = {
    readFile: (path: string) => Promise.resolve(files[path] ?? "canary"),
  };
  const withKey = (key: string) =>
    minimalFile({ server: { tls: { cert: "cert.pem", key } } });
  const good = await loadFile(withKey("key.pem"), context);
  assert.ok("config" in good);
  const bad = await loadFile(withKey("other.pem"), context);
  assert.deepEqual(problemsOf(bad), [
    "server.tls.key: is not the key of the certificate.",
  ]);
});

Deno.test("a certificate that cannot be read is a problem", async () => {
  const file = minimalFile({ server: { tls: { cert: "a", key: "key.pem" } } });
  const result = await loadFile(file, {
    readFile: (path) =>
      path === "a" ? Promise.reject(new Error("canary")) : readFile(path),
  });
  assert.deepEqual(problemsOf(result), [
    "server.tls.cert: names a file that cannot be read. Create it, or name another: a path such as keys/anthropic begins at the folder of this file.",
  ]);
});

Deno.test("a listener for other machines without TLS is a warning", async (t) => {
  const warning =
    "server.host: lets other machines in without TLS, so that tokens can be read on the network. " +
    "Set server.tls, or let only a proxy with TLS reach it.";
  await steps(
    t,
    ["0.0.0.0", "::", "192.0.2.1", "gateway.example", "127x"],
    async (host) => {
      const file = minimalFile({ server: { host } });
      assert.deepEqual(warningsOf(await loadFile(file)), [warning]);
      const tls = { cert: "cert.pem", key: "key.pem" };
      const safe = minimalFile({ server: { host, tls } });
      assert.deepEqual(warningsOf(await loadFile(safe, { readFile })), []);
    },
  );
  await steps(
    t,
    ["127.0.0.1", "127.9.9.9", "::1", "localhost"],
    async (host) => {
      const file = minimalFile({ server: { host } });
      assert.deepEqual(warningsOf(await loadFile(file)), []);
    },
  );
});

Deno.test("the listener for metrics has defaults and its own address", async () => {
  const config = await minimalConfig({ server: { admin: {} } });
  assert.deepEqual(config.server.admin, { host: "127.0.0.1", port: 9090 });
  const same = minimalFile({ server: { port: 9090, admin: {} } });
  assert.deepEqual(problemsOf(await loadFile(same)), [
    "server.admin.port: must differ from server.port.",
  ]);
  const free = await minimalConfig({ server: { port: 0, admin: { port: 0 } } });
  assert.deepEqual(free.server.admin, { host: "127.0.0.1", port: 0 });
});

Deno.test("the metrics port may be an offset from the gateway's port, up to the last port", async () => {
  const admin = { port_offset: 1000 };
  const config = await minimalConfig({ server: { port: 8787, admin } });
  const place = { host: "127.0.0.1", portOffset: 1000 };
  assert.deepEqual(config.server.admin, place);
  assert.equal(adminPort(place, 8788), 9788);
  assert.equal(adminPort({ host: "127.0.0.1", port: 9090 }, 8788), 9090);
  const last = minimalFile({ server: { port: 64_536, admin } });
  assert.deepEqual(problemsOf(await loadFile(last)), [
    "server.admin.port_offset: must leave a port: server.port is 64536, and the largest port is 65535.",
  ]);
});
