import assert from "node:assert/strict";
import { GatewayError } from "../../src/core/error.ts";
import type { ModelCatalog } from "../../src/catalog/model_catalog.ts";
import {
  modelResponse,
  type ModelsContext,
  modelsResponse,
} from "../../src/http/models.ts";
import { CallerLeft } from "../../src/upstream/call.ts";
import {
  connectionFile,
  minimalConfig,
  tokenFile,
} from "../support/gateway/config.ts";

/** Knows nothing but its input. */
function catalogOf(
  facts: (connection: string) => ReturnType<ModelCatalog["factsOf"]>,
): ModelCatalog {
  return {
    refresh: () => Promise.resolve(),
    factsOf: ({ connection }) => facts(connection.name),
  };
}

async function scene(
  token: Readonly<Record<string, unknown>> = {},
): Promise<ModelsContext> {
  const config = await minimalConfig({
    connections: [
      connectionFile({ name: "one", models: ["org/a", "b"] }),
      connectionFile({ name: "two", models: ["b", "c"] }),
    ],
    tokens: [tokenFile(token)],
  });
  const [caller] = config.callers.values();
  assert.ok(caller);
  const catalog = catalogOf(() => ({}));
  const { signal } = new AbortController();
  return { query: "", caller, config, catalog, signal };
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
  native_protocols: ["chat"],
});

Deno.test("modelsResponse() lists each of the caller's models once, for both SDKs", async () => {
  const context = await scene();
  assert.deepEqual(await (await modelsResponse(context)).json(), {
    object: "list",
    data: [entry("org/a"), entry("b"), entry("c")],
    has_more: false,
    first_id: "org/a",
    last_id: "c",
  });
});

Deno.test("modelsResponse() is an empty list for a caller without models", async () => {
  const context = await scene();
  const caller = { ...context.caller, connectionIds: new Set<string>() };
  const response = await modelsResponse({ ...context, caller });
  assert.deepEqual(await response.json(), {
    object: "list",
    data: [],
    has_more: false,
    first_id: null,
    last_id: null,
  });
});

Deno.test("modelResponse() returns one of the caller's models", async () => {
  const response = await modelResponse("org/a", await scene());
  assert.deepEqual(await response.json(), entry("org/a"));
});

Deno.test("modelResponse() rejects a model that the caller may not use", async () => {
  const context = await scene({ models: ["c"] });
  for (const id of ["b", "unknown", "", "__proto__"]) {
    await assert.rejects(modelResponse(id, context), (error) => {
      assert.ok(error instanceof GatewayError);
      assert.equal(error.code, "model_not_found");
      return true;
    });
  }
});

Deno.test("modelsResponse() reports the common facts of a model on all of the caller's connections", async () => {
  const context = await scene();
  const catalog = catalogOf((connection) => ({
    contextWindow: connection === "one" ? 10 : 5,
  }));
  const { data } = await (await modelsResponse({ ...context, catalog })).json();
  assert.deepEqual(
    data.map(({ id, context_length }: Record<string, unknown>) => [
      id,
      context_length,
    ]),
    [["org/a", 10], ["b", 5], ["c", 5]],
  );
});

Deno.test("modelsResponse() refreshes each connection of the caller's models once", async () => {
  const asked: string[][] = [];
  const context = await scene({ models: ["b", "c"] });
  const catalog: ModelCatalog = {
    refresh: (connections) => {
      asked.push(connections.map(({ name }) => name));
      return Promise.resolve();
    },
    factsOf: () => ({}),
  };
  await modelsResponse({ ...context, catalog });
  await modelResponse("c", { ...context, catalog });
  assert.deepEqual(asked, [["one", "two"], ["two"]]);
});

Deno.test("modelsResponse() returns Codex its catalog", async () => {
  const query = "?client_version=0.169.0";
  const response = await modelsResponse({ ...await scene(), query });
  const { models, data } = await response.json();
  assert.equal(data, undefined);
  assert.deepEqual(
    models.map(({ slug }: { slug: string }) => slug),
    ["org/a", "b", "c"],
  );
});

Deno.test("a caller that leaves while lists are read gets no response", async () => {
  const context = await scene();
  const signal = AbortSignal.abort();
  const refused = new Error("left");
  const catalog: ModelCatalog = {
    refresh: () => Promise.reject(refused),
    factsOf: () => ({}),
  };
  for (
    const answer of [
      modelsResponse({ ...context, catalog, signal }),
      modelResponse("b", { ...context, catalog, signal }),
    ]
  ) await assert.rejects(answer, CallerLeft);
  await assert.rejects(modelsResponse({ ...context, catalog }), refused);
});
