import assert from "node:assert/strict";
import {
  connectionFile,
  loadFile,
  minimalConfig,
  minimalFile,
  problemsOf,
  warningsOf,
} from "../../support/gateway/config.ts";

const connection = (overrides: Record<string, unknown>) =>
  minimalFile({ connections: [connectionFile(overrides)] });

const URL_A = "https://a.example/v1";
const ROUTED = "is set by the gateway itself. Remove it.";
const FAMILIES = "needs A (Chat Completions), B (Messages) or C (Responses).";

const PROBLEMS: readonly (readonly [Record<string, unknown>, string])[] = [
  [
    { family: undefined },
    `connections[0].family: is missing. \`service: custom\` ${FAMILIES}`,
  ],
  [
    { service: "gateway", family: undefined },
    `connections[0].family: is missing. \`service: gateway\` ${FAMILIES}`,
  ],
  [
    { endpoints: undefined },
    "connections[0].endpoints.chat: is missing. Family A needs it.",
  ],
  [
    { endpoints: { messages: URL_A } },
    "connections[0].endpoints.chat: is missing. Family A needs it.",
  ],
  [
    { family: "B" },
    "connections[0].endpoints.messages: is missing. Family B needs it.",
  ],
  [
    { family: "C" },
    "connections[0].endpoints.responses: is missing. Family C needs it.",
  ],
  [
    { endpoints: { chat: "http://u:canary@h" } },
    "connections[0].endpoints.chat: must not hold credentials. Set them in auth.",
  ],
  [
    { headers: { "a b": "c" } },
    'connections[0].headers["a b"]: is not a valid header name.',
  ],
  [
    { headers: { Host: "c" } },
    "connections[0].headers.Host: is a header that the gateway sets itself. Remove it.",
  ],
  [
    { headers: { Authorization: "canary" } },
    "connections[0].headers.Authorization: would replace the credential of auth. Remove it, or use `scheme: none`.",
  ],
  [
    { headers: { "X-A": "1", "x-a": "2" } },
    "connections[0].headers.x-a: appears twice. Upper and lower case are the same.",
  ],
  [
    { headers: { "x-a": "can\r\nary: 1" } },
    "connections[0].headers.x-a: must be printable ASCII without line breaks or outer spaces.",
  ],
  [{ force: { model: "x" } }, `connections[0].force.model: ${ROUTED}`],
  [{ force: { stream: true } }, `connections[0].force.stream: ${ROUTED}`],
  [
    { omit: ["a", "model"] },
    "connections[0].omit[1]: must not be model, which every request needs.",
  ],
  [
    { quota: { url: "nowhere" } },
    "connections[0].quota.url: must be a URL such as https://api.example.com/v1.",
  ],
  [
    { models: ["a", "b", { id: "a" }] },
    "connections[0].models[2]: has the id of connections[0].models[0]. Each model of a connection needs its own.",
  ],
];

Deno.test("a connection reports", async (t) => {
  for (const [overrides, problem] of PROBLEMS) {
    await t.step(problem, async () => {
      const file = { ...connection(overrides), tokens: [] };
      assert.deepEqual(problemsOf(await loadFile(file)), [problem]);
    });
  }
});

const WARNINGS: readonly (readonly [Record<string, unknown>, string])[] = [
  [
    { endpoints: { chat: "http://10.0.0.1/v1" } },
    "connections[0].endpoints.chat: sends prompts and the key unencrypted. Use https.",
  ],
  [
    { quota: { kind: "litellm", url: "http://10.0.0.1/q" } },
    "connections[0].quota.url: sends the key unencrypted. Use https.",
  ],
  [
    { family: "C", endpoints: { chat: URL_A, responses: URL_A } },
    "connections[0].endpoints.chat: is not used: no route of family C needs it.",
  ],
  [
    { family: "B", endpoints: { messages: URL_A, completions: URL_A } },
    "connections[0].endpoints.completions: is not used: no route of family B needs it.",
  ],
  [
    { timeouts: { body: 1 } },
    "connections[0].timeouts.body: has no effect: a body arrives before its connection is chosen. Set timeouts.body for all connections.",
  ],
];

Deno.test("a connection warns", async (t) => {
  for (const [overrides, warning] of WARNINGS) {
    await t.step(warning, async () => {
      const result = await loadFile(connection(overrides));
      assert.deepEqual(warningsOf(result), [warning]);
    });
  }
});

Deno.test("an id is made from the name, always the same and never twice", async () => {
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

Deno.test("deadlines of a connection override those of all", async () => {
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

Deno.test("a missing price equals another one, and multiplied prices are rounded", async () => {
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
