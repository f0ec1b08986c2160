import assert from "node:assert/strict";
import { randomIds } from "../../src/base/ids.ts";
import type { JsonObject } from "../../src/base/json.ts";
import { systemClock } from "../../src/base/time/timers.ts";
import { received } from "../support/dialects/upstream_request.ts";
import { createRandom, type Random } from "../support/fakes/random.ts";
import { assertSendable } from "../support/sdk/messages_rules.ts";
import { createStrictProvider } from "../support/upstream/strict_provider/mod.ts";

// Random conversations of Codex on Claude and of Claude Code on OpenAI, with every kind of item and
// block, and with calls and results in any order. The provider must accept each, and the model must
// read every text and see every picture, once.

const ROUNDS = 500;

const PICTURE = "iVBORw0KGgo=";

/** Makes conversations in which no two texts are equal. */
class Words {
  readonly said: string[] = [];
  pictures = 0;

  next(): string {
    const word = `word${this.said.length}.`;
    this.said.push(word);
    return word;
  }

  picture(): string {
    this.pictures++;
    return `data:image/png;base64,${PICTURE}`;
  }
}

type Make = (random: Random, words: Words, id: string) => JsonObject[];

function inputParts(random: Random, words: Words): JsonObject[] {
  return Array.from(
    { length: 1 + random.below(3) },
    () =>
      random.below(4) === 0
        ? {
          type: "input_image",
          image_url: words.picture(),
          detail: random.pick(["auto", "original"]),
        }
        : { type: "input_text", text: words.next() },
  );
}

/** The items of Codex, each a message or a call with its result. */
const ITEMS: readonly Make[] = [
  (random, words) => [{
    type: "message",
    role: "user",
    content: inputParts(random, words),
  }],
  (random, words) => [{
    type: "message",
    role: random.pick(["developer", "system"]),
    content: [{ type: "input_text", text: words.next() }],
  }],
  (_random, words) => [{
    type: "message",
    role: "assistant",
    phase: "commentary",
    content: [{ type: "output_text", text: words.next() }],
  }],
  () => [{ type: "reasoning", summary: [], encrypted_content: "gAAAA" }],
  (_random, words) => [{
    type: "agent_message",
    author: "/root",
    recipient: "/root/worker",
    content: [{ type: "encrypted_content", encrypted_content: words.next() }],
  }],
  () => [{
    type: "web_search_call",
    status: "completed",
    action: { type: "search", query: "q" },
  }],
  (random, words, id) => [
    {
      type: "function_call",
      call_id: id,
      name: "exec_command",
      arguments: random.pick(["{}", "", '{"cmd":"ls"}', "not JSON"]),
    },
    {
      type: "function_call_output",
      call_id: id,
      output: random.below(3) === 0 ? words.next() : inputParts(random, words),
    },
  ],
  (_random, words, id) => [
    {
      type: "custom_tool_call",
      call_id: id,
      name: "apply_patch",
      input: "*** Begin Patch",
    },
    { type: "custom_tool_call_output", call_id: id, output: words.next() },
  ],
  (_random, words, id) => [
    {
      type: "function_call",
      call_id: id,
      namespace: "mcp__docs",
      name: "find page",
      arguments: "{}",
    },
    { type: "function_call_output", call_id: id, output: words.next() },
  ],
  (_random, words, id) => [
    {
      type: "local_shell_call",
      call_id: id,
      status: "completed",
      action: { type: "exec", command: ["ls"], env: {} },
    },
    { type: "local_shell_call_output", call_id: id, output: words.next() },
  ],
  (_random, _words, id) => [
    {
      type: "tool_search_call",
      call_id: id,
      execution: "client",
      arguments: { query: "q" },
    },
    {
      type: "tool_search_output",
      call_id: id,
      execution: "client",
      tools: [{ type: "function", name: "loaded", parameters: {} }],
    },
  ],
];

const CODEX_TOOLS: readonly JsonObject[] = [
  {
    type: "function",
    name: "exec_command",
    strict: false,
    parameters: { type: "object", properties: { cmd: { type: "string" } } },
  },
  {
    type: "custom",
    name: "apply_patch",
    format: { type: "grammar", syntax: "lark", definition: "start: /.+/" },
  },
  {
    type: "namespace",
    name: "mcp__docs",
    description: "Docs",
    tools: [{ type: "function", name: "find page", parameters: {} }],
  },
  { type: "local_shell" },
  { type: "tool_search", execution: "client" },
  { type: "web_search", external_web_access: true },
];

/** Shuffles calls, results and messages. Each result stays after its call. */
function conversation(
  kinds: readonly Make[],
  random: Random,
  words: Words,
): JsonObject[] {
  const items: JsonObject[] = [];
  const late: JsonObject[] = [];
  const length = 1 + random.below(12);
  for (let place = 0; place < length; place++) {
    const [item, result] = random.pick(kinds)(random, words, `c.${place}`);
    if (item !== undefined) items.push(item);
    // A twelfth of the calls was interrupted.
    if (result !== undefined && random.below(12) > 0) late.push(result);
    while (late.length > 0 && random.below(3) > 0) {
      items.push(...late.splice(0, 1));
    }
  }
  return [...items, ...late];
}

/** Asserts that the body contains each text of its items exactly once. */
function assertWhole(sent: unknown, asked: unknown, why: string): void {
  const text = JSON.stringify(sent);
  const words = JSON.stringify(asked).match(/word\d+\./g) ?? [];
  const found: readonly string[] = text.match(/word\d+\./g) ?? [];
  assert.deepEqual([...found].sort(), [...words].sort(), why);
  const pictures = (value: string) => value.split(PICTURE).length - 1;
  assert.equal(pictures(text), pictures(JSON.stringify(asked)), why);
}

for (
  const model of [
    "claude-opus-4-8",
    "claude-haiku-4-5",
    "claude-sonnet-5-5",
    "some-open-model",
  ]
) {
  Deno.test(`Claude accepts random conversations of Codex without a loss (${model})`, () => {
    const random = createRandom(model.length);
    for (let round = 0; round < ROUNDS; round++) {
      const input = conversation(ITEMS, random, new Words());
      const body = {
        instructions: "You work.",
        prompt_cache_key: "k",
        parallel_tool_calls: random.below(2) === 0,
        reasoning: { effort: random.pick(["none", "low", "high"]) },
        include: ["reasoning.encrypted_content"],
        tools: [...CODEX_TOOLS],
        input,
      };
      const sent = received(
        "responses",
        `messages ${
          model.startsWith("claude") ? "anthropic" : "custom"
        } ${model}`,
        body,
      );
      const why = `round ${round}: ${JSON.stringify(input)}`;
      try {
        assertSendable(sent.body);
      } catch (error) {
        throw new Error(why, { cause: error });
      }
      assertWhole(sent.body, input, why);
    }
  });
}

function userBlocks(random: Random, words: Words): JsonObject[] {
  return Array.from(
    { length: 1 + random.below(3) },
    () =>
      random.below(4) === 0
        ? {
          type: "image",
          source: {
            type: "base64",
            media_type: "image/png",
            data: words.picture().split(",")[1] ?? "",
          },
        }
        : {
          type: "text",
          text: words.next(),
          ...(random.below(6) === 0
            ? { cache_control: { type: "ephemeral" } }
            : {}),
        },
  );
}

/** The messages of Claude Code: an answer, and the results of its calls. */
function turnOf(random: Random, words: Words, place: number): JsonObject[] {
  const blocks: JsonObject[] = [];
  const results: JsonObject[] = [];
  for (let one = 0; one <= random.below(5); one++) {
    const id = `toolu_${place}_${one}`;
    switch (random.below(6)) {
      case 0:
        blocks.push({ type: "text", text: words.next() });
        break;
      case 1:
        blocks.push({ type: "thinking", thinking: "Hm", signature: "mg1." });
        break;
      case 2: {
        const name = "web_search";
        blocks.push({ type: "server_tool_use", id, name, input: {} }, {
          type: "web_search_tool_result",
          tool_use_id: id,
          content: [{
            type: "web_search_result",
            url: "https://example.com",
            title: words.next(),
            encrypted_content: "",
          }],
        });
        break;
      }
      case 3:
        blocks.push({
          type: "mcp_tool_use",
          id,
          name: "echo",
          server_name: "s",
          input: {},
        }, {
          type: "mcp_tool_result",
          tool_use_id: id,
          is_error: false,
          content: [{ type: "text", text: words.next() }],
        });
        break;
      default:
        blocks.push({
          type: "tool_use",
          id,
          name: random.pick(["Bash", "Read"]),
          input: random.pick([{}, { command: "ls" }]),
          caller: { type: "direct" },
        });
        if (random.below(12) === 0) break;
        results.push({
          type: "tool_result",
          tool_use_id: id,
          is_error: random.below(4) === 0,
          content: random.below(3) === 0
            ? words.next()
            : random.below(3) === 0
            ? [{ type: "tool_reference", tool_name: "WebFetch" }]
            : userBlocks(random, words),
        });
    }
  }
  const said = random.below(2) === 0 ? userBlocks(random, words) : [];
  const content = [...results, ...said];
  return [
    { role: "assistant", content: blocks },
    ...(content.length === 0 ? [] : [{ role: "user", content }]),
    ...(random.below(4) === 0
      ? [{ role: "system", content: words.next() }]
      : []),
  ];
}

const CLAUDE_TOOLS: readonly JsonObject[] = [
  ...["Bash", "Read"].map((name) => ({
    name,
    input_schema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: { command: { type: "string" } },
    },
  })),
  {
    name: "WebFetch",
    defer_loading: true,
    input_schema: { type: "object", properties: {} },
  },
];

Deno.test("OpenAI accepts random conversations of Claude Code without a loss", async () => {
  const provider = createStrictProvider({
    clock: systemClock,
    ids: randomIds,
    wordMs: 0,
  });
  const random = createRandom(11);
  for (let round = 0; round < ROUNDS; round++) {
    const words = new Words();
    const messages: JsonObject[] = [{
      role: "user",
      content: userBlocks(random, words),
    }];
    for (let place = 0; place < random.below(6); place++) {
      messages.push(...turnOf(random, words, place));
    }
    const body = {
      max_tokens: 32_000,
      system: [{ type: "text", text: "You work." }],
      thinking: random.pick([
        { type: "adaptive" },
        { type: "enabled", budget_tokens: 2000 },
        { type: "disabled" },
      ]),
      context_management: { edits: [{ type: "clear_thinking_20251015" }] },
      tools: [...CLAUDE_TOOLS],
      messages,
    };
    const model = random.pick(["gpt-5.6", "gpt-6-astra", "gpt-4.1"]);
    const sent = received("messages", `responses openai ${model}`, body);
    const why = `round ${round}: ${JSON.stringify(messages)}`;
    assertWhole(sent.body, messages, why);
    const answer = await provider("https://demo-c.invalid/v1/responses", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: "Bearer demo-key-c",
      },
      body: JSON.stringify({ ...sent.body, model: "demo-c" }),
    });
    const text = await answer.text();
    assert.equal(answer.status, 200, `${text}\n${why}`);
  }
});
