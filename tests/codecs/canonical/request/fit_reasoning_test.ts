import assert from "node:assert/strict";
import { type JsonObject, objectOf } from "../../../../src/base/json.ts";
import type { ReasoningAbility } from "../../../../src/codecs/canonical/request/ability.ts";
import { fitReasoning } from "../../../../src/codecs/canonical/request/fit_reasoning.ts";
import { received } from "../../../support/dialects/upstream_request.ts";

// A model's reasoning is fitted in one place. These tests hold that place to the same answer in every protocol.

const ALWAYS: ReasoningAbility = {
  byDefault: true,
  modes: [],
  efforts: ["low", "high"],
  least: "low",
};

function fitted(
  ability: ReasoningAbility,
  needs: Partial<Parameters<typeof fitReasoning>[0]> = {},
) {
  const lost: string[] = [];
  const { isOn, ...settings } = fitReasoning(
    { settings: undefined, isForced: false, hasTools: false, ...needs },
    ability,
    { reportDropped: (_field, reason) => lost.push(reason) },
  );
  return { settings, isOn, lost };
}

Deno.test("fitReasoning() sets nothing for a request without settings", () => {
  for (const byDefault of [true, false, undefined]) {
    assert.deepEqual(fitted({ ...ALWAYS, byDefault }), {
      settings: {},
      isOn: byDefault,
      lost: [],
    });
  }
});

Deno.test("fitReasoning() sets and reports the lowest effort for a model that always reasons", () => {
  assert.deepEqual(fitted(ALWAYS, { settings: { mode: "off" } }), {
    settings: { effort: "low" },
    isOn: true,
    lost: ["this model always reasons"],
  });
});

Deno.test("fitReasoning() sets and reports nothing when reasoning is off for a model without reasoning settings", () => {
  const ability = { byDefault: undefined, modes: [], efforts: [] };
  const { settings, lost } = fitted(ability, { settings: { mode: "off" } });
  assert.deepEqual([settings, lost], [{}, []]);
  assert.deepEqual(
    fitted(ability, { settings: { effort: "high" } }).lost,
    ["this model's reasoning cannot be changed"],
  );
});

Deno.test("fitReasoning() switches reasoning off beside tools if the model cannot do both and has an effort `none`", () => {
  const bars = ["tools"] as const;
  const needs = { settings: { effort: "high" }, hasTools: true } as const;
  assert.deepEqual(
    fitted({ ...ALWAYS, efforts: ["none", "high"], bars }, needs).settings,
    { effort: "none" },
  );
  const { settings, isOn, lost } = fitted({ ...ALWAYS, bars }, needs);
  assert.deepEqual([settings, isOn, lost.length], [{}, true, 1]);
});

/** The same wish, as a caller of Responses has it, at one model over several protocols and services. */
const ALIKE: readonly (readonly [
  wish: JsonObject,
  targets: readonly string[],
  effort: string | undefined,
  isNamed: boolean,
])[] = [
  // "Model X does not support parameter reasoningEffort": the table of efforts holds in both protocols.
  [
    { effort: "high" },
    ["chat xai grok-4", "responses xai grok-4"],
    undefined,
    true,
  ],
  [
    { effort: "none" },
    ["chat xai grok-4", "responses xai grok-4"],
    undefined,
    false,
  ],
  [
    { effort: "medium" },
    ["chat xai grok-3-mini", "responses xai grok-3-mini"],
    "high",
    true,
  ],
  [
    { effort: "none" },
    ["chat xai grok-4.5", "responses xai grok-4.5"],
    "low",
    true,
  ],
  [
    { effort: "none" },
    ["chat openai-chat gpt-5-pro", "responses openai gpt-5-pro"],
    "high",
    true,
  ],
  // The provider's own word for an effort is no loss: "minimal (reasoning disabled)", "none or default".
  [
    { effort: "none" },
    ["chat volcengine doubao-seed-2-0-code"],
    "minimal",
    false,
  ],
  [{ effort: "high" }, ["chat groq qwen/qwen3-32b"], "default", false],
];

for (const [wish, targets, effort, isNamed] of ALIKE) {
  Deno.test(`${targets.join(" and ")} get ${effort ?? "nothing"} for ${JSON.stringify(wish)}`, () => {
    for (const target of targets) {
      const { body, dropped } = received("responses", target, {
        reasoning: wish,
      });
      const inner = objectOf(body.reasoning);
      assert.equal(body.reasoning_effort ?? inner.effort, effort, target);
      assert.deepEqual(dropped, isNamed ? ["reasoning"] : [], target);
    }
  });
}

Deno.test("reasoning without an effort or budget becomes an OpenAI model's default effort, in both protocols", () => {
  const thinking = { type: "adaptive" };
  const rows = { "gpt-5": "medium", "gpt-5-pro": "high", "o3": "medium" };
  for (const [model, effort] of Object.entries(rows)) {
    const chat = received("messages", `chat openai ${model}`, { thinking });
    const responses = received("messages", `responses openai ${model}`, {
      thinking,
    });
    assert.equal(chat.body.reasoning_effort, effort, model);
    assert.deepEqual(responses.body.reasoning, { effort }, model);
    assert.deepEqual([chat.dropped, responses.dropped], [[], []], model);
  }
});

Deno.test("reasoning without an effort or budget becomes the effort `medium` if the model may not reason by default", () => {
  const thinking = { type: "adaptive" };
  for (const target of ["openai gpt-5.1", "gateway my-model"]) {
    const chat = received("messages", `chat ${target}`, { thinking });
    const responses = received("messages", `responses ${target}`, { thinking });
    assert.equal(chat.body.reasoning_effort, "medium", target);
    assert.deepEqual(responses.body.reasoning, { effort: "medium" }, target);
  }
});

Deno.test("a request for only a summary switches reasoning on at no provider", () => {
  for (
    const target of [
      "chat openrouter z-ai/glm-5",
      "chat custom my-model",
      "chat groq llama-3.3-70b-versatile",
      "messages anthropic claude-opus-5",
    ]
  ) {
    const { body, dropped } = received("responses", target, {
      reasoning: { summary: "auto" },
    });
    assert.equal(body.reasoning, undefined, target);
    assert.equal(body.reasoning_effort, undefined, target);
    assert.equal(body.thinking, undefined, target);
    assert.deepEqual(dropped, [], target);
  }
});
