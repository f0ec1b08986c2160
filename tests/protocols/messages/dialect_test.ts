import assert from "node:assert/strict";
import { parseClaudeModel } from "../../../src/protocols/dialects/claude_models.ts";
import { dialectOf } from "../../../src/protocols/messages/dialect.ts";

const NEWEST = 9999;

Deno.test("parseClaudeModel() reads the ids of every provider", () => {
  const ids: [string, string, number][] = [
    ["claude-3-haiku-20240307", "haiku", 300],
    ["claude-3-5-sonnet-20241022", "sonnet", 305],
    ["claude-3-7-sonnet-latest", "sonnet", 307],
    ["claude-opus-4-20250514", "opus", 400],
    ["claude-sonnet-4-0", "sonnet", 400],
    ["claude-opus-4-1", "opus", 401],
    ["claude-haiku-4-5-20251001", "haiku", 405],
    ["anthropic/claude-haiku-4.5", "haiku", 405],
    ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "sonnet", 405],
    ["claude-opus-4-6@20260101", "opus", 406],
    ["Claude-Opus-5", "opus", 500],
    ["claude-fable-5-2", "fable", 502],
    ["claude-mythos-preview", "mythos", NEWEST],
    ["claude-next", "other", NEWEST],
  ];
  for (const [id, family, version] of ids) {
    assert.deepEqual(parseClaudeModel(id), { family, version }, id);
  }
  assert.equal(parseClaudeModel("glm-5"), undefined);
});

Deno.test("dialectOf() recognizes what each generation writes at most", () => {
  const most: Record<string, number | undefined> = {
    "claude-3-haiku": 4096,
    "claude-3-5-haiku": 8192,
    "claude-3-7-sonnet": 64_000,
    "claude-opus-4-1": 32_000,
    "claude-opus-4-5": 64_000,
    "claude-sonnet-4-5": 64_000,
    "claude-sonnet-4-6": 128_000,
    "claude-opus-6": 128_000,
    "kimi-k3": undefined,
  };
  for (const [model, tokens] of Object.entries(most)) {
    assert.equal(
      dialectOf({ service: "custom", model }).maxOutputTokens,
      tokens,
      model,
    );
  }
});

Deno.test("dialectOf() recognizes which models can be forced and which can stop thinking", () => {
  const rules: Record<string, [string, string | undefined]> = {
    "claude-opus-4-8": ["without_thinking", "disabled"],
    "claude-haiku-5-5": ["without_thinking", "disabled"],
    "claude-sonnet-5-5": ["never", "between_tools"],
    "claude-opus-5-5": ["never", undefined],
    "claude-fable-5": ["never", undefined],
    "claude-next": ["never", undefined],
    "deepseek-chat": ["always", "disabled"],
  };
  for (const [model, [forcedTools, thinkingOff]] of Object.entries(rules)) {
    const dialect = dialectOf({ service: "custom", model });
    assert.equal(dialect.forcedTools, forcedTools, model);
    assert.equal(dialect.thinkingOff, thinkingOff, model);
  }
});

Deno.test("dialectOf() leaves the rules of a model to another gateway", () => {
  const dialect = dialectOf({ service: "gateway", model: "claude-3-haiku" });
  assert.equal(dialect.thinking, "as_given");
  assert.equal(dialect.maxOutputTokens, undefined);
});
