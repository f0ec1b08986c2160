import assert from "node:assert/strict";
import { ABILITY_ROWS } from "../../../src/codecs/canonical/request/ability_row.ts";
import type { Config } from "../../../src/gateway/config/config.ts";
import { describeConfig } from "../../../src/gateway/config/describe.ts";
import { connectionFile, tokenFile } from "../../support/gateway/config.ts";
import { ISSUER } from "../../support/gateway/identity_scene.ts";
import { configOptions } from "../../support/gateway/config_options.ts";
import {
  optionFaults,
  type OptionPlaces,
  type Overrides,
  type Pair,
} from "../../support/gateway/option_faults.ts";
import {
  A,
  B,
  fileWith,
  JSON_QUOTA,
  load,
  preset,
  TEAM,
} from "../../support/gateway/option_files.ts";
import { steps } from "../../support/steps.ts";

const UUID = "0b1d3c52-6a0e-4a3e-8f0e-2f9c3b0d1a11";

/** Two values of an option, and additional fields beside it. */
type Values = readonly [one: unknown, other: unknown, beside?: Overrides];

/** Returns the table of pairs below a path. */
function pairs(
  values: Readonly<Record<string, Values>>,
  prefix = "",
): Readonly<Record<string, Pair>> {
  return Object.fromEntries(
    Object.entries(values).map(([name, [one, other, beside]]) => {
      const path = prefix + name;
      const pair: Pair = [
        fileWith(path, one, beside),
        fileWith(path, other, beside),
      ];
      return [path, pair];
    }),
  );
}

type AbilityField = Extract<
  typeof ABILITY_ROWS.fields[string],
  { readonly kind: string }
>;

/** Returns two values of each field of an ability. */
function abilityValues(
  fields: typeof ABILITY_ROWS.fields,
  prefix = "",
): Readonly<Record<string, Values>> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => {
      const path = prefix + name.replace(/[A-Z]/g, "_$&").toLowerCase();
      return "fields" in field
        ? Object.entries(abilityValues(field.fields, `${path}.`))
        : [[path, valuesOf(field)]];
    }),
  );
}

function valuesOf(field: AbilityField): Values {
  switch (field.kind) {
    case "flag":
      return [true, false];
    case "number":
      return [1, 2];
    case "word":
      return [field.words[0], field.words[1]];
    case "words":
      return [[field.words[0]], [field.words[1]]];
  }
}

const ABILITY = abilityValues(ABILITY_ROWS.fields);

const TLS: Pair = [{}, { server: { tls: { cert: "c", key: "k" } } }];

/** Returns files with two global values of a deadline, whose connection sets every deadline itself. */
const deadline = (name: string): Pair => {
  const timeouts = { connect: 1, first_byte: 1, first_output: 1, idle: 1 };
  const connections = [connectionFile({ timeouts })];
  return [
    { connections, timeouts: { [name]: 2 } },
    { connections, timeouts: { [name]: 3 } },
  ];
};

/** Every option of a limit, for each list of limits. */
const LIMITS: Readonly<Record<string, Values>> = {
  window: ["hour", "day", { tokens: 5 }],
  per: [undefined, "session", { window: "day", tokens: 5 }],
  requests: [1, 2, { window: "day" }],
  tokens: [1, 5, { window: "day" }],
  cost: [1, 1.5, { window: "day" }],
  models: [["a"], ["b"], { window: "day", tokens: 5 }],
  connections: [["main"], ["other"], { window: "day", tokens: 5 }],
  connection: ["main", "other", { window: "five_hour", share: 0.5 }],
  share: [0.5, 0.6, { window: "five_hour", connection: "main" }],
};

const SHOWN: Readonly<Record<string, Pair>> = {
  "server.tls.cert": TLS,
  "server.tls.key": TLS,
  "timeouts.connect": deadline("connect"),
  "timeouts.first_byte": deadline("first_byte"),
  "timeouts.first_output": deadline("first_output"),
  "timeouts.idle": deadline("idle"),
  "timeouts.body": deadline("body"),
  ...pairs({
    host: ["127.0.0.1", "127.0.0.2"],
    port: [1, 2],
    workers: [1, "auto"],
    max_concurrent_requests: [8, 9],
    max_body_memory: ["1GiB", "2GiB"],
    drain_seconds: [1, 2],
    attribution: [undefined, ["x-project"]],
    trusted_proxies: [undefined, ["10.0.0.0/8"]],
    removed_tokens: [undefined, "end"],
    "admin.host": ["127.0.0.1", "127.0.0.2"],
    "admin.port": [1, 2],
    "admin.port_offset": [1, 2],
  }, "server."),
  ...pairs({
    messages_vendor: ["a", "b"],
    "limits.budget": [1, 2],
    "limits.cache_seconds": [1, 2],
    "alerts.webhook": [A, B],
    "alerts.headers": [undefined, { "x-key": "secret" }, { webhook: A }],
    "alerts.at": [undefined, [50], { webhook: A }],
    include: [[], ["tokens.d/*.yaml"]],
    "usage.replay": [["a.jsonl"], ["a.jsonl", "b.jsonl"]],
    "shared.url": ["rediss://a.example", "rediss://b.example/1"],
    "shared.ca": [undefined, "c"],
    "shared.prefix": [undefined, "b:"],
    "defaults.queue.max_wait": [8000, 9000],
    groups: [
      { a: { limits: [{ window: "hour", tokens: 1 }] } },
      { a: { limits: [{ window: "hour", tokens: 2 }] } },
      { tokens: [tokenFile({ group: "a" })] },
    ],
  }),
  ...pairs({
    name: ["a", "b", { id: UUID }],
    id: [UUID, UUID.replace(/.$/, "2")],
    service: ["custom", "gateway"],
    family: ["A", "B", { endpoints: { chat: A, messages: A } }],
    enabled: [true, false],
    "endpoints.chat": [A, B],
    "endpoints.messages": [undefined, B],
    "endpoints.responses": [undefined, B],
    "endpoints.completions": [undefined, B],
    "auth.exchange": [
      { kind: "google_metadata" },
      { kind: "google_metadata", service_account: "a" },
    ],
    "auth.keys[].name": [undefined, "a"],
    "auth.keys[].key_file": ["f", "g", { key: undefined }],
    "auth.keys[].weight": [undefined, 2],
    "auth.scheme": ["bearer", "x-api-key", { key: "k" }],
    headers: [undefined, { "x-team": "a" }],
    headers_drop: [{ "anthropic-beta": ["a"] }, {
      "anthropic-beta": ["a", "b"],
    }],
    region: ["eu", "us"],
    resource: ["a", "b", preset("azure")],
    project: ["a", "b", { ...preset("vertex"), region: "global" }],
    stream_only: [undefined, true],
    force: [undefined, { store: false }],
    omit: [undefined, ["temperature"]],
    paths: [undefined, ["messages"], {
      family: "C",
      endpoints: { responses: A },
    }],
    strict: [undefined, true],
    max_concurrent: [undefined, 1],
    "queue.max_wait": [8000, 9000],
    "timeouts.connect": [2, 3],
    "timeouts.first_byte": [2, 3],
    "timeouts.first_output": [2, 3],
    "timeouts.idle": [2, 3],
  }, "connections[]."),
  ...pairs({
    kind: ["zai", "bigmodel"],
    plan: ["personal", "team", { kind: "zai" }],
    organization: ["a", "b", TEAM],
    project: ["a", "b", TEAM],
    url: [A, B, { kind: "zai" }],
    key: [undefined, "k", { kind: "zai" }],
    key_file: [undefined, "f", { kind: "zai" }],
    headers: [undefined, { "x-a": "1" }, JSON_QUOTA],
    "success.at": ["/a", "/b", { in: [1] }],
    "success.in": [[1], [2], { at: "/a" }],
    "unauthorized.at": ["/a", "/b", { in: [1] }],
    "unauthorized.in": [[1], [2], { at: "/a" }],
    "windows[].type": ["A", "B"],
    "windows[].period": [undefined, "5h"],
    "windows[].unit": ["a", "b"],
    "windows[].at": [undefined, "/a"],
    "windows[].where": [{ a: 1 }, { a: 2 }],
    "windows[].limit": ["/a", "/b"],
    "windows[].used": [undefined, "/b"],
    "windows[].remaining": [undefined, "/b"],
    "windows[].scale": [undefined, 0.01],
    "windows[].share.at": ["/a", "/b", { of: "used_percent" }],
    "windows[].share.of": ["used_percent", "used_fraction", { at: "/a" }],
    "windows[].resets_at.at": ["/a", "/b", { format: "iso" }],
    "windows[].resets_at.format": ["iso", "epoch_ms", { at: "/a" }],
  }, "connections[].quota."),
  ...pairs({
    id: ["a", "c", { upstream: "u" }],
    upstream: [undefined, "u"],
    max_output_tokens: [undefined, 5],
    omit: [undefined, ["top_p"]],
    lessons: [undefined, ["describe pattern"]],
    "aliases[].id": ["x", "y"],
    "aliases[].listed": [undefined, false],
    listed: [undefined, false],
    display_name: [undefined, "A"],
    context_window: [undefined, 5],
    input: [["text"], ["text", "image"]],
    reasoning: [[], ["low"]],
    fallbacks: [undefined, ["b"]],
    quota_routing: [undefined, true],
    "price.input": [1, 2],
    "price.cached_input": [1, 2],
    "price.cache_write": [1, 2],
    "price.cache_write_1h": [undefined, 2],
    "price.output": [1, 2],
    "price.rates[].when.input_over": [1, 2],
    "price.rates[].when.speed": ["fast", "slow"],
    "price.rates[].when.service_tier": ["batch", "priority"],
    "price.rates[].when.inference_geo": ["us", "eu"],
    "price.rates[].when.refusal": ["cyber", "bio"],
    "price.rates[].when.hours": [
      "09:00-18:00 UTC",
      "22:00-06:30 Asia/Shanghai",
    ],
    "price.rates[].times": [2, 3],
    "price.rates[].input": [2, 3],
    "price.rates[].cached_input": [2, 3],
    "price.rates[].cache_write": [2, 3],
    "price.rates[].cache_write_1h": [2, 3],
    "price.rates[].output": [2, 3],
  }, "connections[].models[]."),
  ...pairs({
    name: ["alice", "bob"],
    sha256: ["a".repeat(64), "b".repeat(64)],
    expires_at: [undefined, "2030-01-01"],
    connections: [["*"], []],
    models: [["a"], ["b"]],
    regions: [["eu"], ["us"]],
    max_concurrent: [undefined, 1],
    weight: [undefined, 2],
    group: ["a", "b"],
  }, "tokens[]."),
  ...pairs({
    issuer: [ISSUER, "https://b.example"],
    audience: [["a"], ["a", "b"]],
    jwks_url: [A, B],
    jwks_file: [undefined, "j", { jwks_url: undefined }],
    "sign_in.client": ["a", "b"],
    "sign_in.scope": [undefined, "b"],
    "sign_in.audience": [undefined, "b"],
    name: [undefined, "email"],
    "rules[].when": [undefined, { groups: "a" }],
    "rules[].connections": [["*"], []],
    "rules[].models": [["a"], ["b"]],
    "rules[].regions": [["eu"], ["us"]],
    "rules[].max_concurrent": [undefined, 1],
    "rules[].weight": [undefined, 2],
    "rules[].group": ["a", "b"],
  }, "identity[]."),
  ...pairs(ABILITY, "connections[].ability."),
  ...pairs(ABILITY, "connections[].models[].ability."),
  ...pairs(LIMITS, "tokens[].limits[]."),
  ...pairs(LIMITS, "defaults.limits[]."),
  ...pairs(LIMITS, "identity[].rules[].limits[]."),
};

/** A configuration, and the output of `check` for it. */
interface Shown {
  readonly config: Config;
  readonly show: () => string;
}

async function resolve(overrides: Overrides): Promise<Shown> {
  const result = await load(overrides);
  assert.ok("config" in result, JSON.stringify(result));
  return { config: result.config, show: () => describeConfig(result) };
}

const page = await Deno.readTextFile(
  new URL("../../../docs/reference/configuration.md", import.meta.url),
);

const PLACES: OptionPlaces<Shown> = {
  pairs: SHOWN,
  fileWith,
  documented: new Set(
    [...page.matchAll(/^\| `([^`]+)` /gm)].map(([, path = ""]) => path),
  ),
  resolve,
  show: ({ show }) => show(),
};

Deno.test("every option of the schema is described, documented, resolved and, unless it is a secret, shown by check", async () => {
  const options = configOptions();
  assert.ok(options.length > 60);
  assert.deepEqual(await optionFaults(options, PLACES), []);
});

const SCHEMA = {
  properties: {
    server: {
      description: "The server.",
      properties: { toy: { type: "boolean", description: "Plays." } },
    },
  },
} as const;

const TOY_PAIRS: Readonly<Record<string, Pair>> = {
  "server.toy": [{ toy: false }, { toy: true }],
};

const TOY_PLACES: OptionPlaces<Overrides> = {
  pairs: TOY_PAIRS,
  fileWith: (_, toy) => ({ toy }),
  documented: new Set(["server", "server.toy"]),
  resolve: (overrides) => Promise.resolve(overrides),
  show: ({ toy }) => `toy: ${toy}`,
};

Deno.test("an option that a table or the documentation lacks is found", async (t) => {
  const cases: Readonly<
    Record<string, readonly [Partial<typeof TOY_PLACES>, readonly string[]]>
  > = {
    "nowhere": [{}, []],
    "in the reference": [
      { documented: new Set(["server"]) },
      ["server.toy: give it a row with deno task reference"],
    ],
    "in no table of this test, which its type makes unnecessary": [
      { pairs: {} },
      [],
    ],
    "in config/resolve/": [
      { resolve: () => Promise.resolve({}) },
      ["server.toy: config/resolve/ does not use it"],
    ],
    "in config/schema/shown.ts": [
      { show: () => "server" },
      ["server.toy: config/schema/shown.ts does not show it"],
    ],
    "in the schema, when it went": [
      { pairs: { ...TOY_PAIRS, "server.gone": [{}, {}] } },
      ["server.gone is not an option of the schema"],
    ],
  };
  await steps(t, Object.entries(cases), async ([, [forgotten, faults]]) => {
    const places = { ...TOY_PLACES, ...forgotten };
    assert.deepEqual(await optionFaults(configOptions(SCHEMA), places), faults);
  });
  await t.step("in its description", async () => {
    const { server } = SCHEMA.properties;
    const bare = {
      ...server,
      properties: { toy: { type: "boolean" } },
    } as const;
    const options = configOptions({ properties: { server: bare } });
    assert.deepEqual(await optionFaults(options, TOY_PLACES), [
      "server.toy: describe it in config/schema/",
    ]);
  });
});
