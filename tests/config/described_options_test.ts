import assert from "node:assert/strict";
import type { Config } from "../../src/config/config.ts";
import { describeConfig } from "../../src/config/describe.ts";
import {
  connectionFile,
  minimalConfig,
  tokenFile,
} from "../support/gateway/config.ts";
import { identityFile } from "../support/gateway/identity_scene.ts";
import { configOptions } from "../support/gateway/config_options.ts";
import {
  optionFaults,
  type OptionPlaces,
  type Overrides,
  type Pair,
} from "../support/gateway/option_faults.ts";

const UUID = "0b1d3c52-6a0e-4a3e-8f0e-2f9c3b0d1a11";

/** What `check` does not show although it is configured, with the reason. */
const HIDDEN: Readonly<Record<string, string>> = {
  "shared.password": "a secret; that it is set is shown",
  "shared.password_file": "names where that secret lies",
  "connections[].auth.key": "a secret; that it is set is shown",
  "connections[].auth.key_file": "names where that secret lies",
  "connections[].auth.keys[].key": "a secret; that it is set is shown",
  "connections[].auth.keys[].key_file": "names where that secret lies",
  "connections[].timeouts.body": "has no effect, of which check warns",
};

const server = (one: unknown, other: unknown): Pair => [
  { server: one },
  { server: other },
];

const store = (one: Overrides, other: Overrides): Pair => [
  { shared: { url: "rediss://a.example", ...one } },
  { shared: { url: "rediss://a.example", ...other } },
];

const connection = (one: Overrides, other: Overrides): Pair => [
  { connections: [connectionFile(one)] },
  { connections: [connectionFile(other)] },
];

const preset = (service: string, one: Overrides, other: Overrides): Pair => {
  const whole = { service, family: undefined, endpoints: undefined };
  return connection({ ...whole, ...one }, { ...whole, ...other });
};

const model = (one: Overrides, other: Overrides): Pair =>
  connection({ models: [{ id: "a", ...one }, "b"] }, {
    models: [{ id: "a", ...other }, "b"],
  });

const token = (one: Overrides, other: Overrides): Pair => [
  { tokens: [tokenFile(one)] },
  { tokens: [tokenFile(other)] },
];

const identity = (one: Overrides, other: Overrides): Pair => [
  { identity: [identityFile(one)] },
  { identity: [identityFile(other)] },
];

const rule = (one: Overrides, other: Overrides): Pair =>
  identity({ rules: [{ connections: ["*"], ...one }] }, {
    rules: [{ connections: ["*"], ...other }],
  });

const endpoint = (name: string): Pair =>
  connection(
    { endpoints: { chat: "https://a.example/v1" } },
    {
      endpoints: {
        chat: "https://a.example/v1",
        [name]: "https://b.example/v1",
      },
    },
  );

/** What all connections have, where the one connection has every deadline of its own. */
const deadline = (name: string): Pair => {
  const connections = [
    connectionFile({
      timeouts: { connect: 1, first_byte: 1, first_output: 1, idle: 1 },
    }),
  ];
  return [
    { connections, timeouts: { [name]: 2 } },
    { connections, timeouts: { [name]: 3 } },
  ];
};

const connectionDeadline = (name: string): Pair =>
  connection({ timeouts: { [name]: 2 } }, { timeouts: { [name]: 3 } });

const quota = (one: Overrides, other: Overrides): Pair =>
  connection({ quota: one }, { quota: other });

const teamQuota = (one: Overrides, other: Overrides): Pair =>
  quota({ kind: "zai", plan: "team", ...one }, {
    kind: "zai",
    plan: "team",
    ...other,
  });

const WINDOW = { type: "TOKENS_LIMIT", unit: "tokens", limit: "/a" };

const jsonQuota = (one: Overrides, other: Overrides): Pair => {
  const whole = { kind: "json", url: "https://a.example/", windows: [WINDOW] };
  return quota({ ...whole, ...one }, { ...whole, ...other });
};

const quotaWindow = (one: Overrides, other: Overrides): Pair =>
  jsonQuota({ windows: [{ ...WINDOW, ...one }] }, {
    windows: [{ ...WINDOW, ...other }],
  });

const SHOWN: Readonly<Record<string, Pair>> = {
  "server.host": server({ host: "127.0.0.1" }, { host: "127.0.0.2" }),
  "server.port": server({ port: 1 }, { port: 2 }),
  "server.tls.cert": server({}, { tls: { cert: "c", key: "k" } }),
  "server.tls.key": server({}, { tls: { cert: "c", key: "k" } }),
  "server.workers": server({ workers: 1 }, { workers: "auto" }),
  "server.max_concurrent_requests": server({ max_concurrent_requests: 8 }, {
    max_concurrent_requests: 9,
  }),
  "server.max_body_memory": server({ max_body_memory: "1GiB" }, {
    max_body_memory: "2GiB",
  }),
  "server.drain_seconds": server({ drain_seconds: 1 }, { drain_seconds: 2 }),
  "server.admin.host": server({ admin: { host: "127.0.0.1" } }, {
    admin: { host: "127.0.0.2" },
  }),
  "server.admin.port": server({ admin: { port: 1 } }, { admin: { port: 2 } }),
  "server.admin.port_offset": server({ admin: { port_offset: 1 } }, {
    admin: { port_offset: 2 },
  }),
  messages_vendor: [{ messages_vendor: "a" }, { messages_vendor: "b" }],
  "timeouts.connect": deadline("connect"),
  "timeouts.first_byte": deadline("first_byte"),
  "timeouts.first_output": deadline("first_output"),
  "timeouts.idle": deadline("idle"),
  "timeouts.body": deadline("body"),
  "limits.budget": [{ limits: { budget: 1 } }, { limits: { budget: 2 } }],
  "limits.cache_seconds": [
    { limits: { cache_seconds: 1 } },
    { limits: { cache_seconds: 2 } },
  ],
  "server.attribution": server({}, { attribution: ["x-project"] }),
  "server.removed_tokens": server({}, { removed_tokens: "end" }),
  include: [{ include: [] }, { include: ["tokens.d/*.yaml"] }],
  "usage.replay": [
    { usage: { replay: ["a.jsonl"] } },
    { usage: { replay: ["a.jsonl", "b.jsonl"] } },
  ],
  "shared.url": store({}, { url: "rediss://b.example/1" }),
  "shared.ca": store({}, { ca: "c" }),
  "shared.prefix": store({}, { prefix: "b:" }),
  "connections[].name": connection({ name: "a", id: UUID }, {
    name: "b",
    id: UUID,
  }),
  "connections[].id": connection(
    { id: UUID },
    { id: "0b1d3c52-6a0e-4a3e-8f0e-2f9c3b0d1a12" },
  ),
  "connections[].service": connection({ service: "custom" }, {
    service: "gateway",
  }),
  "connections[].family": connection(
    {
      family: "A",
      endpoints: {
        chat: "https://a.example/v1",
        messages: "https://a.example/v1",
      },
    },
    {
      family: "B",
      endpoints: {
        chat: "https://a.example/v1",
        messages: "https://a.example/v1",
      },
    },
  ),
  "connections[].enabled": connection({ enabled: true }, { enabled: false }),
  "connections[].endpoints.chat": connection(
    { endpoints: { chat: "https://a.example/v1" } },
    { endpoints: { chat: "https://b.example/v1" } },
  ),
  "connections[].endpoints.messages": endpoint("messages"),
  "connections[].endpoints.responses": endpoint("responses"),
  "connections[].endpoints.completions": endpoint("completions"),
  "connections[].auth.exchange": connection(
    { auth: { exchange: { kind: "google_metadata" } } },
    { auth: { exchange: { kind: "google_metadata", service_account: "a" } } },
  ),
  "connections[].auth.keys[].name": connection(
    { auth: { keys: [{ key: "k" }] } },
    { auth: { keys: [{ key: "k", name: "a" }] } },
  ),
  "connections[].auth.keys[].weight": connection(
    { auth: { keys: [{ key: "k" }] } },
    { auth: { keys: [{ key: "k", weight: 2 }] } },
  ),
  "connections[].auth.scheme": connection(
    { auth: { scheme: "bearer", key: "k" } },
    { auth: { scheme: "x-api-key", key: "k" } },
  ),
  "connections[].headers": connection({}, { headers: { "x-team": "a" } }),
  "connections[].headers_drop": connection(
    { headers_drop: { "anthropic-beta": ["a"] } },
    { headers_drop: { "anthropic-beta": ["a", "b"] } },
  ),
  "connections[].region": preset("bedrock", { region: "eu-central-1" }, {
    region: "us-west-2",
  }),
  "connections[].resource": preset("azure", { resource: "a" }, {
    resource: "b",
  }),
  "connections[].project": preset(
    "vertex",
    { region: "global", project: "a" },
    { region: "global", project: "b" },
  ),
  "connections[].stream_only": connection({}, { stream_only: true }),
  "connections[].force": connection({}, { force: { store: false } }),
  "connections[].omit": connection({}, { omit: ["temperature"] }),
  "connections[].paths": connection({
    family: "C",
    endpoints: { responses: "https://a.example/v1" },
  }, {
    family: "C",
    endpoints: { responses: "https://a.example/v1" },
    paths: ["messages"],
  }),
  "connections[].strict": connection({}, { strict: true }),
  "connections[].quota.kind": quota({ kind: "zai" }, {
    kind: "bigmodel",
  }),
  "connections[].quota.plan": teamQuota({ plan: "personal" }, {}),
  "connections[].quota.organization": teamQuota({ organization: "a" }, {
    organization: "b",
  }),
  "connections[].quota.project": teamQuota({ project: "a" }, { project: "b" }),
  "connections[].quota.url": quota(
    { kind: "zai", url: "https://a.example/" },
    { kind: "zai", url: "https://b.example/" },
  ),
  "connections[].quota.key": quota({ kind: "zai" }, { kind: "zai", key: "k" }),
  "connections[].quota.key_file": quota({ kind: "zai" }, {
    kind: "zai",
    key_file: "f",
  }),
  "connections[].quota.headers": jsonQuota({}, { headers: { "x-a": "1" } }),
  "connections[].quota.success.at": jsonQuota(
    { success: { at: "/a", in: [1] } },
    { success: { at: "/b", in: [1] } },
  ),
  "connections[].quota.success.in": jsonQuota(
    { success: { at: "/a", in: [1] } },
    { success: { at: "/a", in: [2] } },
  ),
  "connections[].quota.unauthorized.at": jsonQuota(
    { unauthorized: { at: "/a", in: [1] } },
    { unauthorized: { at: "/b", in: [1] } },
  ),
  "connections[].quota.unauthorized.in": jsonQuota(
    { unauthorized: { at: "/a", in: [1] } },
    { unauthorized: { at: "/a", in: [2] } },
  ),
  "connections[].quota.windows[].type": quotaWindow({ type: "A" }, {
    type: "B",
  }),
  "connections[].quota.windows[].period": quotaWindow({}, { period: "5h" }),
  "connections[].quota.windows[].unit": quotaWindow({ unit: "a" }, {
    unit: "b",
  }),
  "connections[].quota.windows[].at": quotaWindow({}, { at: "/a" }),
  "connections[].quota.windows[].where": quotaWindow({ where: { a: 1 } }, {
    where: { a: 2 },
  }),
  "connections[].quota.windows[].limit": quotaWindow({}, { limit: "/b" }),
  "connections[].quota.windows[].used": quotaWindow({}, { used: "/b" }),
  "connections[].quota.windows[].remaining": quotaWindow({}, {
    remaining: "/b",
  }),
  "connections[].quota.windows[].scale": quotaWindow({}, { scale: 0.01 }),
  "connections[].quota.windows[].share.at": quotaWindow(
    { share: { at: "/a", of: "used_percent" } },
    { share: { at: "/b", of: "used_percent" } },
  ),
  "connections[].quota.windows[].share.of": quotaWindow(
    { share: { at: "/a", of: "used_percent" } },
    { share: { at: "/a", of: "used_fraction" } },
  ),
  "connections[].quota.windows[].resets_at.at": quotaWindow(
    { resets_at: { at: "/a", format: "iso" } },
    { resets_at: { at: "/b", format: "iso" } },
  ),
  "connections[].quota.windows[].resets_at.format": quotaWindow(
    { resets_at: { at: "/a", format: "iso" } },
    { resets_at: { at: "/a", format: "epoch_ms" } },
  ),
  "connections[].max_concurrent": connection({}, { max_concurrent: 1 }),
  "connections[].queue.max_wait": connection({}, {
    queue: { max_wait: 9000 },
  }),
  "defaults.queue.max_wait": [{}, { defaults: { queue: { max_wait: 9000 } } }],
  "connections[].timeouts.connect": connectionDeadline("connect"),
  "connections[].timeouts.first_byte": connectionDeadline("first_byte"),
  "connections[].timeouts.first_output": connectionDeadline("first_output"),
  "connections[].timeouts.idle": connectionDeadline("idle"),
  "connections[].models[].id": model({ id: "a", upstream: "u" }, {
    id: "c",
    upstream: "u",
  }),
  "connections[].models[].upstream": model({}, { upstream: "u" }),
  "connections[].models[].max_output_tokens": model({}, {
    max_output_tokens: 5,
  }),
  "connections[].models[].omit": model({}, { omit: ["top_p"] }),
  "connections[].models[].aliases[].id": model({ aliases: ["x"] }, {
    aliases: ["y"],
  }),
  "connections[].models[].aliases[].listed": model({ aliases: ["x"] }, {
    aliases: [{ id: "x", listed: false }],
  }),
  "connections[].models[].listed": model({}, { listed: false }),
  "connections[].models[].display_name": model({}, { display_name: "A" }),
  "connections[].models[].context_window": model({}, { context_window: 5 }),
  "connections[].models[].input": model({ input: ["text"] }, {
    input: ["text", "image"],
  }),
  "connections[].models[].reasoning": model({ reasoning: [] }, {
    reasoning: ["low"],
  }),
  "connections[].models[].fallbacks": model({}, { fallbacks: ["b"] }),
  "connections[].models[].quota_routing": model({}, { quota_routing: true }),
  "tokens[].name": token({}, { name: "bob" }),
  "tokens[].sha256": token({ sha256: "a".repeat(64) }, {
    sha256: "b".repeat(64),
  }),
  "tokens[].expires_at": token({}, { expires_at: "2030-01-01" }),
  "tokens[].connections": token({}, { connections: [] }),
  "tokens[].models": [
    {
      connections: [connectionFile({ models: ["a", "b"] })],
      tokens: [tokenFile({ models: ["a"] })],
    },
    {
      connections: [connectionFile({ models: ["a", "b"] })],
      tokens: [tokenFile({ models: ["b"] })],
    },
  ],
  "tokens[].max_concurrent": token({}, { max_concurrent: 1 }),
  "tokens[].weight": token({}, { weight: 2 }),
  "tokens[].group": [
    {
      groups: { a: {}, b: {} },
      tokens: [tokenFile({ group: "a" })],
    },
    {
      groups: { a: {}, b: {} },
      tokens: [tokenFile({ group: "b" })],
    },
  ],
  groups: [
    {
      groups: { a: { limits: [{ window: "hour", tokens: 1 }] } },
      tokens: [tokenFile({ group: "a" })],
    },
    {
      groups: { a: { limits: [{ window: "hour", tokens: 2 }] } },
      tokens: [tokenFile({ group: "a" })],
    },
  ],
  ...price("input"),
  ...price("cached_input"),
  ...price("cache_write"),
  ...price("cache_write_1h"),
  ...price("output"),
  ...rate("when.input_over", 1, 2),
  ...rate("when.speed", "fast", "slow"),
  ...rate("when.service_tier", "batch", "priority"),
  ...rate("when.inference_geo", "us", "eu"),
  ...rate("when.refusal", "cyber", "bio"),
  ...rate("when.hours", "09:00-18:00 UTC", "22:00-06:30 Asia/Shanghai"),
  ...rate("times", 2, 3),
  ...rate("input", 2, 3),
  ...rate("cached_input", 2, 3),
  ...rate("cache_write", 2, 3),
  ...rate("cache_write_1h", 2, 3),
  ...rate("output", 2, 3),
  ...limits("tokens[].limits", (limit) => ({
    tokens: [tokenFile({ limits: [limit] })],
  })),
  ...limits("defaults.limits", (limit) => ({
    defaults: { limits: [limit] },
  })),
  ...limits("identity[].rules[].limits", (limit) => ({
    identity: [
      identityFile({ rules: [{ connections: ["*"], limits: [limit] }] }),
    ],
  })),
  "identity[].issuer": identity({}, { issuer: "https://b.example" }),
  "identity[].audience": identity({}, { audience: ["a", "b"] }),
  "identity[].jwks_url": identity({}, { jwks_url: "https://b.example/keys" }),
  "identity[].jwks_file": identity({}, {
    jwks_url: undefined,
    jwks_file: "j",
  }),
  "identity[].sign_in": identity({}, { sign_in: { client: "a" } }),
  "identity[].sign_in.client": identity({ sign_in: { client: "a" } }, {
    sign_in: { client: "b" },
  }),
  "identity[].sign_in.scope": identity({ sign_in: { client: "a" } }, {
    sign_in: { client: "a", scope: "b" },
  }),
  "identity[].sign_in.audience": identity({ sign_in: { client: "a" } }, {
    sign_in: { client: "a", audience: "b" },
  }),
  "identity[].name": identity({}, { name: "email" }),
  "identity[].rules[].when": rule({}, { when: { groups: "a" } }),
  "identity[].rules[].connections": rule({}, { connections: [] }),
  "identity[].rules[].models": [
    {
      connections: [connectionFile({ models: ["a", "b"] })],
      ...rule({ models: ["a"] }, {})[0],
    },
    {
      connections: [connectionFile({ models: ["a", "b"] })],
      ...rule({ models: ["b"] }, {})[0],
    },
  ],
  "identity[].rules[].max_concurrent": rule({}, { max_concurrent: 1 }),
  "identity[].rules[].weight": rule({}, { weight: 2 }),
  "identity[].rules[].group": [
    { groups: { a: {}, b: {} }, ...rule({ group: "a" }, {})[0] },
    { groups: { a: {}, b: {} }, ...rule({ group: "b" }, {})[0] },
  ],
};

/** A part of a price. */
function price(name: string): Readonly<Record<string, Pair>> {
  const whole = { input: 1, cached_input: 1, cache_write: 1, output: 1 };
  return {
    [`connections[].models[].price.${name}`]: model({ price: whole }, {
      price: { ...whole, [name]: 2 },
    }),
  };
}

/** A part of a rate of a price. */
function rate(
  name: string,
  one: unknown,
  other: unknown,
): Readonly<Record<string, Pair>> {
  const [, condition] = name.split("when.");
  const rated = (value: unknown) => ({
    price: {
      ...{ input: 1, output: 1 },
      rates: [
        condition === undefined
          ? { when: { speed: "fast" }, [name]: value }
          : { when: { [condition]: value }, times: 2 },
      ],
    },
  });
  return {
    [`connections[].models[].price.rates[].${name}`]: model(
      rated(one),
      rated(other),
    ),
  };
}

/** Every option of a limit, wherever limits stand. */
function limits(
  path: string,
  place: (limit: Overrides) => Overrides,
): Readonly<Record<string, Pair>> {
  const connections = [
    connectionFile({
      service: "zai",
      family: undefined,
      endpoints: undefined,
      models: ["a", "b"].map((id) => ({ id, price: { input: 1, output: 1 } })),
    }),
    connectionFile({
      name: "other",
      service: "zai",
      family: undefined,
      endpoints: undefined,
      models: ["a"].map((id) => ({ id, price: { input: 1, output: 1 } })),
    }),
  ];
  const pair = (one: Overrides, other: Overrides): Pair => [
    { connections, ...place(one) },
    { connections, ...place(other) },
  ];
  const amount = (one: Overrides, other: Overrides) =>
    pair({ window: "day", tokens: 5, ...one }, {
      window: "day",
      tokens: 5,
      ...other,
    });
  const share = { window: "five_hour", connection: "main", share: 0.5 };
  return {
    [`${path}[].window`]: amount({ window: "hour" }, {}),
    [`${path}[].requests`]: pair({ window: "day", requests: 1 }, {
      window: "day",
      requests: 2,
    }),
    [`${path}[].tokens`]: amount({ tokens: 1 }, {}),
    [`${path}[].cost`]: pair({ window: "day", cost: 1 }, {
      window: "day",
      cost: 1.5,
    }),
    [`${path}[].models`]: amount({ models: ["a"] }, { models: ["b"] }),
    [`${path}[].connections`]: amount({ connections: ["main"] }, {
      connections: ["other"],
    }),
    [`${path}[].connection`]: pair(share, { ...share, connection: "other" }),
    [`${path}[].share`]: pair(share, { ...share, share: 0.6 }),
  };
}

/** Files that a row may name: a certificate, its key, and the key of a provider. */
const FILES: Readonly<Record<string, string>> = {
  c: "CERTIFICATE-----",
  k: "PRIVATE KEY-----",
  f: "key-of-a-file",
  j: `{"keys":[{"kty":"RSA"}]}`,
};

async function resolve(overrides: Overrides): Promise<Config> {
  return await minimalConfig(overrides, {
    readFile: (path) => Promise.resolve(FILES[path] ?? ""),
  });
}

const page = await Deno.readTextFile(
  new URL("../../docs/configuration.md", import.meta.url),
);
const [, reference = ""] = page.split("## Every option\n");

const PLACES: OptionPlaces<Config> = {
  pairs: SHOWN,
  hidden: HIDDEN,
  documented: new Set(
    [...reference.matchAll(/^\| `([^`]+)` /gm)].map(([, path = ""]) => path),
  ),
  resolve,
  show: describeConfig,
};

Deno.test("every option of the schema is described, documented, resolved and shown by check, or hidden for a reason", async () => {
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

const TOY_PLACES: OptionPlaces<Overrides> = {
  pairs: { "server.toy": [{ toy: false }, { toy: true }] },
  hidden: {},
  documented: new Set(["server", "server.toy"]),
  resolve: (overrides) => Promise.resolve(overrides),
  show: ({ toy }) => `toy: ${toy}`,
};

Deno.test("the check finds an option that was forgotten", async (t) => {
  const cases: Readonly<
    Record<string, readonly [Partial<typeof TOY_PLACES>, readonly string[]]>
  > = {
    "nowhere": [{}, []],
    "in the reference": [
      { documented: new Set(["server"]) },
      ["server.toy: give it a row in docs/configuration.md"],
    ],
    "in this test": [
      { pairs: {} },
      ["server.toy: give two values of it, or why it is hidden"],
    ],
    "in config/resolve/": [
      { resolve: () => Promise.resolve({}) },
      ["server.toy: config/resolve/ does not use it"],
    ],
    "in config/describe.ts": [
      { show: () => "server" },
      ["server.toy: config/describe.ts does not show it"],
    ],
    "in the schema, when it went": [
      { hidden: { "server.gone": "a secret" } },
      ["server.gone is not an option of the schema"],
    ],
  };
  for (const [name, [forgotten, faults]] of Object.entries(cases)) {
    await t.step(name, async () => {
      const places = { ...TOY_PLACES, ...forgotten };
      assert.deepEqual(
        await optionFaults(configOptions(SCHEMA), places),
        faults,
      );
    });
  }
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
