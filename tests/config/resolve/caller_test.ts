import assert from "node:assert/strict";
import {
  configOf,
  connectionFile,
  loadFile,
  minimalConfig,
  minimalFile,
  NOW_MS,
  problemsOf,
  tokenFile,
  warningsOf,
} from "../../support/gateway/config.ts";

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

Deno.test("a token names connections by name, by id in any case, or all by *", async () => {
  const namesOf = async (...connections: string[]) =>
    (await resolveToken({ connections })).names;
  assert.deepEqual(await namesOf("GLM team"), ["GLM team"]);
  assert.deepEqual(await namesOf(ID.toUpperCase(), "off"), ["spare", "off"]);
  assert.deepEqual(await namesOf("*"), ["GLM team", "spare", "off"]);
  assert.deepEqual(await namesOf("spare", "*"), ["GLM team", "spare", "off"]);
  assert.deepEqual(await namesOf(), []);
});

Deno.test("a token with models may use only these", async () => {
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

Deno.test("a token that names an alias may use its model", async () => {
  const config = await minimalConfig({
    connections: [
      connectionFile({ models: [{ id: "glm", aliases: ["claude-glm"] }, "b"] }),
    ],
    tokens: [tokenFile({ models: ["claude-glm"] })],
  });
  const [caller] = config.callers.values();
  assert.deepEqual(caller?.models, new Set(["glm"]));
});

Deno.test("a token's expiry is read to the millisecond, in any zone", async () => {
  const expiryOf = async (expires_at?: string) =>
    (await resolveToken({ expires_at })).caller.expiresAtMs;
  assert.equal(await expiryOf(), undefined);
  assert.equal(await expiryOf("2027-01-01"), Date.UTC(2027, 0, 1));
  assert.equal(
    await expiryOf("2027-01-01T02:00:00.250+02:00"),
    Date.UTC(2027, 0, 1) + 250,
  );
});

Deno.test("tokens that choose all connections share one set", async () => {
  const config = await minimalConfig({
    tokens: [
      tokenFile(),
      tokenFile({ name: "bob", sha256: "b".repeat(64) }),
    ],
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

Deno.test("a token may have a list of groups, each of them known and named once", async () => {
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
    "tokens[0].group: must be a name or a list of names.",
  ]);
});

Deno.test("a token that has expired is a warning, to the millisecond", async () => {
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

Deno.test("a token may have the hashes of its old text and of its new one", async () => {
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

Deno.test("a hash of two tokens is a problem, at any position of their lists", async () => {
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
