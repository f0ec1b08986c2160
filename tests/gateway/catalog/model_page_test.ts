import assert from "node:assert/strict";
import {
  type ModelPage,
  readModelPage,
} from "../../../src/gateway/catalog/model_page.ts";
import { type JsonValue, listOf } from "../../../src/base/json.ts";
import { steps } from "../../support/steps.ts";
import { yamlObject } from "../../support/yaml.ts";

/** A set that contains every model. */
const ANY = Object.assign(new Set<string>(), { has: () => true });

function pageOf(body: JsonValue, wanted: ReadonlySet<string> = ANY): ModelPage {
  const page = readModelPage(body, wanted);
  assert.ok(page);
  return page;
}

/** Returns the known facts of an entry. */
function factsOf(entry: JsonValue): Record<string, unknown> {
  const [facts] = pageOf({ data: [entry] }).models.values();
  assert.ok(facts);
  return Object.fromEntries(
    Object.entries(facts).filter(([, value]) => value !== undefined),
  );
}

/** Entries in each provider's documented form, with their facts. */
const ENTRIES = yamlObject(`
OpenAI: [{ id: gpt-5.5, object: model, created: 1776000000, owned_by: o }, { createdMs: 1776000000000 }]
Anthropic:
- type: model
  id: claude-haiku-4-5
  display_name: "Claude Haiku 4.5"
  created_at: "2025-10-15T00:00:00Z"
  max_input_tokens: 200000
  max_tokens: 64000
  lifecycle: active
  capabilities:
    batch: { supported: true }
    citations: { supported: true }
    context_management: { supported: true, compact_20260112: null }
    effort: { supported: true, low: { supported: true }, medium: { supported: true }, high: { supported: false }, max: { supported: false }, xhigh: null }
    image_input: { supported: true }
    pdf_input: { supported: false }
    thinking: { supported: true, types: { enabled: { supported: true }, adaptive: { supported: false } } }
- displayName: "Claude Haiku 4.5"
  createdMs: 1760486400000
  contextWindow: 200000
  maxOutputTokens: 64000
  input: { text: true, image: true, pdf: false }
  reasons: true
  efforts: [low, medium]
  capabilities:
    citations: { supported: true }
    context_management: { supported: true, compact_20260112: null }
    effort: { supported: true, low: { supported: true }, medium: { supported: true }, high: { supported: false }, max: { supported: false }, xhigh: null }
    image_input: { supported: true }
    pdf_input: { supported: false }
    thinking: { supported: true, types: { enabled: { supported: true }, adaptive: { supported: false } } }
OpenRouter:
- id: "z-ai/glm-5.1"
  name: "Z.AI: GLM 5.1"
  created: 1770000000
  context_length: 202752
  architecture: { modality: "text+image+file->text", input_modalities: [text, image, file] }
  top_provider: { context_length: 131072, max_completion_tokens: 65536, is_moderated: false }
  supported_parameters: [max_tokens, reasoning, tools]
  reasoning: { mandatory: false, supported_efforts: [high, low] }
  pricing: { prompt: "0.0000006" }
- displayName: "Z.AI: GLM 5.1"
  createdMs: 1770000000000
  contextWindow: 202752
  maxOutputTokens: 65536
  input: { text: true, image: true, pdf: true, audio: false }
  callsTools: true
  reasons: true
  efforts: [high, low]
"OpenRouter, of a plain model":
- { id: "a/b", name: B, architecture: { input_modalities: [text] }, top_provider: { context_length: 8192, max_completion_tokens: null }, supported_parameters: [temperature] }
- { displayName: B, contextWindow: 8192, input: { text: true, image: false, pdf: false, audio: false }, callsTools: false, reasons: false }
Mistral:
- id: mistral-medium-latest
  object: model
  created: 1770000000
  owned_by: mistralai
  name: mistral-medium-2508
  max_context_length: 131072
  capabilities: { completion_chat: true, function_calling: true, vision: true, reasoning: false }
- { displayName: mistral-medium-2508, createdMs: 1770000000000, contextWindow: 131072, input: { text: true, image: true }, callsTools: true, reasons: false }
Groq:
- { id: "openai/gpt-oss-120b", object: model, created: 1754408224, active: true, context_window: 131072, max_completion_tokens: 65536 }
- { createdMs: 1754408224000, contextWindow: 131072, maxOutputTokens: 65536 }
Moonshot:
- { id: kimi-k2.6, object: model, created: 1700000000, context_length: 262144, supports_image_in: true, supports_video_in: true, supports_reasoning: true }
- { createdMs: 1700000000000, contextWindow: 262144, input: { text: true, image: true }, reasons: true }
vLLM: [{ id: qwen, object: model, max_model_len: 40960 }, { contextWindow: 40960 }]
DeepSeek: [{ id: deepseek-chat, object: model, owned_by: d }, {}]
`);

Deno.test("readModelPage() reads each provider's facts about a model", async (t) => {
  await steps(t, Object.entries(ENTRIES), ([, rows]) => {
    const [entry = null, facts] = listOf(rows);
    assert.deepEqual(factsOf(entry), facts);
  });
});

Deno.test("readModelPage() reads Google's list with models named by path", () => {
  const page = pageOf({
    models: [{
      name: "models/gemini-3-pro",
      displayName: "Gemini 3 Pro",
      inputTokenLimit: 1_048_576,
      outputTokenLimit: 65_536,
      thinking: true,
    }],
    nextPageToken: "more",
  });
  const facts = page.models.get("gemini-3-pro");
  assert.equal(facts?.displayName, "Gemini 3 Pro");
  assert.equal(facts?.contextWindow, 1_048_576);
  assert.equal(facts?.maxOutputTokens, 65_536);
  assert.equal(facts?.reasons, true);
  assert.deepEqual(page.next, { pageToken: "more" });
});

Deno.test("readModelPage() keeps whole entries of Codex's catalog", () => {
  const entry = {
    slug: "gpt-6-sol",
    display_name: "GPT-6-Sol",
    context_window: 272_000,
    input_modalities: ["text", "image"],
    supported_reasoning_levels: [{ effort: "low", description: "Fast" }],
    base_instructions: "You are",
    something_new: { a: 1 },
  };
  const facts = pageOf({ models: [entry] }).models.get("gpt-6-sol");
  assert.deepEqual(facts?.codexEntry, entry);
  assert.equal(facts?.contextWindow, 272_000);
  assert.deepEqual(facts?.efforts, ["low"]);
  assert.equal(facts?.input?.image, true);
});

Deno.test("readModelPage() reads a bare array", () => {
  const page = pageOf([{ id: "a", context_length: 5 }]);
  assert.equal(page.models.get("a")?.contextWindow, 5);
  assert.equal(page.next, undefined);
});

Deno.test("readModelPage() finds the next page", () => {
  const next = (page: Record<string, JsonValue>) =>
    pageOf({ data: [{ id: "a" }], ...page }).next;
  assert.deepEqual(next({ has_more: true, last_id: "a" }), { after_id: "a" });
  assert.equal(next({ has_more: false, last_id: "a" }), undefined);
  assert.equal(next({ has_more: true, last_id: null }), undefined);
  assert.deepEqual(next({ links: { next: "https://evil.example/" } }), {
    offset: "read",
  });
  assert.equal(next({ links: { next: null } }), undefined);
  assert.equal(next({}), undefined);
});

Deno.test("readModelPage() rejects a body that is not a list", () => {
  for (const body of [null, 1, "list", {}, { data: {} }, { models: "a" }]) {
    assert.equal(readModelPage(body, ANY), undefined);
  }
});

Deno.test("readModelPage() skips and counts unreadable entries", () => {
  const page = pageOf({ data: [null, 1, {}, { id: 5 }, { id: "a" }] });
  assert.deepEqual([...page.models.keys()], ["a"]);
  assert.equal(page.count, 5);
});

Deno.test("readModelPage() reads only the names of unwanted models", () => {
  const unread = (name: Record<string, JsonValue>) =>
    Object.defineProperty(name, "capabilities", {
      enumerable: true,
      get: () => assert.fail("It has been read"),
    });
  const page = pageOf({
    data: [
      unread({ id: "b" }),
      { id: "a", capabilities: { vision: { supported: true } } },
      unread({ id: "a" }),
      unread({ slug: "c" }),
      unread({ name: "models/d" }),
    ],
  }, new Set(["a"]));
  assert.deepEqual([...page.models.keys()], ["a"]);
  assert.equal(page.count, 5);
});

Deno.test("readModelPage() ignores a display name that is a keyword in a client's settings", () => {
  for (
    const name of [
      "{file:~/.ssh/id_rsa}",
      "{env:OPENAI_API_KEY}",
      "${{ secrets.KEY }}",
      "$HOME",
      "`id`",
      "GPT\u202e5",
    ]
  ) {
    assert.deepEqual(factsOf({ id: "a", display_name: name }), {}, name);
    assert.deepEqual(factsOf({ id: "a", displayName: name }), {}, name);
    assert.deepEqual(factsOf({ id: "a", name }), {}, name);
  }
  const name = 'Claude Opus 4.5 (new): it\'s 50 % "better" & ~faster';
  assert.deepEqual(factsOf({ id: "a", name }), { displayName: name });
});

Deno.test("readModelPage() uses the first of two entries with one name", () => {
  const page = pageOf({
    data: [{ id: "a", context_length: 1 }, { id: "a", context_length: 2 }],
  });
  assert.equal(page.models.get("a")?.contextWindow, 1);
});

Deno.test("readModelPage() omits only the unexpected fields of an entry", () => {
  const bad: Record<string, JsonValue[]> = {
    display_name: [5, "", "two\nlines", "x".repeat(257), {}],
    created: ["soon", -1, 0, 1e15, null],
    created_at: ["yesterday", 5, "1970-01-01T00:00:00Z"],
    context_window: ["128k", -1, 0, 1.5, null, {}],
    top_provider: [5, { context_length: "x" }],
    architecture: [[], { input_modalities: "text" }],
    supported_parameters: ["tools", { tools: true }],
    reasoning: [true, { supported_efforts: null }],
    supported_reasoning_levels: [["low"], [{ effort: 5 }]],
    capabilities: [["tools"], 5, { vision: "yes", effort: 5 }],
  };
  for (const [name, values] of Object.entries(bad)) {
    for (const value of values) {
      const facts = factsOf({ id: "a", max_tokens: 7, [name]: value });
      assert.deepEqual(
        facts,
        { maxOutputTokens: 7 },
        `${name}: ${JSON.stringify(value)}`,
      );
    }
  }
});

Deno.test("readModelPage() copies only booleans from capabilities", () => {
  const { capabilities } = factsOf({
    id: "a",
    capabilities: {
      new_thing: {
        supported: true,
        words: "of the provider",
        "Sk-Key": true,
        types: { one: { two: { three: { supported: true } } } },
      },
      "sk-ant-key": { supported: true },
      vision: true,
    },
  });
  assert.deepEqual(capabilities, {
    new_thing: { supported: true, types: { one: { two: {} } } },
  });
});

Deno.test("readModelPage() ignores an effort that is not a word", () => {
  const { efforts } = factsOf({
    id: "a",
    reasoning: { supported_efforts: ["low", "Very High!", "x-high"] },
  });
  assert.deepEqual(efforts, ["low", "x-high"]);
});

Deno.test("readModelPage() ignores a display name that repeats the id", () => {
  assert.deepEqual(factsOf({ id: "a", display_name: "a" }), {});
});
