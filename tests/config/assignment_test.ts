import assert from "node:assert/strict";
import { assignedModels } from "../../src/config/assignment.ts";
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

Deno.test("assignedModels() gives each model of the enabled assigned connections once", async () => {
  assert.deepEqual(await visibleTo({}), ["x", "y", "w"]);
  assert.deepEqual(await visibleTo({ connections: ["b"] }), ["x", "w"]);
  assert.deepEqual(await visibleTo({ connections: ["off"] }), []);
  assert.deepEqual(await visibleTo({ connections: [] }), []);
});

Deno.test("assignedModels() keeps to the models that a token names", async () => {
  assert.deepEqual(await visibleTo({ models: ["w", "x", "z"] }), ["x", "w"]);
});
