import assert from "node:assert/strict";
import { createLiveConfig, deepFreeze } from "../../src/config/live_config.ts";
import { minimalConfig } from "../support/gateway/config.ts";

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

Deno.test("deepFreeze() keeps values comparable and survives cycles", () => {
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

Deno.test("a live configuration returns the one that was swapped in last", async () => {
  const first = await minimalConfig();
  const second = await minimalConfig({ messages_vendor: "other" });
  const liveConfig = createLiveConfig(first);
  assert.equal(liveConfig.current(), first);
  liveConfig.swap(second);
  assert.equal(liveConfig.current(), second);
});

Deno.test("a live configuration is frozen", async () => {
  const config = { ...await minimalConfig() };
  const liveConfig = createLiveConfig(config);
  assert.ok(Object.isFrozen(liveConfig.current()));
});
