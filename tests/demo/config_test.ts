import assert from "node:assert/strict";
import { loadConfig } from "../../src/config/load.ts";
import { demoConfigText } from "../../src/demo/config.ts";
import { createFixedDemo, NOON_MS } from "./harness.ts";

const SHA256 = "ab".repeat(32);

async function loadDemo() {
  const result = await loadConfig(demoConfigText(SHA256), {
    env: () => undefined,
    readFile: () => Promise.reject(new Error("the demo reads no file")),
    listFiles: () => Promise.resolve([]),
    nowMs: NOON_MS,
  });
  assert("config" in result, JSON.stringify(result));
  return result;
}

Deno.test("demoConfigText() loads without a problem or a warning", async () => {
  const { config, warnings } = await loadDemo();
  assert.deepEqual(warnings, []);
  assert.deepEqual(config.connections.map(({ family }) => family), [
    "A",
    "B",
    "C",
  ]);
});

Deno.test("demoConfigText() assigns all connections and models to its one token", async () => {
  const { config } = await loadDemo();
  const caller = config.callers.get(SHA256);
  assert.equal(config.callers.size, 1);
  assert.equal(caller?.connectionIds.size, 3);
  assert.equal(caller?.models, undefined);
});

Deno.test("demoConfigText() names only models that the demo has, at addresses where it answers", async (t) => {
  const { config } = await loadDemo();
  for (const { name, endpoints, auth, models } of config.connections) {
    await t.step(name, async () => {
      assert(auth.scheme !== "none");
      const response = await createFixedDemo()(
        `${Object.values(endpoints)[0]}/models`,
        { headers: { authorization: `Bearer ${auth.key}` } },
      );
      const { data } = await response.json();
      const served = data.map((model: { id: string }) => model.id);
      for (const { upstream } of models) assert(served.includes(upstream));
      for (const id of served) {
        assert(models.some((model) => model.upstream === id));
      }
    });
  }
});

Deno.test("demoConfigText() reads every quota where the demo reports it", async (t) => {
  const { config } = await loadDemo();
  for (const { name, quota, auth } of config.connections) {
    await t.step(name, async () => {
      assert(auth.scheme !== "none" && quota?.url !== undefined);
      const response = await createFixedDemo()(quota.url, {
        headers: { authorization: `Bearer ${auth.key}` },
      });
      assert.equal(response.status, 200);
      assert.notEqual((await response.json()).success, false);
    });
  }
});

Deno.test("demoConfigText() has a model that every family serves and one that falls back", async () => {
  const { config } = await loadDemo();
  assert.equal(config.pools.get("demo-any")?.length, 3);
  const [candidate] = config.pools.get("demo-fallback") ?? [];
  assert.deepEqual(candidate?.model.fallbacks, ["demo-any"]);
});
