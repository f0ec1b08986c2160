import assert from "node:assert/strict";
import {
  configuredFacts,
  holdsForBoth,
  type ModelFacts,
  preferFirst,
} from "../../../src/gateway/catalog/model_facts.ts";
import { connectionFile, minimalConfig } from "../../support/gateway/config.ts";

async function configured(model: Record<string, unknown>) {
  const config = await minimalConfig({
    connections: [connectionFile({ models: [{ id: "a", ...model }] })],
  });
  const [first] = config.connections[0]?.models ?? [];
  assert.ok(first);
  return known(configuredFacts(first));
}

/** Returns the known facts. */
function known(facts: ModelFacts): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(facts).filter(([, value]) => value !== undefined),
  );
}

Deno.test("configuredFacts() returns only facts of the configuration", async () => {
  assert.deepEqual(await configured({}), {});
});

Deno.test("configuredFacts() treats a list of inputs as complete", async () => {
  assert.deepEqual(await configured({ input: ["text", "pdf"] }), {
    input: { text: true, image: false, pdf: true, audio: false },
  });
});

Deno.test("configuredFacts() treats an empty list of efforts as no reasoning", async () => {
  assert.deepEqual(await configured({ reasoning: [] }), {
    reasons: false,
    efforts: [],
  });
  assert.deepEqual(await configured({ reasoning: ["low"] }), {
    reasons: true,
    efforts: ["low"],
  });
});

Deno.test("configuredFacts() returns the configured names and sizes", async () => {
  assert.deepEqual(
    await configured({
      display_name: "A",
      context_window: 10,
      max_output_tokens: "5",
    }),
    { displayName: "A", contextWindow: 10, maxOutputTokens: 5 },
  );
});

Deno.test("preferFirst() fills the gaps of the first source from the second", () => {
  assert.deepEqual(
    preferFirst(
      { displayName: undefined, contextWindow: 1, reasons: false },
      { displayName: "A", contextWindow: 2, createdMs: 3, reasons: true },
    ),
    { displayName: "A", contextWindow: 1, createdMs: 3, reasons: false },
  );
});

Deno.test("holdsForBoth() returns the smaller sizes and the common abilities", () => {
  const one: ModelFacts = {
    displayName: "A",
    contextWindow: 10,
    maxOutputTokens: 4,
    input: { text: true, image: true },
    callsTools: true,
    reasons: true,
    efforts: ["low", "high"],
  };
  const other: ModelFacts = {
    displayName: "B",
    createdMs: 1,
    contextWindow: 9,
    maxOutputTokens: 5,
    input: { text: true, image: false, audio: true },
    callsTools: false,
    reasons: true,
    efforts: ["high", "max"],
  };
  assert.deepEqual(known(holdsForBoth(one, other)), {
    displayName: "A",
    createdMs: 1,
    contextWindow: 9,
    maxOutputTokens: 4,
    input: { text: true, image: false, audio: true },
    callsTools: false,
    reasons: true,
    efforts: ["high"],
  });
});

Deno.test("holdsForBoth() uses a fact that only one source has", () => {
  const one: ModelFacts = {
    contextWindow: 10,
    input: { text: true },
    efforts: ["low"],
    reasons: true,
    callsTools: true,
  };
  assert.deepEqual(known(holdsForBoth(one, {})), known(one));
  assert.deepEqual(known(holdsForBoth({}, one)), known(one));
  assert.deepEqual(known(holdsForBoth({}, {})), {});
});
