import assert from "node:assert/strict";
import { sha256Hex } from "../../../src/base/sha256.ts";
import {
  ALICE_TOKEN,
  connectionFile,
  describedFile,
  loadFile,
  minimalFile,
  tokenFile,
} from "../../support/gateway/config.ts";
import { parseYaml } from "../../support/yaml.ts";

const ID = "0b1d3c52-6a0e-4a3e-8f0e-2f9c3b0d1a11";

Deno.test("check shows a small file as written, with the defaults and the resolved values", async () => {
  const shown = await describedFile({
    connections: [connectionFile({ id: ID })],
  });
  assert.equal(
    shown,
    `server:
  host: 127.0.0.1
  port: 8787
  workers: 1
  max_concurrent_requests: 1024
  max_body_memory: 1024MiB
  drain_seconds: 30
  attribution: []
  trusted_proxies: []
  removed_tokens: finish
messages_vendor: anthropic
timeouts:
  connect: 10000
  first_byte: 300000
  first_output: 0
  idle: 300000
  body: 300000
limits:
  budget: 12000
  cache_seconds: 60
defaults:
  limits: []
groups: {}
usage:
  replay: []
include: []
connections:
  - name: main
    id: ${ID}
    service: custom
    family: A
    enabled: true
    endpoints:
      chat: http://127.0.0.1:9/v1
    paths: []
    auth:
      scheme: bearer
      key: hidden
    headers: {}
    headers_drop: {}
    stream_only: false
    force: {}
    omit: []
    strict: false
    timeouts:
      connect: 10000
      first_byte: 300000
      first_output: 0
      idle: 300000
      body: 300000
    models:
      - model-a
tokens:
  - name: alice
    sha256: ${sha256Hex(ALICE_TOKEN).slice(0, 12)}…
    connections:
      - main
    models:
      - model-a
    max_concurrent: 256
    weight: 1
    group: []
    limits: []
identity: []
`,
  );
});

Deno.test("the output of check for a file without secrets is a file with the same meaning", async () => {
  const file = minimalFile({
    server: { admin: { port_offset: 2 }, max_body_memory: "2GiB" },
    defaults: { limits: [{ window: "day", tokens: 5 }] },
    connections: [connectionFile({
      auth: { scheme: "none" },
      omit: ["user"],
      headers_drop: { "Anthropic-Beta": ["a"] },
      quota: { kind: "zai", plan: "team", organization: "o", project: "p" },
      max_concurrent: 4,
      queue: {},
      models: [{
        id: "fast",
        upstream: "glm-air",
        aliases: ["quick", { id: "swift", listed: false }],
        display_name: "GLM Air",
        input: ["text", "image"],
        reasoning: ["low", "high"],
        fallbacks: ["slow"],
        price: {
          input: 1,
          output: 2,
          rates: [{ when: { speed: "x" }, times: 2 }],
        },
      }, "slow"],
    })],
    tokens: [tokenFile({ expires_at: "2027-01-01", models: ["slow"] })],
  });
  const first = await loadFile(file);
  const shown = parseYaml(await describedFile(file), { schema: "core" });
  assert.ok(typeof shown === "object" && shown !== null);
  const again = await loadFile({ ...shown, tokens: file.tokens });
  assert.ok("config" in first && "config" in again, JSON.stringify(again));
  assert.deepEqual(again.config, first.config);
});

Deno.test("check shows how many names it leaves out", async () => {
  const models = Array.from({ length: 53 }, (_, index) => `m${index}`);
  const shown = await describedFile({
    connections: [connectionFile({ models })],
  });
  assert.match(shown, / - m49\n +- 3 more\n +max_concurrent/);
});

Deno.test("check shows only the beginning of each caller's hash", async () => {
  const text = await describedFile({
    tokens: [tokenFile({ sha256: ["a".repeat(64), "b".repeat(64)] })],
  });
  assert.ok(text.includes("- aaaaaaaaaaaa…\n"), text);
  assert.ok(text.includes("- bbbbbbbbbbbb…\n"), text);
  assert.ok(!text.includes("a".repeat(13)));
  assert.equal(text.match(/name: alice/g)?.length, 1);
});

Deno.test("check also shows the tokens and groups of included files", async () => {
  const text = await describedFile({
    include: ["more.yaml"],
    groups: { a: {} },
  }, {
    readFile: () =>
      Promise.resolve(JSON.stringify({
        groups: { b: { weight: 2 } },
        tokens: [
          tokenFile({ name: "bob", sha256: "b".repeat(64), group: "b" }),
        ],
      })),
  });
  assert.match(text, /\n {2}b:\n {4}weight: 2\n/);
  assert.match(text, /- name: bob\n/);
  assert.match(text, /- name: alice\n/);
});
