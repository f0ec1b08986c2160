import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/core/json.ts";
import { createRandom } from "../../support/fakes/random.ts";
import { ALICE_TOKEN } from "../../support/gateway/config.ts";
import {
  assertNeverRefused,
  MODEL,
  objects,
  type Place,
  type Scene,
  sceneOf,
} from "../../support/gateway/preserving_scene.ts";
import { responseOfSdk } from "../../support/sdk/sdk_answers.ts";
import type { Said } from "../../support/upstream/preserving_provider.ts";

// Codex on a Claude that binds its thinking to what precedes it, as in preserved_thinking_test.ts.
// Codex sends back each item of an answer without its id, so the envelopes need no memory.

/** An agent that sends what Codex sends. */
interface Codex {
  instructions: string;
  tools: string[];
  model: string;
  readonly input: JsonObject[];
  turn(): Promise<void>;
  turns(count: number): Promise<void>;
}

function codexOf(scene: Scene, isStream: boolean): Codex {
  const codex: Codex = {
    instructions: "You work.",
    tools: ["look", "write"],
    model: MODEL,
    input: [{ role: "developer", content: "In /work." }, user("Work")],
    async turn() {
      const response = await scene.fetch("http://gateway.test/v1/responses", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          authorization: `Bearer ${ALICE_TOKEN}`,
        },
        body: JSON.stringify({
          model: codex.model,
          stream: isStream,
          store: false,
          include: ["reasoning.encrypted_content"],
          prompt_cache_key: "thread-1",
          reasoning: { effort: "medium", summary: "auto" },
          instructions: codex.instructions,
          input: codex.input,
          tools: codex.tools.map((name) => ({
            type: "function",
            name,
            parameters: { type: "object", properties: {} },
          })),
        }),
      });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      const { output } = isStream
        ? await responseOfSdk(text)
        : JSON.parse(text);
      const items = objects(JSON.parse(JSON.stringify(output)));
      for (const { id: _id, status: _status, ...item } of items) {
        codex.input.push(item);
      }
      for (const { type, call_id = "" } of items) {
        if (type !== "function_call") continue;
        const output = `result of ${call_id}`;
        codex.input.push({ type: "function_call_output", call_id, output });
      }
    },
    async turns(count) {
      for (let turn = 0; turn < count; turn++) await codex.turn();
    },
  };
  return codex;
}

function user(content: string): JsonObject {
  return { role: "user", content };
}

const PLACES: readonly Place[] = ["own", "custom"];

for (const place of PLACES) {
  for (const isStream of [false, true]) {
    const how = `${place}, ${isStream ? "streamed" : "whole"}`;

    Deno.test(`Codex keeps all of Claude's thinking, over a restart too (${how})`, async () => {
      const scene = await sceneOf({}, { place });
      const codex = codexOf(scene, isStream);
      await codex.turns(3);
      scene.restart();
      await codex.turn();
      assert.deepEqual(scene.provider.thoughts(), ["t1", "t2", "t3"]);
      assertNeverRefused(scene);
    });

    Deno.test(`Codex continues with Claude's thinking after a change of its instructions, tools or history (${how})`, async () => {
      const scene = await sceneOf({}, { place });
      const codex = codexOf(scene, isStream);
      await codex.turns(2);
      codex.instructions = "You plan.";
      await codex.turns(2);
      assert.deepEqual(scene.provider.thoughts(), ["t3"]);
      codex.tools.push("search");
      await codex.turns(2);
      assert.deepEqual(scene.provider.thoughts(), ["t5"]);
      // A summary in the place of everything before it, as Codex compacts.
      codex.input.splice(0, codex.input.length, user("So far: all."));
      await codex.turns(2);
      assert.deepEqual(scene.provider.thoughts(), ["t7"]);
      assertNeverRefused(scene);
    });
  }
}

const SHAPES: readonly (readonly Said[])[] = [
  [{ thinking: "Look." }, { call: "look" }],
  [{ thinking: "" }, { text: "I look." }, { call: "look" }, { call: "write" }],
  [{ thinking: "A." }, { redacted: true }, { call: "write" }],
  [{ thinking: "A." }, { call: "look" }, { thinking: "B." }, { call: "write" }],
  [{ thinking: "A." }, { text: "One." }, { thinking: "B." }, { text: "Two." }, {
    call: "look",
  }],
  [{ call: "look" }],
  [{ thinking: "Enough." }, { text: "Done." }],
  [{ text: "Done." }],
];

Deno.test("Codex's request is never rejected after any change of its history", async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const { below, pick } = createRandom(seed);
    const scene = await sceneOf(
      { answer: () => pick(SHAPES), checks: (model) => model === MODEL },
      { place: pick(PLACES) },
    );
    const codex = codexOf(scene, below(2) === 0);
    const acts: readonly (() => void)[] = [
      () => codex.instructions = `You work. It is day ${below(2)}.`,
      () => codex.tools = pick([["look", "write"], ["write"], ["look"]]),
      () => codex.input.push({ role: "developer", content: "Be quick." }),
      () => codex.model = pick([MODEL, MODEL, "claude-opus-5"]),
      () => codex.input.splice(below(codex.input.length), 1),
      () => {
        const item = pick(codex.input);
        if (item.type === "reasoning") item.summary = [];
      },
      scene.restart,
      scene.swap,
    ];
    for (let turn = 0; turn < 12; turn++) {
      if (below(3) === 0) pick(acts)();
      if (codex.input.at(-1)?.type === "message") codex.input.push(user("On"));
      await codex.turn();
    }
    assertNeverRefused(scene);
  }
});
