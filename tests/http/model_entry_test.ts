import assert from "node:assert/strict";
import type { ModelFacts } from "../../src/catalog/model_facts.ts";
import { listedModels } from "../../src/config/assignment.ts";
import { modelEntry } from "../../src/http/model_entry.ts";
import {
  configOf,
  connectionFile,
  loadFile,
  minimalConfig,
  minimalFile,
} from "../support/gateway/config.ts";

async function entryWith(
  facts: ModelFacts,
): Promise<Record<string, unknown>> {
  const config = await minimalConfig();
  const [caller] = config.callers.values();
  assert.ok(caller);
  const deployments = listedModels(caller, config).get("model-a");
  assert.ok(deployments);
  return JSON.parse(
    JSON.stringify(modelEntry({ name: "some-alias", deployments, facts })),
  );
}

const PLAIN = {
  id: "some-alias",
  object: "model",
  type: "model",
  created: 0,
  created_at: "1970-01-01T00:00:00.000Z",
  display_name: "some-alias",
  owned_by: "custom",
  protocols: ["chat", "messages", "responses"],
  native_protocols: ["chat"],
};

/** Connections that serve a model in this order, each by its family and endpoints, and the native protocols. */
const NATIVE: Readonly<
  Record<string, readonly [readonly string[], readonly string[]]>
> = {
  "the own one of each family": [["B messages"], ["messages"]],
  "the own one of a family that could translate": [["C responses"], [
    "responses",
  ]],
  "further endpoints, after the family's own": [
    ["A messages responses chat"],
    ["chat", "messages", "responses"],
  ],
  "what all connections have": [
    ["A chat messages", "B messages"],
    ["messages"],
  ],
  "those of the first connection where they have none in common": [
    ["C responses", "A chat"],
    ["responses"],
  ],
};

for (const [name, [connections, expected]] of Object.entries(NATIVE)) {
  Deno.test(`modelEntry() names as native ${name}`, async () => {
    const file = minimalFile({
      connections: connections.map((text, index) => {
        const [family, ...endpoints] = text.split(" ");
        return connectionFile({
          name: `one-${index}`,
          family,
          endpoints: Object.fromEntries(
            endpoints.map((one) => [one, `http://127.0.0.1:9/${index}`]),
          ),
        });
      }),
    });
    const config = configOf(await loadFile(file));
    const [caller] = config.callers.values();
    assert.ok(caller);
    const deployments = listedModels(caller, config).get("model-a");
    assert.ok(deployments);
    const entry = modelEntry({ name: "model-a", deployments, facts: {} });
    assert.deepEqual(entry.native_protocols, expected);
  });
}

Deno.test("modelEntry() leaves out unknown facts", async () => {
  assert.deepEqual(await entryWith({}), PLAIN);
});

Deno.test("modelEntry() has all known facts, in the fields of every client", async () => {
  const entry = await entryWith({
    displayName: "Model A",
    createdMs: Date.UTC(2026, 4, 6, 7, 8, 9, 500),
    contextWindow: 200_000,
    maxOutputTokens: 64_000,
    input: { text: true, image: true, pdf: true, audio: false },
    callsTools: true,
    reasons: true,
    efforts: ["low", "max", "ultra"],
  });
  assert.deepEqual(entry, {
    ...PLAIN,
    display_name: "Model A",
    created: Date.UTC(2026, 4, 6, 7, 8, 9) / 1000,
    created_at: "2026-05-06T07:08:09.500Z",
    max_input_tokens: 200_000,
    max_tokens: 64_000,
    capabilities: {
      image_input: { supported: true },
      pdf_input: { supported: true },
      thinking: { supported: true },
      effort: {
        supported: true,
        low: { supported: true },
        medium: { supported: false },
        high: { supported: false },
        xhigh: { supported: false },
        max: { supported: true },
      },
    },
    context_length: 200_000,
    max_output_tokens: 64_000,
    top_provider: { context_length: 200_000, max_completion_tokens: 64_000 },
    architecture: { input_modalities: ["text", "image", "file"] },
    supported_parameters: ["tools", "tool_choice", "reasoning"],
    reasoning: { supported_efforts: ["low", "max", "ultra"] },
  });
});

Deno.test("modelEntry() reports capabilities in Anthropic's form, except those that the configuration denies", async () => {
  const entry = await entryWith({
    capabilities: {
      batch: { supported: true },
      thinking: {
        supported: true,
        types: { adaptive: { supported: true } },
      },
      image_input: { supported: true },
      context_management: { supported: true, compact_20260112: null },
    },
    input: { text: true, image: false },
    reasons: true,
  });
  assert.deepEqual(entry.capabilities, {
    batch: { supported: true },
    thinking: { supported: true, types: { adaptive: { supported: true } } },
    image_input: { supported: false },
    context_management: { supported: true, compact_20260112: null },
  });
});

Deno.test("modelEntry() shows that a model does not reason", async () => {
  const entry = await entryWith({ reasons: false, efforts: [] });
  assert.deepEqual(entry.reasoning, { supported_efforts: [] });
  const { thinking, effort } = Object(entry.capabilities);
  assert.deepEqual(thinking, { supported: false });
  assert.equal(effort.supported, false);
});

Deno.test("modelEntry() names no parameters without a fact about tools", async () => {
  const parameters = async (facts: ModelFacts) =>
    (await entryWith(facts)).supported_parameters;
  assert.equal(await parameters({ reasons: true }), undefined);
  assert.deepEqual(await parameters({ callsTools: false, reasons: true }), [
    "reasoning",
  ]);
  assert.deepEqual(await parameters({ callsTools: true }), [
    "tools",
    "tool_choice",
  ]);
});
