import assert from "node:assert/strict";
import { describeConfig } from "../../../src/config/describe.ts";
import {
  connectionFile,
  loadFile,
  minimalConfig,
  minimalFile,
  problemsOf,
  tokenFile,
} from "../../support/gateway/config.ts";
import { identityFile } from "../../support/gateway/identity_scene.ts";
import { parseYaml } from "../../support/yaml.ts";

const CONNECTIONS = [
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

/** What a token may use, whose entry has these fields and no connections but those. */
async function accessOf(fields: Fields, groups: Fields = GROUPS) {
  const config = await minimalConfig({
    connections: CONNECTIONS,
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

Deno.test("a token without lists has those of its groups, the union of several", async (t) => {
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
    "two groups, of which one restricts its own models": [{
      group: ["china", "claude"],
    }, {
      connections: ["glm", "kimi", "claude"],
      models: ["air", "glm", "haiku", "kimi"],
      maxConcurrent: 4,
    }],
    "a group that gives nothing": [{ group: ["budget", "claude"] }, {
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
  for (const [name, [fields, expected]] of Object.entries(cases)) {
    await t.step(name, async () => {
      assert.deepEqual(await accessOf(fields), expected);
    });
  }
});

Deno.test("a token's own lists replace those of its groups", async () => {
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

Deno.test("a group's new connections reach no member with a list of its own", async () => {
  const before = await accessOf({ connections: ["glm"], group: "team" }, {
    team: {},
  });
  const after = await accessOf({ connections: ["glm"], group: "team" }, {
    team: { connections: ["*"] },
  });
  assert.deepEqual(after, before);
});

Deno.test("a new connection reaches the members of groups that name it or all, and nobody else", async () => {
  const namesWith = async (group: string) => {
    const config = await minimalConfig({
      connections: [...CONNECTIONS, connectionFile({ name: "new" })],
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

Deno.test("a rule of an identity provider has the lists of its groups", async () => {
  const config = await minimalConfig({
    connections: CONNECTIONS,
    groups: GROUPS,
    identity: [identityFile({ rules: [{ group: "claude" }] })],
  });
  const rule = config.identity[0]?.rules[0];
  assert.equal(rule?.connectionIds.size, 1);
  assert.deepEqual(rule?.models, new Set(["haiku"]));
  assert.equal(rule?.maxConcurrent, 4);
});

Deno.test("a mistake in a group's lists is named once, at the group", async () => {
  const problems = async (groups: Fields, ...tokens: Fields[]) =>
    problemsOf(
      await loadFile(minimalFile({ connections: CONNECTIONS, groups, tokens })),
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
    "tokens[0].connections: is missing, and no group of it has connections. Name them here or in the group.",
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
  const config = await minimalConfig({
    connections: CONNECTIONS,
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
  const shown: unknown = parseYaml(describeConfig(config));
  const { groups, tokens } = Object(shown);
  assert.deepEqual(groups, [
    {
      name: "claude",
      connections: ["claude"],
      models: ["haiku"],
      max_concurrent: 4,
      weight: "none of its own",
    },
    {
      name: "china",
      connections: ["glm", "kimi"],
      models: "every model of the connections",
      max_concurrent: "none of its own",
      weight: "none of its own",
    },
    {
      name: "budget",
      connections: "none of its own",
      models: "every model of the connections",
      max_concurrent: "none of its own",
      weight: "none of its own",
    },
  ]);
  const [alice, bob] = tokens;
  assert.deepEqual(
    [alice.connections, alice.models, alice.max_concurrent],
    ["of the group", "of the group", "4, of the group"],
  );
  assert.deepEqual(
    [bob.connections, bob.models, bob.max_concurrent],
    ["of the groups", "of the groups", 256],
  );
});
