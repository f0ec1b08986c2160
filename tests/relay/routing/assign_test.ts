import assert from "node:assert/strict";
import type { Caller, Config } from "../../../src/config/config.ts";
import { GatewayError } from "../../../src/core/error.ts";
import { assignedModels } from "../../../src/config/assignment.ts";
import { assign, modelNotFound } from "../../../src/relay/routing/assign.ts";
import {
  connectionFile,
  minimalConfig,
  tokenFile,
} from "../../support/gateway/config.ts";

/** Three connections; `shared` is on all of them, and the third is disabled. */
function loadConfig(): Promise<Config> {
  return minimalConfig({
    connections: [
      connectionFile({ name: "one", models: ["shared", "only-one"] }),
      connectionFile({ name: "two", models: ["only-two", "shared"] }),
      connectionFile({
        name: "three",
        enabled: false,
        models: ["shared", "only-three"],
      }),
    ],
    tokens: [
      tokenFile({ name: "everything" }),
      tokenFile({
        name: "second",
        sha256: "2".repeat(64),
        connections: ["two", "three"],
      }),
      tokenFile({
        name: "narrow",
        sha256: "3".repeat(64),
        models: ["only-one"],
      }),
      tokenFile({
        name: "crossed",
        sha256: "4".repeat(64),
        connections: ["one"],
        models: ["shared"],
      }),
    ],
  });
}

function callerOf(config: Config, name: string): Caller {
  const caller = [...config.callers.values()].find((one) => one.name === name);
  assert.ok(caller);
  return caller;
}

/** The connections that serve a model to a caller. */
async function connectionsFor(
  name: string,
  model: string,
): Promise<readonly string[]> {
  const config = await loadConfig();
  return assign(model, callerOf(config, name), config)
    .map(({ connection }) => connection.name);
}

Deno.test("assign() gives the enabled connections that the caller may use, in the file's order", async () => {
  assert.deepEqual(await connectionsFor("everything", "shared"), [
    "one",
    "two",
  ]);
  assert.deepEqual(await connectionsFor("everything", "only-two"), ["two"]);
  assert.deepEqual(await connectionsFor("second", "shared"), ["two"]);
  assert.deepEqual(await connectionsFor("narrow", "only-one"), ["one"]);
  assert.deepEqual(await connectionsFor("crossed", "shared"), ["one"]);
});

Deno.test("assign() refuses every other model in one wording", async () => {
  const config = await loadConfig();
  const cases = [
    ["everything", "unknown"],
    ["everything", "only-three"],
    ["everything", "Shared"],
    ["everything", "__proto__"],
    ["second", "only-one"],
    ["narrow", "shared"],
    ["crossed", "only-one"],
  ] as const;
  for (const [name, model] of cases) {
    assert.throws(
      () => assign(model, callerOf(config, name), config),
      (error) => {
        assert.ok(error instanceof GatewayError);
        assert.equal(error.kind, "not_found");
        assert.equal(error.code, "model_not_found");
        assert.equal(error.param, "model");
        assert.equal(
          error.message,
          `Cannot find the model "${model}": it does not exist or is not assigned to this token, see GET /models`,
        );
        return true;
      },
    );
  }
});

Deno.test("modelNotFound() quotes a name so that it is no more than a name", () => {
  assert.ok(modelNotFound('a"\n\u001bb').message.includes('"a\\"\\n\\u001bb"'));
  const long = modelNotFound("x".repeat(10_000)).message;
  assert.ok(long.includes(`"${"x".repeat(100)}…"`));
  assert.ok(!long.includes("x".repeat(101)));
  assert.ok(modelNotFound("x".repeat(100)).message.includes('x"'));
});

Deno.test("assignedModels() lists a caller's models in the file's order, each with the connection that comes first", async () => {
  const config = await loadConfig();
  const listFor = (name: string) =>
    [...assignedModels(callerOf(config, name), config)]
      .map(([id, [{ connection }]]) => `${id} on ${connection.name}`);
  assert.deepEqual(listFor("everything"), [
    "shared on one",
    "only-one on one",
    "only-two on two",
  ]);
  assert.deepEqual(listFor("second"), ["shared on two", "only-two on two"]);
  assert.deepEqual(listFor("narrow"), ["only-one on one"]);
  assert.deepEqual(listFor("crossed"), ["shared on one"]);
});

Deno.test("assignedModels() lists just what assign() serves", async () => {
  const config = await loadConfig();
  for (const caller of config.callers.values()) {
    const listed = assignedModels(caller, config);
    for (const model of config.pools.keys()) {
      if (listed.has(model)) {
        const deployments = assign(model, caller, config);
        assert.deepEqual(listed.get(model), deployments);
      } else {
        assert.throws(() => assign(model, caller, config), GatewayError);
      }
    }
  }
});
