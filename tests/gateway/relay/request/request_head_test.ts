import assert from "node:assert/strict";
import { GatewayError } from "../../../../src/base/error.ts";
import {
  createRequestHeadReader,
  type RequestHead,
} from "../../../../src/gateway/relay/request/request_head.ts";
import { createInputEstimate } from "../../../../src/gateway/relay/request/input_estimate.ts";
import { JsonObjectScan } from "../../../../src/json_scan/scan.ts";
import type { PromptParts } from "../../../../src/gateway/relay/request/prompt_parts.ts";
import {
  promptPartsOf,
  PromptPartsReader,
} from "../../../../src/gateway/relay/request/prompt_scan.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** Reads a body in one chunk. */
function read(body: Uint8Array): RequestHead {
  const reader = createRequestHeadReader({ operation: "chat_completions" });
  reader.push(body);
  return reader.end();
}

Deno.test("A RequestHeadReader finds the model and its position", () => {
  const body = bytes(' {"x":{"model":"no"}, "model" : "glm-5é" ,"y":1} ');
  const { model, modelMember, stream } = read(body);
  assert.equal(model, "glm-5é");
  assert.equal(stream, false);
  assert.ok(modelMember);
  const { start, end } = modelMember.span;
  assert.equal(new TextDecoder().decode(body.subarray(start, end)), '"glm-5é"');
});

Deno.test("A RequestHeadReader reads a model however it is escaped", () => {
  const { model } = read(bytes('{"mod\\u0065l":"a\\/b\\u0063\\n"}'));
  assert.equal(model, "a/bc\n");
});

Deno.test("A RequestHeadReader reads whether the caller wants a stream", () => {
  const cases = [
    ['{"model":"m"}', false],
    ['{"model":"m","stream":true}', true],
    ['{"stream":false,"model":"m"}', false],
    ['{"model":"m","stream":null}', false],
  ] as const;
  for (const [text, stream] of cases) {
    assert.equal((read(bytes(text))).stream, stream, text);
  }
});

Deno.test("A RequestHeadReader reports whether a Chat Completions body has an `input` field", () => {
  const cases = [
    ['{"model":"m"}', false],
    ['{"model":"m","input":null}', false],
    ['{"model":"m","input":"Hi"}', true],
    ['{"model":"m","input":[]}', true],
    [`{"model":"m","input":"${"x".repeat(10_000)}"}`, true],
    ['{"model":"m","x":{"input":"Hi"}}', false],
  ] as const;
  for (const [text, hasInput] of cases) {
    assert.equal(read(bytes(text)).hasInput, hasInput, text);
  }
});

function refusal(text: string): GatewayError {
  try {
    read(bytes(text));
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.kind, "invalid_request");
    return error;
  }
  return assert.fail(`${text} was taken`);
}

Deno.test("A RequestHeadReader rejects a missing or invalid model", () => {
  assert.match((refusal('{"messages":[]}')).message, /is missing/);
  const wrong = [
    '""',
    "null",
    "1",
    "true",
    "[]",
    '["m"]',
    '{"id":"m"}',
    `"${"x".repeat(4096)}"`,
  ];
  for (const value of wrong) {
    const { message, param } = refusal(`{"model":${value}}`);
    assert.equal(param, "model");
    assert.match(message, /is not a non-empty string/);
    assert.ok(!message.includes("xxx"));
  }
});

Deno.test("A RequestHeadReader accepts names of up to 4094 bytes", () => {
  const name = "x".repeat(4094);
  assert.equal((read(bytes(`{"model":"${name}"}`))).model, name);
});

Deno.test("A RequestHeadReader rejects a stream field that is not a boolean", () => {
  for (const value of ['"true"', "1", "0", "[]", "{}", '""']) {
    const { message, param } = refusal(`{"model":"m","stream":${value}}`);
    assert.equal(param, "stream");
    assert.match(message, /Send true or false/);
  }
});

Deno.test("A RequestHeadReader rejects duplicate fields", () => {
  assert.equal((refusal('{"model":"a","model":"a"}')).param, "model");
  assert.equal((refusal('{"model":"a","\\u006dodel":"b"}')).param, "model");
  const { param } = refusal('{"model":"a","stream":true,"stream":false}');
  assert.equal(param, "stream");
});

Deno.test("A RequestHeadReader rejects anything but one JSON object, and quotes none of it", () => {
  const secret = "my secret prompt";
  const bodies = [
    "",
    secret,
    `"${secret}"`,
    `["${secret}"]`,
    "null",
    `{"model":"m","x":"${secret}"`,
    `{"model":"m"} "${secret}"`,
    `{"model":"m","x":${secret}}`,
    `{"model":"m",}`,
    `\ufeff{"model":"m"}`,
  ];
  for (const body of bodies) {
    const { message, param } = refusal(body);
    assert.equal(param, undefined);
    assert.ok(!message.includes("secret"), message);
  }
});

Deno.test("A RequestHeadReader rejects bytes that are no UTF-8", () => {
  const body = Uint8Array.of(...bytes('{"model":"'), 0xff, ...bytes('"}'));
  assert.throws(() => read(body), GatewayError);
});

Deno.test("A RequestHeadReader reads pieces like a whole body, and keeps none of them", () => {
  const body = bytes('{"x":"é","mod\\u0065l" : "glm-5é" ,"stream":true}');
  for (let size = 1; size <= body.length; size++) {
    const reader = createRequestHeadReader({ operation: "chat_completions" });
    for (let start = 0; start < body.length; start += size) {
      const piece = body.slice(start, start + size);
      reader.push(piece);
      piece.buffer.transfer();
    }
    assert.deepEqual(reader.end(), read(body), `pieces of ${size} bytes`);
  }
});

Deno.test("A RequestHeadReader throws only at the end of the body, about its first fault", () => {
  const reader = createRequestHeadReader({ operation: "chat_completions" });
  reader.push(bytes('{"model":"a",'));
  reader.push(bytes("]"));
  reader.push(bytes('"model":"b"}'));
  assert.throws(() => reader.end(), /the byte at offset 13 is not allowed/);
});

function estimate(text: string, pieceBytes = Infinity): number {
  const bytes = new TextEncoder().encode(text);
  const input = createInputEstimate();
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    input.push(bytes.subarray(start, start + pieceBytes));
  }
  return input.tokens();
}

const PROSE = "It was a bright cold day in April, and the clocks were. ";

const PICTURE = "iVBORw0KGgo+/AAAASUVORK5".repeat(12_500);

Deno.test("createInputEstimate() counts a token for every four bytes of text", () => {
  assert.equal(estimate("Hello, world"), 3);
  const text = PROSE.repeat(5000);
  assert.equal(estimate(text), Math.ceil(text.length / 4));
  assert.equal(estimate(text, 64 * 1024), Math.ceil(text.length / 4));
});

Deno.test("createInputEstimate() counts base64 as a picture, not as text", () => {
  const tokens = estimate(
    JSON.stringify({ text: PROSE, data: PICTURE }),
    64 * 1024,
  );
  assert.ok(tokens > 1000 && tokens < 4000, String(tokens));
});

Deno.test("createInputEstimate() counts text without spaces, code and other scripts as text", () => {
  for (
    const line of [
      "一个明亮而寒冷的四月天钟敲了十三下",
      '{"a":{"b":[1,2,3]},"path":"/usr/local/bin"},',
      "a_long_identifier(another_one);\\n",
    ]
  ) {
    const text = line.repeat(2000);
    const bytes = new TextEncoder().encode(text).length;
    assert.equal(estimate(text), Math.ceil(bytes / 4), line);
  }
});

/** Returns the parts of a body, read in two chunks. */
function partsOf(
  body: unknown,
  cut = 0,
  earlier?: PromptParts,
): PromptPartsReader {
  const bytes = new TextEncoder().encode(
    typeof body === "string" ? body : JSON.stringify(body),
  );
  const reader = new PromptPartsReader(() => earlier);
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

Deno.test("cache marks do not change the sums, even if a text becomes a block to carry a mark", () => {
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

Deno.test("a changed message changes only its own sum, unless only cache marks changed", () => {
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

Deno.test("a prompt has the same sums wherever a chunk ends, unless the end splits the name of a cache mark", () => {
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

/** Returns a conversation whose client marks the last two messages. */
function conversation(...texts: readonly string[]): string {
  const marked = texts.map((text, index) =>
    message(text, index < texts.length - 2 ? {} : MARK)
  );
  return JSON.stringify({ messages: marked, thinking: { type: "enabled" } });
}

const EARLIER = ["0", "1", "2", "3", "4é", "5", "6", "7"];

Deno.test("a prompt has the same sums with or without an earlier prompt to continue, wherever a chunk ends", () => {
  const earlier = partsOf(conversation(...EARLIER));
  assert.equal(earlier.opening?.messages, 6);
  const later = conversation(...EARLIER, "8", "9");
  const alone = partsOf(later);
  const firstMark = later.indexOf("cache_control");
  for (let cut = 0; cut < firstMark; cut++) {
    const parts = partsOf(later, cut, earlier);
    assert.deepEqual(parts, alone, `cut at ${cut}`);
  }
});

Deno.test("a prompt is read in full if it changes, reformats or omits a message of the earlier prompt", () => {
  const earlier = partsOf(conversation(...EARLIER));
  const later = conversation(...EARLIER, "8");
  const others = [
    later.replace('"5"', '"x"'),
    later.replace('"5"', '"longer"'),
    later.replace('"5"', ' "5"'),
    conversation(...EARLIER.toSpliced(4, 1), "8", "9"),
    conversation("0", "1", "2", "3", "4é".repeat(200), "5", "6"),
    JSON.stringify({
      messages: EARLIER.slice(0, 5).map((one) => message(one)),
    }),
  ];
  for (const other of others) {
    for (const cut of [0, 100, 200]) {
      assert.ok(partsOf(other, cut, earlier).isIncomplete, other);
    }
  }
});

Deno.test("a prompt is linked if the provider stores its beginning, and has a mark if the whole prompt is cached", () => {
  assert.ok(partsOf({ previous_response_id: "resp_1" }).isLinked);
  assert.ok(partsOf({ conversation: { id: "conv_1" } }).isLinked);
  assert.equal(partsOf({ cache_control: { type: "ephemeral" } }).marks, 1);
});

Deno.test("the effort of a prompt is the value of its protocol's field", () => {
  for (
    const [body, effort] of [
      [{ reasoning_effort: "high" }, "high"],
      [{ reasoning: { summary: "auto", effort: "low" } }, "low"],
      [{ output_config: { effort: "max" } }, "max"],
      [{ reasoning_effort: "x".repeat(99) }, "x".repeat(32)],
      [{ reasoning: { effort: 7 } }, undefined],
      [{ output_config: { format: "x".repeat(2000) } }, undefined],
      [{ text: "high", thinking: { effort: "high" } }, undefined],
    ] as const
  ) {
    assert.equal(partsOf(body).effort, effort);
  }
});

Deno.test("duplicates of a setting that only the log reads are accepted, in upper or lower case", () => {
  const settings = ["reasoning_effort", "reasoning", "output_config"]
    .flatMap((name) => [name, name, name.toUpperCase()])
    .map((name) => `"${name}":"low"`);
  const { model } = read(bytes(`{"model":"m",${settings.join()}}`));
  assert.equal(model, "m");
});

Deno.test("a translated prompt has the same sums as a native one, even with a setting in upper and lower case", async () => {
  const body = { speed: "fast", messages: [{ content: "Hi" }], tools: [1] };
  const { settings, ...sums } = partsOf(body);
  const found = await promptPartsOf(
    bytes(JSON.stringify({ ...body, Speed: "slow", Tools: 2 })),
  );
  assert.deepEqual(found.settings, settings);
  assert.deepEqual(found.messages, sums.messages);
  assert.equal(found.tools, sums.tools);
});

Deno.test("a prompt has at most 8,193 sums for its messages, and as many for its system blocks", () => {
  const many = Array.from({ length: 20_000 }, () => ({}));
  const { messages, system } = partsOf({ messages: many, system: many });
  assert.equal(messages.length, 8193);
  assert.equal(system.length, 8193);
});
