import assert from "node:assert/strict";
import { describeConfig } from "../../../src/gateway/config/describe.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import {
  ALICE_TOKEN,
  connectionFile,
  minimalConfig,
  tokenFile,
} from "../../support/gateway/config.ts";
import { parseYaml } from "../../support/yaml.ts";

Deno.test("describeConfig() shows the resolved form of a small file", async () => {
  const config = await minimalConfig();
  assert.equal(
    describeConfig(config),
    `server:
  host: 127.0.0.1
  port: 8787
  tls: false
  workers: 1
  max_concurrent_requests: 1024
  max_body_memory: 1024 MiB
  drain: 30000 ms
  attribution: []
  trusted_proxies: []
  removed_tokens: finish
  admin: none
messages_vendor: anthropic
timeouts:
  connect: 10000 ms
  first_byte: 300000 ms
  first_output: none
  idle: 300000 ms
  body: 300000 ms
limits:
  budget: 12000 ms
  cache: 60000 ms
usage:
  replay: none
alerts: none
include: none
shared: nothing
connections:
  - name: main
    id: ${config.connections[0]?.id}
    service: custom
    family: A
    enabled: true
    region: none
    endpoints:
      chat: 'http://127.0.0.1:9/v1'
    paths: those of the family
    auth: 'bearer, key set'
    headers: none
    headers_drop: none
    stream_only: false
    force: none
    omit: none
    strict: false
    quota: not read
    max_concurrent: no limit
    queue: none
    timeouts:
      connect: 10000 ms
      first_byte: 300000 ms
      first_output: none
      idle: 300000 ms
    models:
      - model-a
groups: none
tokens:
  - name: alice
    sha256:
      - ${sha256Hex(ALICE_TOKEN).slice(0, 12)}…
    expires_at: never
    connections:
      - main
    regions: every region
    models:
      - model-a
    max_concurrent: 256
    weight: 1
    groups: none
    limits: none
identity: none
`,
  );
});

Deno.test("describeConfig() shows the resolved form of a full file", async () => {
  const config = await minimalConfig({
    server: { admin: {}, tls: { cert: "c", key: "k" } },
    connections: [connectionFile({
      auth: { scheme: "none" },
      headers: { "X-Team": "a" },
      force: { store: false },
      omit: ["user"],
      quota: { kind: "zai", plan: "team", organization: "o", project: "p" },
      max_concurrent: 4,
      models: [
        {
          id: "fast",
          upstream: "glm-air",
          aliases: ["quick", { id: "swift", listed: false }],
          listed: true,
          display_name: "GLM Air",
          context_window: 1000,
          max_output_tokens: 10,
          input: ["text", "image"],
          reasoning: ["low", "high"],
          fallbacks: ["slow"],
          quota_routing: true,
        },
        "slow",
      ],
    })],
    tokens: [tokenFile({
      expires_at: "2027-01-01",
      models: ["slow"],
      max_concurrent: 2,
    })],
  }, {
    readFile: (path) =>
      Promise.resolve(path === "c" ? "CERTIFICATE-----" : "PRIVATE KEY-----"),
  });
  const description = JSON.stringify(parseYaml(describeConfig(config)));
  for (
    const part of [
      '"tls":true',
      '"admin":"127.0.0.1, port 9090"',
      '"auth":"none"',
      '"headers":["x-team"]',
      '"force":["store"]',
      '"omit":["user"]',
      '"quota":{"kind":"zai","plan":"team","organization":"o","project":"p","url":"the default of the kind","key":"the key of the connection"}',
      '"max_concurrent":4',
      '"models":["fast (upstream glm-air; also called quick, swift (not listed); shown as GLM Air; a context of 1000 tokens; at most 10 output tokens; takes text, image; reasons low, high; falls back to slow; routed by quota)","slow"]',
      '"expires_at":"2027-01-01T00:00:00.000Z","connections":["main"],"regions":"every region","models":["slow"],"max_concurrent":2',
    ]
  ) assert.ok(description.includes(part), `${part} in ${description}`);
});

Deno.test("describeConfig() shows the number of names that it leaves out", async () => {
  const models = Array.from({ length: 53 }, (_, index) => `m${index}`);
  const description = describeConfig(
    await minimalConfig({ connections: [connectionFile({ models })] }),
  );
  assert.match(description, / - m49\n +- 3 more\n +max_concurrent/);
});

Deno.test("describeConfig() shows the beginnings of one caller's hashes", async () => {
  const config = await minimalConfig({
    tokens: [tokenFile({ sha256: ["a".repeat(64), "b".repeat(64)] })],
  });
  const text = describeConfig(config);
  assert.ok(text.includes("- aaaaaaaaaaaa…\n"), text);
  assert.ok(text.includes("- bbbbbbbbbbbb…\n"), text);
  assert.ok(!text.includes("a".repeat(13)));
  assert.equal(text.match(/name: alice/g)?.length, 1);
});
