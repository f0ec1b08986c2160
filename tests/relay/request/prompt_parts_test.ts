import assert from "node:assert/strict";
import { JsonObjectScan } from "../../../src/json_scan/scan.ts";
import {
  type PromptParts,
  PromptPartsReader,
} from "../../../src/relay/request/prompt_parts.ts";

/** Returns the parts of a body, read in two chunks. */
function partsOf(body: unknown, cut = 0): PromptParts {
  const bytes = new TextEncoder().encode(
    typeof body === "string" ? body : JSON.stringify(body),
  );
  const reader = new PromptPartsReader();
  const scan = new JsonObjectScan(["model"], undefined, reader);
  scan.push(bytes.subarray(0, cut));
  scan.push(bytes.subarray(cut));
  scan.end();
  return reader;
}

const MARK = { cache_control: { type: "ephemeral", ttl: "1h" } };

function message(text: string, mark: object = {}) {
  return { role: "user", content: [{ type: "text", text, ...mark }] };
}

Deno.test("a prompt has a sum for its tools, each block of its system prompt, each message and each setting", () => {
  const parts = partsOf({
    model: "m",
    tools: [{ name: "a" }, { name: "b" }],
    system: [{ type: "text", text: "1" }, { type: "text", text: "2" }],
    messages: [message("3"), message("4"), message("3")],
    thinking: { type: "enabled" },
    metadata: { user_id: "x", list: [{ cache_control: {} }] },
  });
  assert.notEqual(parts.tools, 0);
  assert.equal(new Set(parts.system).size, 2);
  const [first, second, third] = parts.messages;
  assert.equal(first, third);
  assert.notEqual(first, second);
  assert.deepEqual([...parts.settings.keys()], ["thinking"]);
  assert.equal(parts.systemField, "system");
  assert.equal(parts.messagesField, "messages");
  assert.equal(parts.marks, 0);
  assert.equal(parts.isLinked, false);
});

Deno.test("a mark does not change the sums, wherever it is, nor does a text that becomes a block for it", () => {
  const unmarked = { messages: [{ role: "user", content: 'Hello\n"you"' }] };
  const cases: readonly (readonly [unknown, unknown])[] = [
    [unmarked, { messages: [message('Hello\n"you"', MARK)] }],
    [
      { tools: [{ name: "a", input_schema: {} }, { name: "b" }] },
      { tools: [{ name: "a", input_schema: {}, ...MARK }, { name: "b" }] },
    ],
    [
      { messages: [{ role: "user", content: [{ type: "image" }, { id: 1 }] }] },
      {
        messages: [{
          role: "user",
          content: [{ type: "image", ...MARK }, { id: 1, ...MARK }],
        }],
      },
    ],
    [
      { input: [{ content: [{ type: "input_text", text: "x" }] }] },
      {
        input: [{
          content: [{
            type: "input_text",
            text: "x",
            prompt_cache_breakpoint: { mode: "explicit" },
          }],
        }],
      },
    ],
    [
      '{"system": [{"text": "a"}]}',
      '{"system": [{"text": "a", "cache_control": {"type": "ephemeral"}}]}',
    ],
  ];
  for (const [one, other] of cases) {
    const [plain, marked] = [partsOf(one), partsOf(other)];
    assert.equal(plain.tools, marked.tools);
    assert.deepEqual(plain.system, marked.system);
    assert.deepEqual(plain.messages, marked.messages);
    assert.equal(plain.marks, 0);
    assert.ok(marked.marks > 0);
  }
});

Deno.test("any other change of a message changes its sum alone", () => {
  const before = partsOf({ messages: [message("a"), message("b")] });
  const changes = [
    { role: "assistant", content: [{ type: "text", text: "a" }] },
    { role: "user", content: "A" },
    { role: "user", content: [{ type: "text", text: "a" }], name: "x" },
    { role: "user", content: [message("a"), message("a")] },
    { role: "user", content: "a", name: "x" },
    { role: "user", content: [{ type: "text", text: "cache_control" }] },
  ];
  for (const change of changes) {
    const after = partsOf({ messages: [change, message("b")] });
    assert.notEqual(after.messages[0], before.messages[0]);
    assert.equal(after.messages[1], before.messages[1]);
  }
});

Deno.test("the sums are the same wherever a chunk ends outside of a mark's name", () => {
  const text = JSON.stringify({
    system: "You are…",
    tools: [{ name: "a" }],
    messages: [message("Grüße"), { role: "user", content: "x" }],
    previous_response_id: null,
    cache_control: null,
  });
  const whole = partsOf(text);
  assert.equal(whole.isLinked, false);
  assert.equal(whole.marks, 0);
  const length = new TextEncoder().encode(text).length;
  for (let cut = 1; cut < length; cut++) {
    const { tools, system, messages } = partsOf(text, cut);
    assert.equal(tools, whole.tools);
    assert.deepEqual(system, whole.system);
    assert.equal(messages[0], whole.messages[0]);
  }
});

Deno.test("a prompt whose beginning the provider keeps is linked, and one that is cached as a whole is marked", () => {
  assert.ok(partsOf({ previous_response_id: "resp_1" }).isLinked);
  assert.ok(partsOf({ conversation: { id: "conv_1" } }).isLinked);
  assert.equal(partsOf({ cache_control: { type: "ephemeral" } }).marks, 1);
});
