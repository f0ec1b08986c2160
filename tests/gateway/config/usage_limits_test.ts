import assert from "node:assert/strict";
import { sha256Hex } from "../../../src/base/sha256.ts";
import {
  connectionFile,
  describedFile,
  loadFile,
  minimalConfig,
  minimalFile,
  problemsOf,
  tokenFile,
  warningsOf,
} from "../../support/gateway/config.ts";
import { yamlTable } from "../../support/yaml_table.ts";

type Fields = Readonly<Record<string, unknown>>;

const PRICE = { input: 2, output: 8 };

/** Returns a connection with a quota reader, a model with a price and one without. */
function zai(overrides: Fields = {}): Fields {
  return connectionFile({
    service: "zai",
    family: undefined,
    endpoints: undefined,
    models: [{ id: "priced", price: PRICE }, "model-a"],
    ...overrides,
  });
}

/** Returns the problems with a token's only limit. */
async function problemsOfLimit(limit: Fields): Promise<readonly string[]> {
  return problemsOf(
    await loadFile(minimalFile({
      connections: [zai()],
      tokens: [tokenFile({ limits: [limit] })],
    })),
  );
}

/** Returns the limits of the callers, by name. */
async function limitsOf(file: Fields) {
  const { callers } = await minimalConfig({ connections: [zai()], ...file });
  return new Map([...callers.values()].map((one) => [one.name, one]));
}

Deno.test("a limit is resolved to its unit, models and connection names", async () => {
  const id = "0b1d3c52-6a0e-4a3e-8f0e-2f9c3b0d1a11";
  const callers = await limitsOf({
    connections: [zai({ id })],
    tokens: [tokenFile({
      limits: [
        { window: "minute", requests: 60 },
        { window: "day", tokens: 5_000_000, connections: [id] },
        { window: "week", cost: 0.25, models: ["priced"] },
        { window: "five_hour", connection: "main", share: 0.4 },
      ],
    })],
  });
  const rest = { models: undefined, connections: undefined };
  assert.deepEqual(callers.get("alice")?.limits, [
    { kind: "amount", window: "minute", unit: "requests", most: 60, ...rest },
    {
      kind: "amount",
      window: "day",
      unit: "tokens",
      most: 5_000_000,
      ...rest,
      connections: ["main"],
    },
    {
      kind: "amount",
      window: "week",
      unit: "cost",
      most: 250_000_000,
      ...rest,
      models: ["priced"],
    },
    { kind: "share", connection: "main", window: "five_hour", share: 0.4 },
  ]);
});

Deno.test("default limits apply to tokens without a list of limits, and group limits apply additionally", async () => {
  const callers = await limitsOf({
    defaults: { limits: [{ window: "day", tokens: 1 }] },
    groups: { team: { limits: [{ window: "day", tokens: 9 }] } },
    tokens: [
      tokenFile({ name: "plain", sha256: sha256Hex("1") }),
      tokenFile({ name: "member", sha256: sha256Hex("2"), group: "team" }),
      tokenFile({
        name: "own",
        sha256: sha256Hex("3"),
        group: "team",
        limits: [{ window: "day", tokens: 2 }],
      }),
      tokenFile({ name: "free", sha256: sha256Hex("4"), limits: [] }),
    ],
  });
  const most = (name: string) => ({
    own: callers.get(name)?.limits.map((one) =>
      one.kind === "amount" && one.most
    ),
    groups: callers.get(name)?.groups.map(({ limits }) =>
      limits.map((one) => one.kind === "amount" && one.most)
    ),
  });
  assert.deepEqual(most("plain"), { own: [1], groups: [] });
  assert.deepEqual(most("member"), { own: [1], groups: [[9]] });
  assert.deepEqual(most("own"), { own: [2], groups: [[9]] });
  assert.deepEqual(most("free"), { own: [], groups: [] });
  assert.equal(callers.get("member")?.groups[0], callers.get("own")?.groups[0]);
});

Deno.test("check shows the limits of every token and group as the file writes them", async () => {
  const shown = await describedFile({
    defaults: { limits: [{ window: "hour", requests: 7 }] },
    connections: [zai()],
    groups: {
      team: { limits: [{ window: "month", cost: 50, models: ["priced"] }] },
    },
    tokens: [
      tokenFile({
        group: "team",
        limits: [
          { window: "minute", requests: 60, connections: ["main"] },
          { window: "five_hour", connection: "main", share: 0.4 },
        ],
      }),
      tokenFile({ name: "bob", sha256: sha256Hex("2") }),
    ],
  });
  const text = shown.replaceAll(/\s+/g, " ");
  for (
    const line of [
      "limits: - window: minute requests: 60 connections: - main",
      "- window: five_hour connection: main share: 0.4",
      "team: limits: - window: month cost: 50 models: - priced",
      "name: bob sha256: d4735e3a265e… connections: - main models: - priced - model-a max_concurrent: 256 weight: 1 group: [] limits: - window: hour requests: 7",
      "price: input: 2 cached_input: 2 cache_write: 2 cache_write_1h: 2 output: 8",
    ]
  ) {
    assert.ok(text.includes(line), `${line}\n${text}`);
  }
});

Deno.test("an impossible limit is a problem with an instruction", async () => {
  const cases = yamlTable(`
{ window: day } → tokens[0].limits[0]: must have exactly one of requests, tokens,
  cost and share. Write a limit for each.
{ window: day, tokens: 1, requests: 1 } → tokens[0].limits[0]: must have exactly one of requests, tokens,
  cost and share. Write a limit for each.
{ window: weak, tokens: 1 } → tokens[0].limits[0].window: must be one of minute, hour, day, week,
  month. Did you mean "week"?
{ window: day, tokens: 1, models: [model-b] } → tokens[0].limits[0].models[0]: is served by no
  connection. Did you mean "model-a"?
{ window: day, tokens: 1, connections: [mian] } → tokens[0].limits[0].connections[0]: is neither the
  name nor the id of a connection. Did you mean "main"?
{ window: day, tokens: 1, connection: main } → tokens[0].limits[0].connection: is only for share.
  Name connections in the list \`connections\`.
{ window: day, tokens: 0 } → tokens[0].limits[0].tokens: must be at least 1.
{ window: day, cost: much } → tokens[0].limits[0].cost: must be a number from 0 to 1000000, such as 0.5,
  without a unit or separators.
{ window: day, cost: 5 } → tokens[0].limits: limit the cost of models without a price:
  "model-a" of "main". Give each a price, or name the models that the limit counts.
{ window: five_hour, share: 0.4 } → tokens[0].limits[0].connection: is missing. A share is part of a
  connection's quota.
{ window: five_hour, connection: mian, share: 0.4 } → tokens[0].limits[0].connection: is neither the
  name nor the id of a connection. Did you mean "main"?
{ window: five_hour, connection: main, share: 40 } → tokens[0].limits[0].share: must be a number
  from 0 to 1, such as 0.5, without a unit or separators.
{ window: day, tokens: "5,000,000" } → tokens[0].limits[0].tokens: must be a whole number, such as 5000, without a unit or separators.
{ window: day, requests: 5k } → tokens[0].limits[0].requests: must be a whole number, such as 5000, without a unit or separators.
{ window: day, tokens: 1, "500": null } → tokens[0].limits[0].500: is a number in place of a key. A
  comma ends a value: write 5000, not 5,000.
{ window: "five hours", connection: main, share: 0.4 } → tokens[0].limits[0].window: is no window of
  a quota, such as five_hour, hourly, daily, weekly, monthly. Did you mean "five_hour"?
{ window: five_hour, connection: main, share: 0.4, models: [model-a] } →
  tokens[0].limits[0].models: cannot be set with share, which counts all requests of one connection.
{ tokens: 5 } → tokens[0].limits[0].window: is missing.
{ share: 0.4, connection: main } → tokens[0].limits[0].window: is missing.
{ per: sesion, tokens: 5 } → tokens[0].limits[0].per: must be one of session. Did you mean "session"?
{ per: session, window: week, tokens: 5 } → tokens[0].limits[0].window: must be one of minute, hour, day.
{ per: session, window: five_hour, connection: main, share: 0.4 } → tokens[0].limits[0].per: cannot be
  set with share, which is estimated for a token or a group.
{ per: session } → tokens[0].limits[0]: must have exactly one of requests, tokens, cost and share. Write a limit for each.
{ per: session, cost: 5 } → tokens[0].limits: limit the cost of models without a price:
  "model-a" of "main". Give each a price, or name the models that the limit counts.
{ window: day, token: 5 } → tokens[0].limits[0].token: is not a known key. Did you mean "tokens"?
`);
  for (const [, limit, problem] of cases) {
    assert.deepEqual(await problemsOfLimit(limit), [problem]);
  }
});

Deno.test("a share of a balance, or of a quota that is not read, is a problem", async () => {
  const limits = [{ window: "five_hour", connection: "main", share: 0.4 }];
  const problems = async (connection: Fields) =>
    problemsOf(
      await loadFile(minimalFile({
        connections: [connection],
        tokens: [tokenFile({ limits })],
      })),
    );
  assert.deepEqual(await problems(connectionFile()), [
    'tokens[0].limits[0].connection: is "main", whose quota is not read. Configure its quota, or limit tokens.',
  ]);
  assert.deepEqual(
    await problems(zai({ service: "deepseek" })),
    [
      "tokens[0].limits[0].window: does not exist for the quota kind deepseek, which reports only a balance. Limit tokens or cost.",
    ],
  );
});

Deno.test("a duplicate limit is a problem, even with another amount", async () => {
  const result = await loadFile(minimalFile({
    connections: [zai()],
    tokens: [
      tokenFile({
        limits: [
          { window: "day", tokens: 5, models: ["model-a", "priced"] },
          { window: "day", tokens: 6, models: ["priced", "model-a"] },
        ],
      }),
    ],
  }));
  assert.deepEqual(problemsOf(result), [
    "tokens[0].limits[1]: limits the same as tokens[0].limits[0]. Keep the lower of the two.",
  ]);
});

Deno.test("a cost limit needs prices only for models that its callers may use", async () => {
  const limits = [{ window: "day", cost: 5 }];
  const load = (overrides: Fields) =>
    loadFile(minimalFile({ connections: [zai()], ...overrides }));
  const alice = tokenFile({ models: ["priced"], limits });
  const bob = tokenFile({ name: "bob", sha256: sha256Hex("2") });
  warningsOf(await load({ tokens: [alice, bob] }));
  assert.deepEqual(
    problemsOf(
      await load({
        groups: { team: { limits } },
        tokens: [tokenFile({ models: ["priced"], group: "team" }), {
          ...bob,
          group: "team",
        }],
      }),
    ),
    [
      'groups.team.limits: limit the cost of models without a price: "model-a" of "main". Give each a price, or name the models that the limit counts.',
    ],
  );
});

Deno.test("one problem names every model without a price, for all cost limits of a list", async () => {
  const result = await loadFile(minimalFile({
    connections: [
      zai(),
      connectionFile({
        name: "other",
        auth: { keys: [{ key: "a" }, { key: "b" }] },
        models: ["model-b", "model-c"],
      }),
    ],
    defaults: {
      limits: [
        { window: "day", cost: 5, models: ["model-a", "model-b"] },
        { window: "month", cost: 50, models: ["model-c"] },
      ],
    },
  }));
  assert.deepEqual(problemsOf(result), [
    'defaults.limits: limit the cost of models without a price: "model-a" of "main", "model-b" of "other", "model-c" of "other". Give each a price, or name the models that the limit counts.',
  ]);
});

Deno.test("a disabled connection needs no prices for a cost limit", async () => {
  const limits = [{ window: "day", cost: 5 }];
  const file = minimalFile({
    connections: [connectionFile({ enabled: false })],
    tokens: [tokenFile({ limits })],
  });
  assert.ok("config" in await loadFile(file));
});

Deno.test("an undefined group is a problem, and a group without members is a warning", async () => {
  const groups = { team: { limits: [{ window: "day", tokens: 1 }] } };
  const tokens = [tokenFile({ group: "taem" })];
  assert.deepEqual(
    problemsOf(await loadFile(minimalFile({ groups, tokens }))),
    [
      'tokens[0].group: is not a name in `groups`. Did you mean "team"?',
    ],
  );
  assert.deepEqual(warningsOf(await loadFile(minimalFile({ groups }))), [
    "groups.team: has no members.",
  ]);
});

Deno.test("a problem in one group neither hides a misspelled group nor causes problems at the group's members", async () => {
  const groups = { team: { connections: ["main"], models: [4.1] } };
  const tokens = [tokenFile({ group: "taem", connections: undefined })];
  assert.deepEqual(
    problemsOf(await loadFile(minimalFile({ groups, tokens }))),
    [
      'groups.team.models[0]: must be text, not a number. Put it in quotes, such as "4.1".',
      'tokens[0].group: is not a name in `groups`. Did you mean "team"?',
    ],
  );
});

Deno.test("a misspelled key of a group is reported with a suggestion", async () => {
  const groups = { team: { limit: [] } };
  assert.deepEqual(problemsOf(await loadFile(minimalFile({ groups }))), [
    'groups.team.limit: is not a known key. Did you mean "limits"?',
  ]);
});
