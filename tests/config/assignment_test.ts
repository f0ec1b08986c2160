import assert from "node:assert/strict";
import { assignedModels, listedModels } from "../../src/config/assignment.ts";
import {
  connectionFile,
  minimalConfig,
  tokenFile,
} from "../support/gateway/config.ts";

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

Deno.test("assignedModels() returns each model of the enabled assigned connections once", async () => {
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

Deno.test("listedModels() returns the ids and aliases of a caller's models, except unlisted ones", async () => {
  assert.deepEqual(await shownTo({}), ["x: a x", "x-2: a x", "z: b z"]);
  assert.deepEqual(await shownTo({ connections: ["b"] }), [
    "x: b x",
    "x-2: b x",
    "z: b z",
  ]);
  assert.deepEqual(await shownTo({ models: ["z"] }), ["z: b z"]);
  assert.deepEqual(await shownTo({ connections: [] }), []);
});
