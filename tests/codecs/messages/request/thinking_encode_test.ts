import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import type {
  CanonicalRequest,
  ReasoningSettings,
} from "../../../../src/codecs/canonical/request/request.ts";
import { encodeRequest } from "../../../../src/codecs/messages/request/encode.ts";
import { requestOf } from "../../../support/wire/requests.ts";
import { contextFor } from "../../../support/dialects/targets.ts";

const OLD = "claude-3-5-haiku-20241022";
const BUDGET = "claude-haiku-4-5";
const EITHER = "claude-opus-4-6";
const ADAPTIVE = "claude-opus-4-8";
const BETWEEN = "claude-sonnet-5-5";
const ALWAYS = "claude-fable-5-1";
const OPEN = "glm-5";

/**
 * Returns the reasoning fields of a request: the config, the effort, the limit, and the dropped
 * fields.
 */
function think(
  reasoning: ReasoningSettings | undefined,
  model: string,
  fields: Partial<CanonicalRequest> = {},
): unknown[] {
  const { context, lost } = contextFor("custom", { model });
  const request = requestOf({ reasoning, maxOutputTokens: 10_000, ...fields });
  const { thinking, output_config, max_tokens } = encodeRequest(
    request,
    context,
  );
  return [thinking, effortOf(output_config), max_tokens, ...lost];
}

function effortOf(config: JsonObject["output_config"]): unknown {
  return typeof config === "object" && config !== null && "effort" in config
    ? config.effort
    : undefined;
}

const enabled = (budget_tokens: number, display?: string) => ({
  type: "enabled",
  budget_tokens,
  ...(display === undefined ? {} : { display }),
});
const adaptive = (display?: string) => ({
  type: "adaptive",
  ...(display === undefined ? {} : { display }),
});

Deno.test("encodeRequest() writes no thinking for a request without reasoning settings", () => {
  for (const model of [OLD, BUDGET, EITHER, ADAPTIVE, ALWAYS, OPEN]) {
    const maximum = model === OLD ? 8192 : 10_000;
    assert.deepEqual(think(undefined, model).slice(0, 3), [
      undefined,
      undefined,
      maximum,
    ]);
    assert.equal(think({ summary: "auto" }, model)[0], undefined);
  }
});

Deno.test("encodeRequest() writes an effort as visible thinking, in the model's form", () => {
  const effort = { effort: "high" } as const;
  assert.deepEqual(think(effort, BUDGET), [
    enabled(6000, "summarized"),
    undefined,
    10_000,
  ]);
  assert.deepEqual(think(effort, EITHER), [
    adaptive("summarized"),
    "high",
    10_000,
  ]);
  assert.deepEqual(think(effort, ADAPTIVE), [
    adaptive("summarized"),
    "high",
    10_000,
  ]);
  assert.deepEqual(think(effort, OPEN), [
    enabled(6000, "summarized"),
    undefined,
    10_000,
  ]);
  assert.deepEqual(think(effort, OLD, { maxOutputTokens: 100 }), [
    undefined,
    undefined,
    100,
    "reasoning report",
  ]);
});

Deno.test("encodeRequest() replaces an unsupported effort by the nearest supported one", () => {
  assert.equal(think({ effort: "minimal" }, ADAPTIVE)[1], "low");
  assert.equal(think({ effort: "xhigh" }, ADAPTIVE)[1], "xhigh");
  assert.deepEqual(think({ effort: "xhigh" }, EITHER).slice(1), [
    "high",
    10_000,
    "reasoning report",
  ]);
  assert.equal(think({ effort: "max" }, EITHER)[1], "max");
  assert.deepEqual(
    think(
      { mode: "budget", budgetTokens: 2000, effort: "max" },
      "claude-opus-4-5",
    )
      .slice(1),
    ["high", 10_000, "reasoning report"],
  );
});

Deno.test("encodeRequest() writes a budget for a model with budgets", () => {
  const budget = {
    mode: "budget",
    budgetTokens: 4000,
    summary: "none",
  } as const;
  assert.deepEqual(think(budget, BUDGET), [
    enabled(4000, "omitted"),
    undefined,
    10_000,
  ]);
  assert.deepEqual(think(budget, EITHER)[0], enabled(4000, "omitted"));
  assert.deepEqual(think(budget, OPEN)[0], enabled(4000, "omitted"));
});

Deno.test("encodeRequest() turns a budget into an effort for a model without budgets", () => {
  const budget = { mode: "budget", budgetTokens: 4000 } as const;
  for (const model of [ADAPTIVE, BETWEEN, ALWAYS]) {
    const [config, effort, , ...lost] = think(budget, model);
    assert.deepEqual([config, effort], [adaptive(), "low"]);
    assert.deepEqual(lost, []);
  }
});

Deno.test("encodeRequest() writes adaptive thinking as a budget for a model with only budgets", () => {
  assert.deepEqual(think({ mode: "adaptive" }, BUDGET), [
    enabled(3000),
    undefined,
    10_000,
  ]);
  assert.deepEqual(think({ mode: "adaptive" }, OPEN)[0], adaptive());
  assert.deepEqual(
    think({ mode: "adaptive", summary: "detailed" }, ADAPTIVE)[0],
    adaptive("summarized"),
  );
});

Deno.test("encodeRequest() raises an output limit below the budget, up to the model's limit", () => {
  const budget = { mode: "budget", budgetTokens: 2000 } as const;
  assert.deepEqual(think(budget, BUDGET, { maxOutputTokens: 500 }), [
    enabled(2000),
    undefined,
    2500,
  ]);
  assert.deepEqual(
    think({ mode: "budget", budgetTokens: 100_000 }, BUDGET),
    [enabled(63_999), undefined, 64_000],
  );
  assert.deepEqual(
    think({ mode: "budget", budgetTokens: 10 }, BUDGET)[0],
    enabled(1024),
  );
  const { context, lost } = contextFor("custom", {
    model: BUDGET,
    maxOutputTokens: 800,
  });
  const body = encodeRequest(requestOf({ reasoning: budget }), context);
  assert.deepEqual([body.thinking, body.max_tokens, ...lost], [
    { type: "disabled" },
    800,
    "reasoning report",
  ]);
});

Deno.test("encodeRequest() writes the least thinking of the model for `off`", () => {
  const off = { mode: "off" } as const;
  assert.deepEqual(think(off, BUDGET)[0], { type: "disabled" });
  assert.deepEqual(think(off, ADAPTIVE)[0], { type: "disabled" });
  assert.deepEqual(think(off, OPEN)[0], { type: "disabled" });
  assert.deepEqual(think(off, BETWEEN)[0], { type: "between_tools" });
  assert.deepEqual(think(off, OLD, { maxOutputTokens: 100 }), [
    undefined,
    undefined,
    100,
  ]);
  assert.deepEqual(think(off, ALWAYS), [
    undefined,
    "low",
    10_000,
    "reasoning report",
  ]);
  assert.equal(think({ mode: "off", effort: "max" }, ADAPTIVE)[1], "high");
});

Deno.test("encodeRequest() writes thinking between tools for a model that supports it", () => {
  const between = { mode: "between_tools", summary: "auto" } as const;
  assert.deepEqual(think(between, BETWEEN)[0], { type: "between_tools" });
  assert.deepEqual(think(between, OPEN)[0], { type: "between_tools" });
  assert.deepEqual(think(between, ADAPTIVE)[0], adaptive("summarized"));
  assert.deepEqual(think(between, BUDGET)[0], enabled(3000, "summarized"));
});

Deno.test("encodeRequest() asks Claude to drop mismatched thinking only with adaptive thinking", () => {
  // https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks
  const thinkAtAnthropic = (reasoning?: ReasoningSettings) => {
    const { context } = contextFor("anthropic", {
      model: BETWEEN,
      endpoints: { messages: "https://api.anthropic.com/v1" },
    });
    return encodeRequest(requestOf({ reasoning }), context).thinking;
  };
  const dropping = {
    type: "adaptive",
    block_binding: { prefix_mismatch_behavior: "drop_block" },
  };
  assert.deepEqual(thinkAtAnthropic(), dropping);
  assert.deepEqual(thinkAtAnthropic({ mode: "adaptive" }), dropping);
  for (const mode of ["off", "between_tools"] as const) {
    assert.deepEqual(thinkAtAnthropic({ mode }), { type: "between_tools" });
  }
});

const TOOLS = [{ kind: "function", name: "f" }] as const;

Deno.test("encodeRequest() switches thinking off for a forced tool if the model cannot do both", () => {
  const fields: Partial<CanonicalRequest> = {
    tools: TOOLS,
    toolChoice: { type: "required" },
  };
  assert.deepEqual(think({ effort: "high" }, BUDGET, fields), [
    { type: "disabled" },
    undefined,
    10_000,
    "reasoning report",
  ]);
  assert.deepEqual(
    think({ effort: "high" }, OPEN, fields)[0],
    enabled(6000, "summarized"),
  );
});

Deno.test("encodeRequest() writes no budget in a tool loop without the earlier thinking", () => {
  const call = {
    kind: "function_call",
    id: "x",
    name: "f",
    arguments: "{}",
  } as const;
  const result = {
    kind: "tool_result",
    callId: "x",
    callKind: "function",
    content: [],
    isError: false,
  } as const;
  const loop = (sealed: boolean): Partial<CanonicalRequest> => ({
    tools: TOOLS,
    turns: [
      { role: "user", blocks: [{ kind: "text", text: "a" }] },
      {
        role: "assistant",
        blocks: sealed
          ? [{
            kind: "reasoning",
            parts: [],
            sealed: { protocol: "messages", form: "signature", value: "s" },
          }, call]
          : [call],
      },
      { role: "tool", blocks: [result] },
    ],
  });
  const effort = { effort: "high" } as const;
  assert.deepEqual(
    think(effort, BUDGET, loop(true))[0],
    enabled(6000, "summarized"),
  );
  assert.deepEqual(think(effort, BUDGET, loop(false)), [
    { type: "disabled" },
    undefined,
    10_000,
    "reasoning report",
  ]);
  assert.deepEqual(
    think(effort, ADAPTIVE, loop(false))[0],
    adaptive("summarized"),
  );
  assert.deepEqual(
    think(effort, OPEN, loop(false))[0],
    enabled(6000, "summarized"),
  );
});
