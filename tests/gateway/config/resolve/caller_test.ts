import assert from "node:assert/strict";
import {
  configOf,
  connectionFile,
  describedFile,
  loadFile,
  minimalConfig,
  minimalFile,
  NOW_MS,
  problemsOf,
  tokenFile,
  warningsOf,
} from "../../../support/gateway/config.ts";
import { identityFile } from "../../../support/gateway/identity_scene.ts";
import { callerOf } from "../../../../src/gateway/relay/identity/rules.ts";
import { parseYaml } from "../../../support/yaml.ts";
import { steps } from "../../../support/steps.ts";

const ID = "0b1d3c52-6a0e-4a3e-8f0e-2f9c3b0d1a11";
const CONNECTIONS = [
  connectionFile({ name: "GLM team", models: ["glm"] }),
  connectionFile({ name: "spare", id: ID, models: ["glm", "kimi"] }),
  connectionFile({ name: "off", enabled: false, models: ["claude"] }),
];

async function resolveToken(overrides: Record<string, unknown>) {
  const config = await minimalConfig({
    connections: CONNECTIONS,
    tokens: [tokenFile(overrides)],
  });
  const [caller] = config.callers.values();
  assert.ok(caller);
  const names = config.connections.filter(({ id }) =>
    caller.connectionIds.has(id)
  ).map(({ name }) => name);
  return { caller, names };
}

Deno.test("a token names connections by name, by id in upper or lower case, or all by *", async () => {
  const namesOf = async (...connections: string[]) =>
    (await resolveToken({ connections })).names;
  assert.deepEqual(await namesOf("GLM team"), ["GLM team"]);
  assert.deepEqual(await namesOf(ID.toUpperCase(), "off"), ["spare", "off"]);
  assert.deepEqual(await namesOf("*"), ["GLM team", "spare", "off"]);
  assert.deepEqual(await namesOf("spare", "*"), ["GLM team", "spare", "off"]);
  assert.deepEqual(await namesOf(), []);
});

Deno.test("a token with a list of models may use only the listed models", async () => {
  const modelsOf = async (models?: string[]) =>
    (await resolveToken({ models })).caller.models;
  assert.equal(await modelsOf(), undefined);
  assert.equal(await modelsOf(["*"]), undefined);
  assert.equal(await modelsOf(["glm", "*"]), undefined);
  assert.deepEqual(
    await modelsOf(["glm", "claude"]),
    new Set(["glm", "claude"]),
  );
});

Deno.test("a token that names an alias may use the alias's model", async () => {
  const config = await minimalConfig({
    connections: [
      connectionFile({ models: [{ id: "glm", aliases: ["claude-glm"] }, "b"] }),
    ],
    tokens: [tokenFile({ models: ["claude-glm"] })],
  });
  const [caller] = config.callers.values();
  assert.deepEqual(caller?.models, new Set(["glm"]));
});

Deno.test("a token's expiry is read with milliseconds and any time zone", async () => {
  const expiryOf = async (expires_at?: string) =>
    (await resolveToken({ expires_at })).caller.expiresAtMs;
  assert.equal(await expiryOf(), undefined);
  assert.equal(await expiryOf("2027-01-01"), Date.UTC(2027, 0, 1));
  assert.equal(
    await expiryOf("2027-01-01T02:00:00.250+02:00"),
    Date.UTC(2027, 0, 1) + 250,
  );
});

Deno.test("tokens with all connections share one Set object", async () => {
  const config = await minimalConfig({
    tokens: [tokenFile(), tokenFile({ name: "bob", sha256: "b".repeat(64) })],
  });
  const [alice, bob] = config.callers.values();
  assert.equal(alice?.connectionIds, bob?.connectionIds);
});

const PROBLEMS: readonly (readonly [unknown[], string])[] = [
  [
    [tokenFile({ connections: ["GLM taem"] })],
    'tokens[0].connections[0]: is neither the name nor the id of a connection. Did you mean "GLM team"?',
  ],
  [
    [tokenFile({ connections: ["spare", "elsewhere"], models: ["kimi"] })],
    "tokens[0].connections[1]: is neither the name nor the id of a connection.",
  ],
  [
    [tokenFile({ connections: ["GLM team"], models: ["glm", "kimi"] })],
    "tokens[0].models[1]: is served by no connection of this token.",
  ],
  [
    [tokenFile({ models: ["kiim"] })],
    'tokens[0].models[0]: is served by no connection. Did you mean "kimi"?',
  ],
  [
    [tokenFile(), tokenFile({ sha256: "b".repeat(64) })],
    "tokens[1].name: is also the name of tokens[0]. Each token needs its own.",
  ],
  [
    [
      tokenFile({ sha256: "B".repeat(64) }),
      tokenFile({ name: "bob", sha256: "b".repeat(64) }),
    ],
    "tokens[1].sha256: is also the sha256 of tokens[0]. Each token needs its own.",
  ],
];

Deno.test("a token reports", async (t) => {
  for (const [tokens, problem] of PROBLEMS) {
    await t.step(problem, async () => {
      const file = minimalFile({ connections: CONNECTIONS, tokens });
      assert.deepEqual(problemsOf(await loadFile(file)), [problem]);
    });
  }
});

Deno.test("a token may have a list of groups, without unknown names or duplicates", async () => {
  const load = (group: unknown) =>
    loadFile(minimalFile({
      groups: { team: {}, floor: {} },
      tokens: [tokenFile({ group })],
    }));
  const [caller] = configOf(await load(["floor", "team"])).callers.values();
  assert.deepEqual(caller?.groups.map(({ name }) => name), ["floor", "team"]);
  assert.deepEqual(problemsOf(await load(["team", "flor"])), [
    'tokens[0].group[1]: is not a name in `groups`. Did you mean "floor"?',
  ]);
  assert.deepEqual(problemsOf(await load(["team", "team"])), [
    "tokens[0].group: must not name a group twice.",
  ]);
  assert.deepEqual(problemsOf(await load(7)), [
    "tokens[0].group: must be a name or a list of names. Put a number in quotes.",
  ]);
});

Deno.test("a token is a warning from the millisecond of its expiry", async () => {
  const warningsAt = async (nowMs: number) =>
    warningsOf(
      await loadFile(
        minimalFile({ tokens: [tokenFile({ expires_at: "2026-01-01" })] }),
        { nowMs },
      ),
    );
  assert.deepEqual(await warningsAt(NOW_MS - 1), []);
  assert.deepEqual(await warningsAt(NOW_MS), [
    "tokens[0].expires_at: has passed. The gateway rejects the token.",
  ]);
});

Deno.test("a file without tokens is a warning", async () => {
  assert.deepEqual(warningsOf(await loadFile(minimalFile({ tokens: [] }))), [
    "tokens: is empty: nobody can call the gateway.",
  ]);
});

Deno.test("a token may have the hashes of an old and a new secret", async () => {
  const digests = ["a".repeat(64), "B".repeat(64)];
  const { callers } = await minimalConfig({
    tokens: [tokenFile({ sha256: digests })],
  });
  const one = callers.get("a".repeat(64));
  assert.ok(one);
  assert.equal(one.sha256, "a".repeat(64));
  assert.equal(callers.get("b".repeat(64)), one);
  assert.equal(callers.size, 2);
});

Deno.test("a hash that two tokens share is a problem, at any position of the tokens' lists", async () => {
  const shared = "c".repeat(64);
  const file = minimalFile({
    tokens: [
      tokenFile({ sha256: ["a".repeat(64), shared] }),
      tokenFile({ name: "bob", sha256: [shared.toUpperCase()] }),
    ],
  });
  assert.deepEqual(problemsOf(await loadFile(file)), [
    "tokens[1].sha256: is also the sha256 of tokens[0]. Each token needs its own.",
  ]);
});

const GROUP_ACCESS_CONNECTIONS = [
  connectionFile({ name: "glm", models: ["glm", "air"] }),
  connectionFile({ name: "kimi", models: ["kimi"] }),
  connectionFile({ name: "claude", models: ["opus", "haiku"] }),
];

const GROUPS = {
  china: { connections: ["glm", "kimi"] },
  claude: { connections: ["claude"], models: ["haiku"], max_concurrent: 4 },
  everyone: { connections: ["*"], max_concurrent: 9 },
  budget: { limits: [{ window: "day", requests: 9 }] },
  cheap: { models: ["air", "haiku"] },
};

type Fields = Readonly<Record<string, unknown>>;

/** Returns the connections, models and concurrency of a token with these fields. */
async function accessOf(fields: Fields, groups: Fields = GROUPS) {
  const config = await minimalConfig({
    connections: GROUP_ACCESS_CONNECTIONS,
    groups,
    tokens: [tokenFile({ connections: undefined, ...fields })],
  });
  const [caller] = config.callers.values();
  assert.ok(caller);
  const { connectionIds, models, maxConcurrent } = caller;
  return {
    connections: config.connections
      .filter(({ id }) => connectionIds.has(id)).map(({ name }) => name),
    models: models && [...models].sort(),
    maxConcurrent,
  };
}

Deno.test("a token without lists has the union of its groups' lists", async (t) => {
  const cases: Readonly<Record<string, [Fields, unknown]>> = {
    "one group": [{ group: "china" }, {
      connections: ["glm", "kimi"],
      models: undefined,
      maxConcurrent: 256,
    }],
    "a group with models": [{ group: "claude" }, {
      connections: ["claude"],
      models: ["haiku"],
      maxConcurrent: 4,
    }],
    "two groups, one with its own models": [{
      group: ["china", "claude"],
    }, {
      connections: ["glm", "kimi", "claude"],
      models: ["air", "glm", "haiku", "kimi"],
      maxConcurrent: 4,
    }],
    "a group without lists": [{ group: ["budget", "claude"] }, {
      connections: ["claude"],
      models: ["haiku"],
      maxConcurrent: 4,
    }],
    "the most requests at once of two groups": [{
      group: ["claude", "everyone"],
    }, {
      connections: ["glm", "kimi", "claude"],
      models: ["air", "glm", "haiku", "kimi", "opus"],
      maxConcurrent: 9,
    }],
  };
  await steps(t, Object.entries(cases), async ([, [fields, expected]]) => {
    assert.deepEqual(await accessOf(fields), expected);
  });
});

Deno.test("a token's own lists replace the lists of its groups", async () => {
  const own = { connections: ["kimi"], max_concurrent: 2 };
  assert.deepEqual(await accessOf({ group: "everyone", ...own }), {
    connections: ["kimi"],
    models: undefined,
    maxConcurrent: 2,
  });
  const models = (await accessOf({ group: "everyone", models: ["opus"] }))
    .models;
  assert.deepEqual(models, ["opus"]);
  const restricted = { connections: ["*"], group: "cheap" };
  assert.deepEqual((await accessOf(restricted)).models, ["air", "haiku"]);
  const none = await accessOf({ connections: [], group: "everyone" });
  assert.deepEqual(none.connections, []);
});

Deno.test("a member with its own list does not get a group's new connections", async () => {
  const before = await accessOf({ connections: ["glm"], group: "team" }, {
    team: {},
  });
  const after = await accessOf({ connections: ["glm"], group: "team" }, {
    team: { connections: ["*"] },
  });
  assert.deepEqual(after, before);
});

Deno.test("only groups that name a new connection, or all connections, give it to the group's members", async () => {
  const namesWith = async (group: string) => {
    const config = await minimalConfig({
      connections: [
        ...GROUP_ACCESS_CONNECTIONS,
        connectionFile({ name: "new" }),
      ],
      groups: GROUPS,
      tokens: [tokenFile({ connections: undefined, group })],
    });
    const [caller] = config.callers.values();
    const id = config.connections.find(({ name }) => name === "new")?.id ?? "";
    return caller?.connectionIds.has(id);
  };
  assert.equal(await namesWith("china"), false);
  assert.equal(await namesWith("claude"), false);
  assert.equal(await namesWith("everyone"), true);
});

Deno.test("a rule of an identity provider gets the lists of its groups", async () => {
  const config = await minimalConfig({
    connections: GROUP_ACCESS_CONNECTIONS,
    groups: GROUPS,
    identity: [identityFile({ rules: [{ group: "claude" }] })],
  });
  const rule = config.identity[0]?.rules[0];
  assert.equal(rule?.connectionIds.size, 1);
  assert.deepEqual(rule?.models, new Set(["haiku"]));
  assert.equal(rule?.maxConcurrent, 4);
});

Deno.test("a mistake in a group's lists is reported once, at the group", async () => {
  const problems = async (groups: Fields, ...tokens: Fields[]) =>
    problemsOf(
      await loadFile(
        minimalFile({ connections: GROUP_ACCESS_CONNECTIONS, groups, tokens }),
      ),
    );
  const member = (name: string, digit: string) =>
    tokenFile({
      name,
      sha256: digit.repeat(64),
      connections: undefined,
      group: "team",
    });
  assert.deepEqual(
    await problems(
      { team: { connections: ["glm", "kimy"], models: ["haiku"] } },
      member("a", "a"),
      member("b", "b"),
    ),
    [
      'groups.team.connections[1]: is neither the name nor the id of a connection. Did you mean "kimi"?',
    ],
  );
  assert.deepEqual(
    await problems(
      { team: { connections: ["glm"], models: ["haiku"] } },
      member("a", "a"),
    ),
    ["groups.team.models[0]: is served by no connection of this group."],
  );
  assert.deepEqual(await problems({ team: {} }, member("a", "a")), [
    "tokens[0].connections: is missing, and no group of the token has connections. Name connections here or in the group.",
  ]);
  assert.deepEqual(
    await problems(
      { team: { connections: ["glm"] } },
      { ...member("a", "a"), models: ["kimi"] },
    ),
    ["tokens[0].models[0]: is served by no connection of this token."],
  );
});

Deno.test("check shows a group's lists once, and names the group at its members", async () => {
  const text = await describedFile({
    connections: GROUP_ACCESS_CONNECTIONS,
    groups: GROUPS,
    tokens: [
      tokenFile({ connections: undefined, group: "claude" }),
      tokenFile({
        name: "bob",
        sha256: "b".repeat(64),
        connections: undefined,
        group: ["china", "budget"],
      }),
    ],
  });
  const shown: unknown = parseYaml(text);
  const { groups, tokens } = Object(shown);
  const limits: unknown[] = [];
  assert.partialDeepStrictEqual(groups, {
    claude: {
      connections: ["claude"],
      models: ["haiku"],
      max_concurrent: 4,
      limits,
    },
    china: { connections: ["glm", "kimi"], limits },
    budget: {},
  });
  const [alice, bob] = tokens;
  assert.deepEqual(
    [alice.connections, alice.models, alice.max_concurrent],
    ["of the group", "of the group", 4],
  );
  assert.deepEqual(
    [bob.connections, bob.models, bob.max_concurrent],
    ["of the groups", "of the groups", 256],
  );
});

const IN_REGIONS = [
  connectionFile({ name: "paris", region: "EU", models: ["glm", "kimi"] }),
  connectionFile({ name: "ohio", region: "us", models: ["glm", "claude"] }),
  connectionFile({ name: "anywhere", models: ["glm"] }),
];

/** Returns the names of a token's connections, given its own regions and those of two groups. */
async function regionNames(
  token: Fields,
  groups: Readonly<Record<string, Fields>> = {},
): Promise<readonly string[]> {
  const config = await minimalConfig({
    ...{ connections: IN_REGIONS, groups },
    tokens: [tokenFile({ connections: ["*"], ...token })],
  });
  const [caller] = config.callers.values();
  return config.connections.filter(({ id }) => caller?.connectionIds.has(id))
    .map(({ name }) => name);
}

Deno.test("a token may use only connections in its own regions and its groups' regions", async () => {
  const eu = { regions: ["eu"] };
  const both = { regions: ["us", "eu"] };
  assert.deepEqual(await regionNames({}), ["paris", "ohio", "anywhere"]);
  assert.deepEqual(await regionNames(eu), ["paris"]);
  assert.deepEqual(await regionNames({ regions: ["Eu", "us"] }), [
    "paris",
    "ohio",
  ]);
  assert.deepEqual(await regionNames({ group: "a" }, { a: eu }), ["paris"]);
  const wider = await regionNames({ ...both, group: ["a"] }, { a: eu });
  assert.deepEqual(wider, ["paris"], "its own list does not widen its group's");
  const two = { a: both, b: eu, c: {} };
  assert.deepEqual(await regionNames({ group: ["c", "a", "b"] }, two), [
    "paris",
  ]);
});

Deno.test("a caller of an identity provider stays in the regions of its rule and its groups", async () => {
  const config = await minimalConfig({
    connections: IN_REGIONS,
    groups: { a: { regions: ["eu"] } },
    identity: [identityFile({
      rules: [
        { when: { dept: "b" }, connections: ["*"], regions: ["us"] },
        { connections: ["*"], group: "a" },
      ],
    })],
  });
  const callers = config.identity[0]?.rules.map((rule) =>
    callerOf(rule, "bob (https://a.example)")
  );
  assert.deepEqual(callers?.map(({ regions }) => regions), [["us"], ["eu"]]);
  for (const caller of callers ?? []) {
    assert.equal(caller.connectionIds.size, 1);
    assert.equal(caller.outsideIds?.size, 2);
  }
});

const REGION_PROBLEMS: readonly (readonly [string, Fields, Fields?])[] = [
  [
    "tokens[0].regions: must not be empty. Leave it out to allow every region.",
    { regions: [] },
    {},
  ],
  ['tokens[0].regions[0]: is the region of no connection. Did you mean "eu"?', {
    regions: ["euu"],
  }, {}],
  ["tokens[0].regions: must be a list, not text.", { regions: "eu" }, {}],
  [
    "tokens[0].regions: leave no connection: none of its connections is in eu.",
    { regions: ["eu"], connections: ["ohio", "anywhere"] },
    {},
  ],
  [
    "tokens[0].regions: leave no region: the lists of the token and its groups have none in common.",
    { regions: ["us"], group: "a" },
    { regions: ["eu"] },
  ],
  ["groups.a.regions[0]: is the region of no connection.", {}, {
    regions: ["mars"],
  }],
  ['tokens[0].region: is not a known key. Did you mean "regions"?', {
    region: ["eu"],
  }, {}],
];

Deno.test("invalid regions are a problem", async (t) => {
  await steps(t, REGION_PROBLEMS, async ([problem, token, group]) => {
    const file = minimalFile({
      connections: IN_REGIONS,
      groups: { a: group },
      tokens: [tokenFile({ connections: ["*"], ...token })],
    });
    const problems = problemsOf(await loadFile(file));
    assert.ok(problems.some((one) => one.includes(problem)), problems.join());
  });
});
