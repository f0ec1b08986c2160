import assert from "node:assert/strict";
import {
  connectionFile,
  describedFile,
  loadFile,
  minimalConfig,
  minimalFile,
  problemsOf,
  warningsOf,
} from "../../../support/gateway/config.ts";
import { yamlTable } from "../../../support/yaml_table.ts";

async function problemsWith(models: readonly unknown[]) {
  const file = minimalFile({ connections: [connectionFile({ models })] });
  return problemsOf(await loadFile(file));
}

Deno.test("a pool has the enabled connections of a model, in the file's order", async () => {
  const config = await minimalConfig({
    connections: [
      connectionFile({ name: "a", models: ["x", "y"] }),
      connectionFile({ name: "b", enabled: false, models: ["x", "z"] }),
      connectionFile({ name: "c", models: [{ id: "x", upstream: "x-1" }] }),
    ],
  });
  const pools = [...config.pools].map(([id, pool]) => [
    id,
    pool.map(({ connection, model }) => `${connection.name}:${model.upstream}`),
  ]);
  assert.deepEqual(pools, [["x", ["a:x", "c:x-1"]], ["y", ["a:y"]]]);
});

Deno.test("a deployment has the connection object itself, not a copy", async () => {
  const config = await minimalConfig();
  const [deployment] = config.pools.get("model-a") ?? [];
  assert.ok(deployment);
  assert.equal(deployment.connection, config.connections[0]);
  assert.equal(deployment.model, config.connections[0]?.models[0]);
});

Deno.test("a fallback must be a model of some connection", async () => {
  assert.deepEqual(
    await problemsWith(["glm-5", { id: "fast", fallbacks: ["glm-5", "glm5"] }]),
    [
      'connections[0].models[1].fallbacks[1]: is served by no connection. Did you mean "glm-5"?',
    ],
  );
});

Deno.test("a model's fallbacks must not include itself", async () => {
  assert.deepEqual(await problemsWith([{ id: "a", fallbacks: ["a"] }]), [
    'connections[0].models[0].fallbacks[0]: leads in a cycle: "a" → "a". Remove one.',
  ]);
});

Deno.test("fallbacks must not form a cycle through other connections", async () => {
  const file = minimalFile({
    connections: [
      connectionFile({ models: [{ id: "a", fallbacks: ["d", "b"] }, "d"] }),
      connectionFile({
        name: "other",
        models: [
          { id: "b", fallbacks: ["d", "c"] },
          { id: "c", fallbacks: ["a"] },
        ],
      }),
    ],
  });
  assert.deepEqual(problemsOf(await loadFile(file)), [
    'connections[1].models[1].fallbacks[0]: leads in a cycle: "a" → "b" → "c" → "a". Remove one.',
  ]);
});

Deno.test("fallbacks may share a target without a cycle", async () => {
  const config = await minimalConfig({
    connections: [connectionFile({
      models: [
        { id: "a", fallbacks: ["b", "c"] },
        { id: "b", fallbacks: ["d"] },
        { id: "c", fallbacks: ["d"] },
        "d",
      ],
    })],
  });
  assert.equal(config.pools.size, 4);
});

Deno.test("a chain of fallbacks may be longer than the call stack", async () => {
  const length = 20_000;
  const models = Array.from({ length }, (_, index) => ({
    id: `m${index}`,
    fallbacks: index + 1 < length ? [`m${index + 1}`] : ["m0"],
  }));
  const problems = await problemsWith(models);
  assert.equal(problems.length, 1);
  assert.match(problems[0] ?? "", /^connections\[0\]\.models\[19999\]/);
});

async function servedAs(
  connections: readonly Record<string, unknown>[],
): Promise<Record<string, readonly string[]>> {
  const { pools } = await minimalConfig({
    connections: connections.map(connectionFile),
  });
  return Object.fromEntries(
    [...pools].map(([name, pool]) => [
      name,
      pool.map(({ connection, model }) => `${connection.name}:${model.id}`),
    ]),
  );
}

Deno.test("an alias applies to every connection of its model, even if only one connection names the alias", async () => {
  const served = await servedAs([
    { name: "one", models: ["glm", { id: "kimi", aliases: ["claude-kimi"] }] },
    { name: "two", models: [{ id: "glm", aliases: ["claude-glm"] }] },
  ]);
  assert.deepEqual(served, {
    glm: ["one:glm", "two:glm"],
    kimi: ["one:kimi"],
    "claude-kimi": ["one:kimi"],
    "claude-glm": ["one:glm", "two:glm"],
  });
});

Deno.test("two connections may give a model the same alias", async () => {
  const served = await servedAs([
    { name: "one", models: [{ id: "glm", aliases: ["claude-glm"] }] },
    { name: "two", models: [{ id: "glm", aliases: ["claude-glm"] }] },
  ]);
  assert.deepEqual(served["claude-glm"], ["one:glm", "two:glm"]);
});

Deno.test("an alias of a disabled connection has no effect", async () => {
  const served = await servedAs([
    { name: "one", models: ["glm"] },
    {
      name: "two",
      enabled: false,
      models: [{ id: "glm", aliases: ["claude-glm"] }],
    },
  ]);
  assert.deepEqual(Object.keys(served), ["glm"]);
});

Deno.test("a model with an alias is resolved like a model without an alias", async () => {
  const config = await minimalConfig({
    connections: [connectionFile({ models: [{ id: "a", aliases: ["b"] }] })],
  });
  assert.equal(config.pools.get("a"), config.pools.get("b"));
});

Deno.test("lists have each model's id and aliases, except unlisted ones", async () => {
  const listed = async (...models: unknown[]) =>
    (await minimalConfig({ connections: [connectionFile({ models })] }))
      .listedModels;
  assert.deepEqual(
    await listed({ id: "a", aliases: ["x", { id: "y", listed: false }] }, "b"),
    ["a", "x", "b"],
  );
  assert.deepEqual(
    await listed({
      id: "a",
      listed: false,
      aliases: ["x", { id: "y", listed: true }],
    }),
    ["y"],
  );
});

Deno.test("a model is listed when one enabled connection lists it", async () => {
  const { listedModels } = await minimalConfig({
    connections: [
      connectionFile({ name: "one", models: [{ id: "a", listed: false }] }),
      connectionFile({
        name: "two",
        models: ["b", { id: "a", aliases: ["x"] }],
      }),
      connectionFile({ name: "three", enabled: false, models: ["c"] }),
    ],
  });
  assert.deepEqual(listedModels, ["a", "x", "b"]);
});

Deno.test("an alias must not be the id of a model", async () => {
  assert.deepEqual(
    await problemsWith([{ id: "a", aliases: ["b", "a"] }, "b"]),
    [
      "connections[0].models[0].aliases[0]: is the id of another model. Remove it.",
      "connections[0].models[0].aliases[1]: is the id of this model. Remove it.",
    ],
  );
});

Deno.test("an alias must not name two models", async () => {
  assert.deepEqual(
    await problemsWith([
      { id: "a", aliases: ["x"] },
      { id: "b", aliases: [{ id: "x", listed: false }] },
    ]),
    [
      'connections[0].models[1].aliases[0]: also names the model "a", at connections[0].models[0].aliases[0]. An alias names one model.',
    ],
  );
});

Deno.test("a fallback may be named by an alias", async () => {
  const config = await minimalConfig({
    connections: [connectionFile({
      models: [{ id: "a", fallbacks: ["x"] }, { id: "b", aliases: ["x"] }],
    })],
  });
  assert.deepEqual(config.connections[0]?.models[0]?.fallbacks, ["b"]);
});

Deno.test("a cycle of fallbacks is found through aliases", async () => {
  assert.deepEqual(
    await problemsWith([{ id: "a", aliases: ["x"], fallbacks: ["x"] }]),
    [
      'connections[0].models[0].fallbacks[0]: leads in a cycle: "a" → "a". Remove one.',
    ],
  );
});

const FILES: Readonly<Record<string, string>> = {
  "password.txt": "from a file\n",
  "empty.txt": "\n",
  "ca.pem": "-----BEGIN CERTIFICATE-----\n",
};

const readFile = (path: string) => Promise.resolve(FILES[path] ?? "canary");

async function resolved(shared: Record<string, unknown>) {
  return (await minimalConfig({ shared }, { readFile })).shared;
}

async function problems(shared: Record<string, unknown>): Promise<string[]> {
  const file = minimalFile({ shared });
  return [...problemsOf(await loadFile(file, { readFile }))];
}

Deno.test("a store needs only its URL", async () => {
  assert.deepEqual(
    await resolved({ url: "rediss://us%65r:p%40ss@store.example:7000/12" }),
    {
      host: "store.example",
      port: 7000,
      tls: true,
      ca: undefined,
      username: "user",
      password: "p@ss",
      database: 12,
      prefix: "model-gateway:",
    },
  );
  const short = await resolved({ url: "redis://[::1]", prefix: "team:" });
  assert.deepEqual([short?.host, short?.port, short?.database], [
    "::1",
    6379,
    0,
  ]);
  assert.deepEqual([short?.username, short?.password], [undefined, undefined]);
  assert.equal(short?.prefix, "team:");
  assert.equal((await minimalConfig()).shared, undefined);
});

Deno.test("the password of a store may be separate from its URL, and in a file", async () => {
  const url = "rediss://user@store.example";
  const plain = await resolved({ url, password: "p@s/s" });
  assert.equal(plain?.password, "p@s/s");
  assert.equal(plain?.username, "user");
  const file = await resolved({ url, password_file: "password.txt" });
  assert.equal(file?.password, "from a file");
  const ca = await resolved({ url, ca: "ca.pem" });
  assert.equal(ca?.ca, FILES["ca.pem"]);
});

const NO_STORE =
  "shared.url: must be the URL of a Valkey or Redis server, such as rediss://gateway@valkey.example:6379/0.";

Deno.test("problems of a store are reported without its password", async () => {
  const url = "rediss://:canary@store.example";
  const urls = [
    "http://canary@a.example",
    "redis://a.example/canary",
    "redis://a.example?canary=1",
    "redis://a.example#canary",
    "canary",
    "redis://",
  ];
  const cases = yamlTable(`
{ url: "${url}", password: canary } → shared.password: must not be set with the password in url.
{ url: "rediss://a.example", password: canary, password_file: password.txt } →
  shared.password_file: must not be set with the password in password.
{ url: "rediss://a.example", password_file: empty.txt } → shared.password_file: must name a file
  that holds the password.
{ url: "rediss://a.example", ca: password.txt } → shared.ca: must name a PEM file that holds
  certificates.
{ url: "redis://127.0.0.1", ca: ca.pem } → shared.ca: needs a url with rediss:.
{ url: "${url}", prefix: a b } → shared.prefix: must be 1 to 64 printable ASCII characters without
  spaces.
${urls.map((bad) => `{ url: "${bad}" } → ${NO_STORE}`).join("\n")}
`);
  for (const [, shared, problem] of cases) {
    assert.deepEqual(await problems(shared), [problem]);
  }
});

Deno.test("a store on another machine without TLS is a warning", async () => {
  const warnings = async (url: string) =>
    warningsOf(await loadFile(minimalFile({ shared: { url } })));
  const [warning, ...others] = await warnings("redis://store.example");
  assert.match(
    warning ?? "",
    /^shared\.url: reaches another machine without TLS/,
  );
  assert.deepEqual(others, []);
  for (
    const url of ["redis://127.0.0.1", "redis://[::1]", "rediss://a.example"]
  ) {
    assert.deepEqual(await warnings(url), []);
  }
});

Deno.test("check shows a store without its password", async () => {
  const url = "rediss://user:canary@store.example/2";
  const text = await describedFile({ shared: { url } });
  assert.match(text, /url: rediss:\/\/user@store\.example\/2\n/);
  assert.doesNotMatch(text, /canary/);
});
