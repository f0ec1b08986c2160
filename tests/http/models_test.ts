import assert from "node:assert/strict";
import type { Caller, Config } from "../../src/config/config.ts";
import { GatewayError } from "../../src/core/error.ts";
import { modelResponse, modelsResponse } from "../../src/http/models.ts";
import {
  connectionFile,
  minimalConfig,
  tokenFile,
} from "../support/gateway/config.ts";

async function scene(
  token: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly caller: Caller; readonly config: Config }> {
  const config = await minimalConfig({
    connections: [
      connectionFile({ name: "one", models: ["org/a", "b"] }),
      connectionFile({ name: "two", models: ["b", "c"] }),
    ],
    tokens: [tokenFile(token)],
  });
  const [caller] = config.callers.values();
  assert.ok(caller);
  return { caller, config };
}

const entry = (id: string) => ({
  id,
  object: "model",
  type: "model",
  created: 0,
  created_at: "1970-01-01T00:00:00.000Z",
  display_name: id,
  owned_by: "custom",
  protocols: ["chat", "messages", "responses"],
});

Deno.test("modelsResponse() lists each of the caller's models once, for both SDKs", async () => {
  const { caller, config } = await scene();
  assert.deepEqual(await modelsResponse(caller, config).json(), {
    object: "list",
    data: [entry("org/a"), entry("b"), entry("c")],
    has_more: false,
    first_id: "org/a",
    last_id: "c",
  });
});

Deno.test("modelsResponse() is an empty list for a caller without models", async () => {
  const { caller, config } = await scene();
  const nobody = { ...caller, connectionIds: new Set<string>() };
  assert.deepEqual(await modelsResponse(nobody, config).json(), {
    object: "list",
    data: [],
    has_more: false,
    first_id: null,
    last_id: null,
  });
});

Deno.test("modelResponse() gives one of the caller's models", async () => {
  const { caller, config } = await scene();
  const response = modelResponse("org/a", caller, config);
  assert.deepEqual(await response.json(), entry("org/a"));
});

Deno.test("modelResponse() has no model that the caller may not use", async () => {
  const { caller, config } = await scene({ models: ["c"] });
  for (const id of ["b", "unknown", "", "__proto__"]) {
    assert.throws(() => modelResponse(id, caller, config), (error) => {
      assert.ok(error instanceof GatewayError);
      assert.equal(error.code, "model_not_found");
      return true;
    });
  }
});
