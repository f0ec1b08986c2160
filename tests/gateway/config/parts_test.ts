import assert from "node:assert/strict";
import {
  assignedModels,
  listedModels,
} from "../../../src/gateway/config/assignment.ts";
import {
  configOf,
  connectionFile,
  loadFile,
  minimalConfig,
  minimalFile,
  problemsOf,
  tokenFile,
} from "../../support/gateway/config.ts";
import { expandVariables } from "../../../src/gateway/config/environment.ts";
import {
  createLiveConfig,
  deepFreeze,
} from "../../../src/gateway/config/live_config.ts";
import {
  createFindings,
  formatPath,
  formatProblem,
  nearest,
  oncePerPlace,
  quote,
  suggestion,
} from "../../../src/base/problems.ts";
import { steps } from "../../support/steps.ts";

async function visibleTo(token: Record<string, unknown>) {
  const config = await minimalConfig({
    connections: [
      connectionFile({ name: "a", models: ["x", "y"] }),
      connectionFile({ name: "off", enabled: false, models: ["y", "z"] }),
      connectionFile({ name: "b", models: ["x", "w"] }),
    ],
    tokens: [tokenFile(token)],
  });
  const [caller] = config.callers.values();
  assert.ok(caller);
  return [...assignedModels(caller, config).keys()];
}

Deno.test("assignedModels() returns each model of a caller's enabled connections once", async () => {
  assert.deepEqual(await visibleTo({}), ["x", "y", "w"]);
  assert.deepEqual(await visibleTo({ connections: ["b"] }), ["x", "w"]);
  assert.deepEqual(await visibleTo({ connections: ["off"] }), []);
  assert.deepEqual(await visibleTo({ connections: [] }), []);
});

Deno.test("assignedModels() returns only the models that a token names", async () => {
  assert.deepEqual(await visibleTo({ models: ["w", "x", "z"] }), ["x", "w"]);
});

Deno.test("assignedModels() counts a model with aliases once", async () => {
  const config = await minimalConfig({
    connections: [connectionFile({ models: [{ id: "x", aliases: ["y"] }] })],
  });
  const [caller] = config.callers.values();
  assert.ok(caller);
  assert.deepEqual([...assignedModels(caller, config).keys()], ["x"]);
});

async function shownTo(token: Record<string, unknown>) {
  const config = await minimalConfig({
    connections: [
      connectionFile({ name: "a", models: [{ id: "x", aliases: ["x-2"] }] }),
      connectionFile({
        name: "b",
        models: ["x", { id: "y", listed: false, aliases: ["y-2"] }, "z"],
      }),
    ],
    tokens: [tokenFile(token)],
  });
  const [caller] = config.callers.values();
  assert.ok(caller);
  return [...listedModels(caller, config)].map(([name, [first]]) =>
    `${name}: ${first.connection.name} ${first.model.id}`
  );
}

Deno.test("listedModels() returns the ids and aliases of a caller's models, except unlisted models", async () => {
  assert.deepEqual(await shownTo({}), ["x: a x", "x-2: a x", "z: b z"]);
  assert.deepEqual(await shownTo({ connections: ["b"] }), [
    "x: b x",
    "x-2: b x",
    "z: b z",
  ]);
  assert.deepEqual(await shownTo({ models: ["z"] }), ["z: b z"]);
  assert.deepEqual(await shownTo({ connections: [] }), []);
});

const ID = "0b1d3c52-6a0e-4a3e-8f0e-2f9c3b0d1a11";

async function problemsWith(connections: readonly unknown[]) {
  return problemsOf(await loadFile(minimalFile({ connections })));
}

Deno.test("two connections must not have the same name", async () => {
  assert.deepEqual(
    await problemsWith([connectionFile(), connectionFile()]),
    ["connections[1].name: is also the name of connections[0]. Names must differ."],
  );
});

Deno.test("two connections must not have the same id, not even in another letter case", async () => {
  assert.deepEqual(
    await problemsWith([
      connectionFile({ id: ID }),
      connectionFile({ name: "other", id: ID.toUpperCase() }),
    ]),
    ["connections[1].id: is also the id of connections[0]. Ids must differ."],
  );
});

Deno.test("an id must differ from the ids that are derived from other connections' names", async () => {
  const made = "0e090408-0e68-585e-9b1c-8e6bf337403b";
  const problem = (own: number, other: number) =>
    `connections[${own}].id: is also the id of connections[${other}]. Ids must differ.`;
  const taker = connectionFile({ name: "taker", id: made });
  assert.deepEqual(await problemsWith([connectionFile(), taker]), [
    problem(1, 0),
  ]);
  assert.deepEqual(await problemsWith([taker, connectionFile()]), [
    problem(0, 1),
  ]);
});

Deno.test("a name must not be the id of another connection", async () => {
  assert.deepEqual(
    await problemsWith([
      connectionFile({ name: ID.toUpperCase() }),
      connectionFile({ name: "other", id: ID }),
    ]),
    ["connections[0].name: is the id of connections[1], so that references would be ambiguous."],
  );
});

const VARIABLES: Readonly<Record<string, string>> = {
  KEY: "secret",
  EMPTY: "",
  NESTED: "${KEY}",
  PORT: "9000",
  OFF: "false",
};

function expand(text: string): { text: string; messages: string[] } {
  const messages: string[] = [];
  const expanded = expandVariables(text, {
    env: (name) => VARIABLES[name],
    report: (message) => messages.push(message),
  });
  return { text: expanded, messages };
}

const EXPANSIONS: Readonly<Record<string, string>> = {
  "${KEY}": "secret",
  "a-${KEY}-b-${PORT}": "a-secret-b-9000",
  "$${KEY}": "${KEY}",
  "$$${KEY}": "$${KEY}",
  "$KEY {KEY} $ $$": "$KEY {KEY} $ $$",
  "${NESTED}": "${KEY}",
  "": "",
};

Deno.test("expandVariables() makes", async (t) => {
  for (const [text, expected] of Object.entries(EXPANSIONS)) {
    await t.step(`${text} into ${expected}`, () => {
      assert.deepEqual(expand(text), { text: expected, messages: [] });
    });
  }
});

Deno.test("expandVariables() names each variable that is unset or empty", () => {
  assert.deepEqual(expand("${NO_ONE}/${EMPTY}"), {
    text: "${NO_ONE}/${EMPTY}",
    messages: [
      "needs the environment variable NO_ONE, which is not set.",
      "needs the environment variable EMPTY, which is empty.",
    ],
  });
});

Deno.test("expandVariables() rejects an invalid name of a variable without quoting it", (t) =>
  steps(t, ["${}", "${A-B}", "${KEY:-x}", "${1A}", "${KEY", "x${"], (text) => {
    const { messages } = expand(text);
    assert.deepEqual(messages, [
      "holds a ${ that names no environment variable. Write ${NAME}, or $${ for the characters themselves.",
    ]);
  }));

Deno.test("loadConfig() accepts variables for numbers and booleans", async () => {
  const config = await minimalConfig({
    server: { port: "${PORT}" },
    connections: [connectionFile({ enabled: "${OFF}" })],
  }, { env: (name) => VARIABLES[name] });
  assert.equal(config.server.port, 9000);
  assert.equal(config.connections[0]?.enabled, false);
});

Deno.test("loadConfig() reports only the unset variable, not the problems that it causes", async () => {
  const file = minimalFile({
    server: { port: "${UNSET}", host: "${UNSET}" },
    connections: [
      connectionFile({
        id: "${UNSET}",
        endpoints: { chat: "${UNSET}" },
        headers: { "x-a": "${UNSET}" },
      }),
    ],
  });
  assert.deepEqual(
    problemsOf(await loadFile(file)).map((problem) => problem.split(":")[0]),
    [
      "connections[0].endpoints.chat",
      "connections[0].id",
      "connections[0].headers.x-a",
      "server.port",
      "server.host",
    ],
  );
});

Deno.test("deepFreeze() freezes objects, lists, and the content of maps and sets", () => {
  const value = {
    list: [{ a: 1 }],
    map: new Map([["k", { b: 1 }]]),
    set: new Set([{ c: 1 }]),
    nothing: null,
  };
  assert.equal(deepFreeze(value), value);
  assert.ok(Object.isFrozen(value.list[0]));
  assert.ok(Object.isFrozen(value.map.get("k")));
  assert.ok([...value.set].every(Object.isFrozen));
  assert.throws(() => value.map.set("x", { b: 2 }), TypeError);
  assert.throws(() => value.map.delete("k"), TypeError);
  assert.throws(() => value.map.clear(), TypeError);
  assert.throws(() => value.set.add({ c: 2 }), {
    name: "TypeError",
    message: "Cannot change a configuration that is in use.",
  });
});

Deno.test("deepFreeze() keeps values comparable and accepts cycles", () => {
  const map = deepFreeze(new Map([["k", 1]]));
  assert.deepEqual(map, new Map([["k", 1]]));
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  assert.ok(Object.isFrozen(deepFreeze(circle)));
});

Deno.test("loadConfig() returns a frozen configuration", async () => {
  const config = await minimalConfig();
  const [connection] = config.connections;
  assert.ok(connection);
  assert.ok(Object.isFrozen(config));
  assert.ok(Object.isFrozen(connection.auth));
  assert.ok(Object.isFrozen(connection.models[0]));
  assert.ok(Object.isFrozen(config.pools));
  assert.ok(Object.isFrozen(config.callers));
  assert.ok(Object.isFrozen([...config.callers.values()][0]?.connectionIds));
});

Deno.test("current() returns the latest configuration after a swap", async () => {
  const first = await minimalConfig();
  const second = await minimalConfig({ messages_vendor: "other" });
  const liveConfig = createLiveConfig(first);
  assert.equal(liveConfig.current(), first);
  liveConfig.swap(second);
  assert.equal(liveConfig.current(), second);
});

Deno.test("a renewed key replaces only its connection's object", async () => {
  const file = (overrides: Record<string, unknown> = {}) =>
    minimalFile({
      connections: [
        connectionFile({
          name: "renewed",
          auth: { exchange: { kind: "google_metadata" } },
          models: [{ id: "model-a", aliases: ["a"] }],
        }),
        connectionFile({ name: "other", ...overrides }),
      ],
    });
  const load = async (token: string, overrides = {}) =>
    configOf(
      await loadFile(file(overrides), {
        tokenFor: () => Promise.resolve({ token, expiresAtMs: 1 }),
      }),
    );
  const live = createLiveConfig(await load("first"));
  const before = live.current();
  live.swap(await load("second"));
  const after = live.current();
  const [renewed, other] = after.connections;
  assert.ok(renewed?.auth.scheme === "bearer" && renewed.auth.key === "second");
  assert.notEqual(renewed, before.connections[0]);
  assert.equal(renewed.models, before.connections[0]?.models);
  assert.equal(other, before.connections[1]);
  const pool = after.pools.get("model-a");
  assert.equal(pool, after.pools.get("a"));
  assert.equal(pool?.[0]?.connection, renewed);
  assert.equal(pool?.[0]?.model, renewed.models[0]);
  assert.equal(pool?.[1], before.pools.get("model-a")?.[1]);

  // Any other change, and a forced equal configuration, replaces every object.
  for (const overrides of [{}, { max_concurrent: 2 }]) {
    live.swap(await load("second", overrides));
    assert.notEqual(live.current().connections[1], other);
  }
});

Deno.test("a live configuration is frozen", async () => {
  const config = { ...await minimalConfig() };
  const liveConfig = createLiveConfig(config);
  assert.ok(Object.isFrozen(liveConfig.current()));
});

Deno.test("formatPath() writes keys and indices, and quotes unusual keys", () => {
  assert.equal(
    formatPath(["connections", 0, "models", 1, "upstream"]),
    "connections[0].models[1].upstream",
  );
  assert.equal(
    formatPath(["headers", "x-a", "a b\n"]),
    'headers.x-a["a b\\n"]',
  );
  assert.equal(formatPath([]), "");
});

Deno.test("formatProblem() names the file for a problem of the whole file", () => {
  assert.equal(
    formatProblem({ path: "", message: "is empty" }),
    "file: is empty",
  );
  assert.equal(
    formatProblem({ path: "a.b", message: "is missing." }),
    "a.b: is missing.",
  );
});

Deno.test("quote() escapes control characters and cuts long names", () => {
  assert.equal(quote('a"b\u001b'), '"a\\"b\\u001b"');
  assert.equal(quote("x".repeat(61)), `"${"x".repeat(60)}…"`);
});

const NEAR: readonly (readonly [string, string | undefined])[] = [
  ["upstraem", "upstream"],
  ["Upstream", "upstream"],
  ["hots", "host"],
  ["hsot", "host"],
  ["host_name", undefined],
  ["key", undefined],
  ["", undefined],
];

Deno.test("nearest() finds", async (t) => {
  for (const [given, expected] of NEAR) {
    await t.step(`${expected ?? "nothing"} for "${given}"`, () => {
      assert.equal(nearest(given, ["upstream", "host", "models"]), expected);
    });
  }
});

Deno.test("nearest() finds nothing in an empty list", () => {
  assert.equal(nearest("a", []), undefined);
  assert.equal(suggestion("a", []), "");
});

Deno.test("suggestion() names the nearest name", () => {
  assert.equal(suggestion("hots", ["host"]), '. Did you mean "host"?');
});

Deno.test("oncePerPlace() keeps the first problem of each path, including the paths above it", () => {
  const findings = createFindings();
  findings.problem(["a"], "first");
  findings.problem(["a"], "second");
  const once = oncePerPlace(findings);
  once.problem(["a"], "third");
  once.problem(["b"], "first");
  once.problem(["b"], "second");
  once.warn(["b"], "warning");
  assert.deepEqual(findings.problems, [
    { path: "a", message: "first" },
    { path: "a", message: "second" },
    { path: "b", message: "first" },
  ]);
  assert.deepEqual(once.warnings, [{ path: "b", message: "warning" }]);
});
