import assert from "node:assert/strict";
import {
  configJsonSchema,
  includedJsonSchema,
} from "../../../../src/gateway/config/schema/json_schema.ts";
import type { JsonSchema } from "../../../../src/gateway/config/schema/fields.ts";
import { configOptions } from "../../../support/gateway/config_options.ts";
import {
  includedFaults,
  schemaFaults,
} from "../../../support/gateway/config_schema.ts";
import {
  configOf,
  loadFile,
  problemsOf,
} from "../../../support/gateway/config.ts";
import { yamlObject } from "../../../support/yaml.ts";

const PEM = "-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n";

/** A file with every option. */
const WHOLE = yamlObject(`
server:
  host: "127.0.0.1"
  port: 8787
  tls: { cert: cert.pem, key: key.pem }
  workers: auto
  max_concurrent_requests: 10
  max_body_memory: "512MiB"
  drain_seconds: 3
  attribution: [x-project]
  trusted_proxies: [10.0.0.0/8, 2001:db8::1]
  removed_tokens: end
  admin: { host: "127.0.0.1", port: 9090, port_offset: 1000 }
messages_vendor: anthropic
timeouts: { connect: 1, first_byte: 2, first_output: 3, idle: 4, body: 5 }
limits: { budget: 100, cache_seconds: 1 }
defaults:
  limits: &limits
  - { window: minute, requests: 60, models: [long], connections: [one] }
  - { window: hour, tokens: 1000 }
  - { window: day, cost: 1.5, models: [long] }
  - { per: session, tokens: 5 }
  - { window: five_hour, connection: one, share: 0.4 }
  queue: { max_wait: 1000 }
alerts: { webhook: "https://chat.example/hook", headers: { x-a: b }, at: [50, "80"] }
groups: { staff: { regions: [eu], limits: [{ window: month, cost: 1.5, models: [long] }] } }
usage: { replay: ["logs/*.jsonl"] }
include: []
shared: { url: "rediss://a.example", password: password, ca: ca.pem, prefix: "a:" }
connections:
- name: one
  id: "0b1d3c52-6a0e-4a3e-8f0e-2f9c3b0d1a11"
  service: custom
  family: A
  enabled: true
  endpoints: { chat: &url "https://a.example/v1", messages: *url, responses: *url, completions: *url }
  paths: [chat, messages, responses]
  auth: { scheme: bearer, key: key }
  headers: { x-a: "1" }
  headers_drop: { x-c: ["1"] }
  stream_only: false
  force: { store: [1, { deep: null }] }
  omit: [temperature]
  strict: true
  ability: &ability
    reasoning: { by_default: true, modes: [off, adaptive], efforts: [none, low], least: low, usual: low }
    tools: { force: any, forbid: false, parallel: false, mixed_strict: false }
    schemas: { json: none, format_schemas: false, formats_with_tools: "false" }
    sampling: { free: never, both: false, most_temperature: 0.5 }
    limits:
      { least_output_tokens: 1, most_output_tokens: "8192", usual_output_tokens: 4096, most_stops: 0, blank_stops: false, most_cache_marks: 2 }
    settings:
      { temperature: true, top_p: true, top_k: false, seed: false, frequency_penalty: false, presence_penalty: false,
        max_output_tokens: true, verbosity: false, user: false, cache_key: false, metadata: false, logprobs: false,
        web_search: false, cache_options: false, cache_retention: false, safety_identifier: false }
    tiers: [auto, flex]
    cache_marks: content
    continues: false
    names: false
  quota:
    kind: json
    plan: personal
    url: "https://a.example/usage"
    key: key
    headers: { x-b: "2" }
    success: { at: "/code", in: [0, "0", null, false] }
    unauthorized: { at: "/code", in: [401] }
    windows:
    - type: USAGE_LIMIT
      period: "5h"
      unit: percent
      at: "/data"
      where: { level: session }
      limit: "/limit"
      used: "/used"
      remaining: "/left"
      scale: 0.5
      share: { at: "/share", of: used_percent }
      resets_at: { at: "/reset", format: iso }
  region: eu
  max_concurrent: 4
  queue: { max_wait: "60000" }
  timeouts: { connect: 1, first_byte: 2, first_output: 3, idle: 4, body: 5 }
  models:
  - short
  - id: long
    upstream: other
    aliases: [brief, { id: terse, listed: false }]
    listed: true
    display_name: Long
    context_window: 1000
    max_output_tokens: 5
    omit: [top_p]
    lessons: [describe pattern]
    ability: *ability
    input: [text, image, pdf, audio]
    reasoning: [low, high]
    fallbacks: [short]
    quota_routing: true
    price:
      { input: 1, cached_input: 0.1, cache_write: 1.25, cache_write_1h: 2, output: 5, rates: [
        { when: { input_over: 200000, speed: fast, service_tier: batch, inference_geo: us, refusal: cyber, hours: "09:00-18:00 Asia/Shanghai" },
          input: 1, cached_input: 0.1, cache_write: 1.25, cache_write_1h: 2, output: 5 },
        { when: { speed: fast }, times: 6 }] }
identity:
- issuer: "https://login.example.com/"
  audience: [one, other]
  jwks_url: "https://login.example.com/keys"
  name: email
  sign_in: { client: people, scope: openid, audience: api }
  rules:
  - when: { groups: staff, realm_access.level: 3, verified: true }
    connections: ["*"]
    models: ["*"]
    regions: [eu]
    max_concurrent: 3
    weight: 0.5
    group: staff
    limits: *limits
tokens:
- name: alice
  sha256:
  - ${"a".repeat(64)}
  - ${"B".repeat(64)}
  expires_at: "2030-01-01T00:00:00Z"
  connections: ["*"]
  models: ["*"]
  regions: [EU]
  max_concurrent: 2
  weight: "2"
  group: staff
  limits: *limits
`);

/** Options that exclude others, or that belong to other services. */
const ELSEWHERE = new Set([
  "identity.jwks_file",
  "region",
  "resource",
  "project",
  "auth.key_file",
  "auth.exchange",
  "auth.keys",
  "auth.keys.name",
  "auth.keys.key",
  "auth.keys.key_file",
  "auth.keys.weight",
  "shared.password_file",
  "quota.key_file",
  "quota.organization",
  "quota.project",
]);

/** Mappings with free names as keys and values that are not texts. */
const NAMED: ReadonlySet<string> = new Set([
  "groups",
  "connections.headers_drop",
]);

const FILES = {
  env: (name: string) => `value-of-${name}`,
  readFile: () => Promise.resolve(PEM),
};

type Path = readonly (string | number)[];

/** Yields every value below a value, with its path. */
function* below(
  value: unknown,
  path: Path = [],
): Generator<readonly [Path, unknown]> {
  yield [path, value];
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    yield* below(inner, [...path, Array.isArray(value) ? Number(key) : key]);
  }
}

/** Returns the file with the value at a path replaced by the result of `change`. */
function changed(path: Path, change: (value: unknown) => unknown): unknown {
  const [key, ...deeper] = path;
  const at = (value: unknown, rest: Path): unknown => {
    const [first, ...others] = rest;
    if (first === undefined) return change(value);
    const copy: unknown = structuredClone(value);
    if (typeof copy === "object" && copy !== null) {
      Reflect.set(copy, first, at(Reflect.get(copy, first), others));
    }
    return copy;
  };
  return at(WHOLE, key === undefined ? [] : [key, ...deeper]);
}

/** Yields every property in a schema, with the property's schema. */
function* properties(
  schema: JsonSchema,
  name = "",
): Generator<readonly [string, JsonSchema]> {
  for (const [key, value] of Object.entries(schema.properties ?? {})) {
    assert.ok(typeof value === "object");
    const path = name === "" ? key : `${name}.${key}`;
    yield [path, value];
    yield* properties(value, path);
  }
  const inner = [schema.items, ...schema.anyOf ?? []];
  for (const one of inner.flat()) {
    if (typeof one === "object") yield* properties(one, name);
  }
}

Deno.test("the JSON Schema and the gateway accept a file with every option", async () => {
  configOf(await loadFile(WHOLE, FILES));
  assert.deepEqual(schemaFaults(WHOLE), []);
});

Deno.test("the file with every option has every option of the JSON Schema", () => {
  const said = new Set(
    [...below(WHOLE)].map(([path]) =>
      path.filter((key) => typeof key === "string").join(".")
    ),
  );
  for (const [name] of properties(configJsonSchema())) {
    if (ELSEWHERE.has(name.replace("connections.", ""))) continue;
    assert.ok(said.has(name), name);
  }
});

Deno.test("the JSON Schema describes every property in a sentence", () => {
  const found = [...properties(configJsonSchema())];
  assert.ok(found.length > 80);
  for (const [name, { description }] of found) {
    assert.match(description ?? "", /^[A-Z].*\.$|^true: |^false: /, name);
  }
});

Deno.test("the JSON Schema rejects the unknown keys that the gateway rejects", async (t) => {
  const mappings = [...below(WHOLE)].filter(([path, value]) =>
    typeof value === "object" && value !== null && !Array.isArray(value) &&
    !NAMED.has(path.filter((key) => typeof key === "string").join("."))
  );
  let refused = 0;
  for (const [path] of mappings) {
    await t.step(path.join(".") || "file", async () => {
      const file = changed(path, (value) => ({ ...Object(value), zz: "1" }));
      const result = await loadFile(file, FILES);
      const isUnknown = "problems" in result &&
        problemsOf(result).some((problem) =>
          problem.includes("is not a known key")
        );
      if (isUnknown) refused += 1;
      assert.equal(schemaFaults(file).length > 0, isUnknown);
    });
  }
  assert.ok(refused > 15);
});

Deno.test("the JSON Schema accepts a variable for every text, number and boolean", async (t) => {
  const scalars = [...below(WHOLE)].filter(([, value]) =>
    typeof value !== "object"
  );
  assert.ok(scalars.length > 60);
  for (const [path] of scalars) {
    await t.step(path.join("."), () => {
      assert.deepEqual(schemaFaults(changed(path, () => "${NAME}")), []);
    });
  }
});

const WRITTEN: readonly (readonly [Path, unknown, boolean])[] = [
  [["server", "port"], "8787", true],
  [["server", "port"], "http", false],
  [["server", "port"], 65_536, false],
  [["server", "port"], 1.5, false],
  [["server", "workers"], 4, true],
  [["server", "workers"], "many", false],
  [["server", "max_body_memory"], 1024 ** 3, true],
  [["server", "max_body_memory"], 1024, false],
  [["server", "max_body_memory"], "1 GB", false],
  [["server", "tls"], { cert: "cert.pem" }, false],
  [["server"], null, false],
  [["connections"], [], false],
  [["connections", 0, "enabled"], "false", true],
  [["connections", 0, "enabled"], "no", false],
  [["connections", 0, "service"], "zia", false],
  [["connections", 0, "models", 0], 5, false],
  [["tokens", 0, "sha256"], "a".repeat(64), true],
  [["tokens", 0, "sha256"], "a".repeat(63), false],
  [["tokens", 0, "sha256"], [], false],
  [["tokens", 0, "expires_at"], "2030-01-01", true],
  [["tokens", 0, "expires_at"], "tomorrow", false],
];

Deno.test("the JSON Schema and the gateway accept and reject the same values", async (t) => {
  for (const [path, value, isGood] of WRITTEN) {
    const name = `${path.join(".")}: ${JSON.stringify(value)}`;
    await t.step(name, async () => {
      const file = changed(path, () => value);
      assert.equal(schemaFaults(file).length === 0, isGood);
      assert.equal("config" in await loadFile(file, FILES), isGood);
    });
  }
});

Deno.test("the JSON Schema states the default values of options", () => {
  const presets = Object.fromEntries(
    [...properties(configJsonSchema())].map(([name, schema]) => [
      name,
      schema.default,
    ]),
  );
  assert.equal(presets["server.port"], 8787);
  assert.equal(presets["server.max_body_memory"], 1024 ** 3);
  assert.equal(presets["connections.enabled"], true);
  assert.equal(presets["connections.headers"], undefined);
});

Deno.test("the JSON Schema of included files accepts only tokens and groups", () => {
  const { groups, tokens, ...rest } = WHOLE;
  assert.deepEqual(includedFaults({ groups, tokens }), []);
  assert.deepEqual(includedFaults({ tokens: [] }), []);
  for (const [key, value] of Object.entries(rest)) {
    assert.notDeepEqual(includedFaults({ tokens, [key]: value }), [], key);
  }
  assert.notDeepEqual(includedFaults({ tokens: [{ name: "a" }] }), []);
});

Deno.test("the JSON Schema of included files describes options like that of the main file", () => {
  const main = new Map(
    configOptions().map(({ path, description }) => [path, description]),
  );
  const included = configOptions(includedJsonSchema());
  assert.ok(included.length > 15);
  for (const { path, description } of included) {
    if (path === "groups" || path === "tokens") assert.ok(description);
    else assert.equal(description, main.get(path), path);
  }
});
