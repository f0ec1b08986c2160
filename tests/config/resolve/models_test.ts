import assert from "node:assert/strict";
import {
  connectionFile,
  loadFile,
  minimalConfig,
  minimalFile,
  problemsOf,
} from "../../support/gateway/config.ts";

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

Deno.test("a deployment is the connection itself, not a copy", async () => {
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
      'connections[0].models[1].fallbacks[1]: is served by no connection; did you mean "glm-5"?',
    ],
  );
});

Deno.test("fallbacks must not lead back to themselves", async () => {
  assert.deepEqual(await problemsWith([{ id: "a", fallbacks: ["a"] }]), [
    'connections[0].models[0].fallbacks[0]: leads in a circle: "a" → "a"; remove one',
  ]);
});

Deno.test("fallbacks must not lead in a circle through other connections", async () => {
  const file = minimalFile({
    connections: [
      connectionFile({
        models: [{ id: "a", fallbacks: ["d", "b"] }, "d"],
      }),
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
    'connections[1].models[1].fallbacks[0]: leads in a circle: "a" → "b" → "c" → "a"; remove one',
  ]);
});

Deno.test("fallbacks may meet again without a circle", async () => {
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
