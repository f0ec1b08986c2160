import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import type {
  Block,
  ToolResultBlock,
} from "../../../../src/codecs/canonical/content/block.ts";
import type {
  CanonicalRequest,
  Turn,
} from "../../../../src/codecs/canonical/request/request.ts";
import { encodeRequest } from "../../../../src/codecs/messages/request/encode.ts";
import { assertSendable } from "../../../support/sdk/messages_rules.ts";
import { createRandom, type Random } from "../../../support/fakes/random.ts";
import { requestOf } from "../../../support/wire/requests.ts";
import { contextFor } from "../../../support/dialects/targets.ts";
import {
  fromModel,
  fromUser,
  textPart,
} from "../../../support/wire/messages.ts";
import {
  call as callOf,
  text,
  thought,
  turn,
} from "../../../support/wire/turns.ts";

interface Encoded {
  readonly body: JsonObject;
  readonly lost: readonly string[];
}

const PLACING = "claude-opus-4-8";
const FOLDING = "claude-opus-4-6";

function encode(
  turns: readonly Turn[],
  model = FOLDING,
  fields: Partial<CanonicalRequest> = {},
): Encoded {
  const { context, lost } = contextFor("custom", { model });
  return {
    body: encodeRequest(requestOf({ turns, ...fields }), context),
    lost,
  };
}

const user = (...blocks: readonly Block[]): Turn => ({ role: "user", blocks });
const assistant = (...blocks: readonly Block[]): Turn => ({
  role: "assistant",
  blocks,
});
const call = (id: string) => callOf(id, "f", '{"a":1}');
const result = (
  callId: string,
  ...content: ToolResultBlock["content"]
): ToolResultBlock => ({
  kind: "tool_result",
  callId,
  callKind: "function",
  content,
  isError: false,
});
const reminder = (value: string) =>
  textPart(`<system-reminder>\n${value}\n</system-reminder>`);

Deno.test("encodeRequest() writes leading system and developer turns to `system`", () => {
  const { body } = encode([
    turn("system", text("a")),
    turn("developer", text("b"), text("c")),
    user(text("d")),
  ]);
  assert.deepEqual(body.system, [textPart("a"), textPart("b"), textPart("c")]);
  assert.deepEqual(body.messages, [fromUser([textPart("d")])]);
});

Deno.test("encodeRequest() keeps a later system turn at its place if the model accepts it", () => {
  const turns = [
    user(text("a")),
    turn("developer", text("b")),
    turn("system", text("c")),
    assistant(text("d")),
    user(text("e")),
    turn("system", text("f")),
  ] as const;
  assert.deepEqual(encode(turns, PLACING).body.messages, [
    fromUser([textPart("a")]),
    { role: "system", content: [textPart("b"), textPart("c")] },
    fromModel([textPart("d")]),
    fromUser([textPart("e")]),
    { role: "system", content: [textPart("f")] },
  ]);
});

Deno.test("encodeRequest() writes a later system turn as a reminder if the model does not accept it", () => {
  const turns = [
    user(text("a")),
    turn("system", text("b")),
    assistant(text("c")),
    turn("system", text("d")),
    user(text("e")),
  ] as const;
  assert.deepEqual(encode(turns, FOLDING).body.messages, [
    fromUser([textPart("a"), reminder("b")]),
    fromModel([textPart("c")]),
    fromUser([reminder("d"), textPart("e")]),
  ]);
});

Deno.test("encodeRequest() writes a system turn between an answer and a user turn as a reminder for every model", () => {
  const turns = [
    user(text("a")),
    assistant(text("b")),
    turn("system", text("c")),
    user(text("d")),
  ] as const;
  assert.deepEqual(encode(turns, PLACING).body.messages, [
    fromUser([textPart("a")]),
    fromModel([textPart("b")]),
    fromUser([reminder("c"), textPart("d")]),
  ]);
});

Deno.test("encodeRequest() reports blocks other than text in a system turn that becomes a reminder", () => {
  const addition: Block = {
    kind: "opaque",
    protocol: "messages",
    type: "tool_addition",
    value: { type: "tool_addition" },
    weight: "report",
  };
  const turns = [user(text("a")), turn("system", addition)] as const;
  const { body, lost } = encode(turns, FOLDING);
  assert.deepEqual(body.messages, [fromUser([textPart("a")])]);
  assert.deepEqual(lost, ["messages report"]);
  assert.deepEqual(encode(turns, PLACING).lost, []);
});

Deno.test("encodeRequest() joins consecutive turns of one role to a message", () => {
  const { body } = encode([
    user(text("a")),
    user(text("b")),
    assistant(text("c")),
    assistant(call("x")),
    user(text("d")),
    turn("tool", result("x", text("e"))),
  ]);
  assert.deepEqual(body.messages, [
    fromUser([textPart("a"), textPart("b")]),
    fromModel([
      textPart("c"),
      { type: "tool_use", id: "x", name: "f", input: { a: 1 } },
    ]),
    fromUser([
      { type: "tool_result", tool_use_id: "x", content: [textPart("e")] },
      textPart("d"),
    ]),
  ]);
});

Deno.test("encodeRequest() puts a user message before a history that begins with an answer", () => {
  assert.deepEqual(
    encode([assistant(text("a")), user(text("b"))]).body.messages,
    [
      fromUser([textPart("(continued)")]),
      fromModel([textPart("a")]),
      fromUser([textPart("b")]),
    ],
  );
  assert.deepEqual(
    encode([turn("system", text("a"))]).body.messages,
    [fromUser([textPart("(continued)")])],
  );
});

Deno.test("encodeRequest() drops blank texts and empty answers, and writes a placeholder for an empty user message", () => {
  const { body } = encode([
    user(text("a"), text(" \n")),
    assistant(text(""), call("x")),
    turn("tool", result("x", text(""))),
    user(text("")),
    assistant(text(" ")),
    user(text("b")),
  ]);
  assert.deepEqual(body.messages, [
    fromUser([textPart("a")]),
    fromModel([{ type: "tool_use", id: "x", name: "f", input: { a: 1 } }]),
    fromUser([
      { type: "tool_result", tool_use_id: "x", content: [] },
      textPart("(no content)"),
      textPart("b"),
    ]),
  ]);
});

Deno.test("encodeRequest() removes white space at the end of a prefill", () => {
  const { body } = encode(
    [user(text("a")), assistant(text("It is "))],
    "claude-opus-4-5",
  );
  assert.deepEqual(body.messages, [
    fromUser([textPart("a")]),
    fromModel([textPart("It is")]),
  ]);
});

// "This model does not support assistant message prefill. The conversation must end with a user message."
// https://github.com/anomalyco/opencode/issues/22404
Deno.test("encodeRequest() adds an instruction for a model that accepts no prefill", () => {
  for (
    const model of [
      "claude-opus-4-6",
      "claude-sonnet-4-6",
      "claude-opus-4-8",
      "claude-haiku-5-1",
      "claude-opus-5-5",
      "claude-fable-5-1",
    ]
  ) {
    const turns = [user(text("a")), assistant(text("It is "))];
    const asked = encode(turns, model, { continues: true });
    const said = [
      fromUser([textPart("a")]),
      fromModel([textPart("It is ")]),
      fromUser([textPart("Continue.")]),
    ];
    assert.deepEqual(asked.body.messages, said, model);
    assert.deepEqual(asked.lost, ["messages report"], model);
    // Callers of protocols without prefills lose nothing.
    const plain = encode(turns, model);
    assert.deepEqual(plain.body.messages, said, model);
    assert.deepEqual(plain.lost, [], model);
  }
});

Deno.test("encodeRequest() writes a placeholder for an empty error result", () => {
  const silent = { ...result("x"), isError: true };
  const { body } = encode([
    user(text("a")),
    assistant(call("x")),
    turn("tool", silent),
  ]);
  assert.deepEqual(body.messages, [
    fromUser([textPart("a")]),
    fromModel([{ type: "tool_use", id: "x", name: "f", input: { a: 1 } }]),
    fromUser([{
      type: "tool_result",
      tool_use_id: "x",
      content: [textPart("(no output)")],
      is_error: true,
    }]),
  ]);
});

Deno.test("encodeRequest() gives a call and its result the same legal id", () => {
  const { body } = encode([
    user(text("a")),
    assistant(call("functions.f:0")),
    turn("tool", result("functions.f:0", text("b"))),
  ]);
  assertSendable(body);
});

Deno.test("encodeRequest() replaces repeated call ids, and the ids in the calls' results", () => {
  const { body } = encode([
    user(text("a")),
    assistant(call("f:0"), call("f:0")),
    turn("tool", result("f:0", text("1")), result("f:0", text("2"))),
    assistant(call("f:0")),
    turn("tool", result("f:0", text("3"))),
  ]);
  assertSendable(body);
  const sent = JSON.stringify(body.messages);
  const ids = [...sent.matchAll(/"id":"([^"]*)"/g)].map(([, id]) => id);
  const results = [...sent.matchAll(/"tool_use_id":"([^"]*)"/g)]
    .map(([, id]) => id);
  assert.equal(new Set(ids).size, 3);
  assert.deepEqual(results, ids);
});

Deno.test("encodeRequest() writes arguments that are no object in `_raw`", () => {
  const { body } = encode([
    user(text("a")),
    assistant({ ...call("x"), arguments: '{"a":' }, {
      ...call("y"),
      arguments: "",
    }),
    turn("tool", result("x"), result("y")),
  ]);
  assert.match(
    JSON.stringify(body.messages),
    /"input":\{"_raw":"\{\\"a\\":"\}/,
  );
  assert.match(
    JSON.stringify(body.messages),
    /"id":"y","name":"f","input":\{\}/,
  );
});

Deno.test("encodeRequest() reports names of participants, sound, and pictures outside of user turns", () => {
  const named: Turn = { ...user(text("a")), name: "anna" };
  assert.deepEqual(encode([named]).lost, ["messageName report"]);
  const sound: Block = { kind: "audio", format: "wav", data: "AA==" };
  assert.deepEqual(encode([user(text("a"), sound)]).lost, ["messages reject"]);
  const picture: Block = {
    kind: "image",
    source: { type: "url", url: "https://a.example" },
  };
  const weights = { assistant: "report", system: "reject" } as const;
  for (const role of ["assistant", "system"] as const) {
    const pictured = turn(role, picture, text("b"));
    const lost = [`messages ${weights[role]}`];
    assert.deepEqual(encode([user(text("a")), pictured]).lost, lost);
    assert.deepEqual(encode([pictured, user(text("a"))]).lost, lost);
  }
});

Deno.test("encodeRequest() writes other protocols' blocks as text, or reports them by weight", () => {
  const foreign = (fields: object): Block => ({
    kind: "opaque",
    protocol: "responses",
    type: "web_search_call",
    value: {},
    weight: "report",
    ...fields,
  });
  const { body, lost } = encode([
    user(text("a")),
    assistant(foreign({ text: "[searched]" }), foreign({})),
    user(foreign({ weight: "ignore" }), { kind: "refusal", text: "no" }),
  ]);
  assert.deepEqual(body.messages, [
    fromUser([textPart("a")]),
    fromModel([textPart("[searched]")]),
    fromUser([textPart("no")]),
  ]);
  assert.deepEqual(lost, ["messages report"]);
});

Deno.test("encodeRequest() returns thinking to its issuer unchanged", () => {
  const { body, lost } = encode([
    user(text("a")),
    assistant(
      {
        kind: "reasoning",
        parts: [{ form: "raw", text: "Hm" }],
        sealed: { protocol: "messages", form: "signature", value: "c2ln" },
      },
      {
        kind: "reasoning",
        parts: [],
        sealed: {
          protocol: "messages",
          form: "redacted",
          value: "cmVk",
          origin: "connection-1",
        },
      },
      text("b"),
    ),
    user(text("c")),
  ]);
  assert.deepEqual(body.messages, [
    fromUser([textPart("a")]),
    fromModel([
      { type: "thinking", thinking: "Hm", signature: "c2ln" },
      { type: "redacted_thinking", data: "cmVk" },
      textPart("b"),
    ]),
    fromUser([textPart("c")]),
  ]);
  assert.deepEqual(lost, []);
});

Deno.test("encodeRequest() drops foreign thinking for models that verify thinking, and writes it as text for others", () => {
  const turns = [
    user(text("a")),
    assistant({
      kind: "reasoning",
      parts: [{ form: "summary", text: "One" }, {
        form: "summary",
        text: "Two",
      }],
      sealed: { protocol: "responses", form: "encrypted_content", value: "x" },
    }, text("b")),
    user(text("c")),
  ];
  const verified = encode(turns, FOLDING);
  assert.doesNotMatch(JSON.stringify(verified.body), /One/);
  assert.deepEqual(verified.lost, ["sealedReasoning report"]);
  const open = encode(turns, "glm-5");
  assert.match(
    JSON.stringify(open.body),
    /\{"type":"thinking","thinking":"One\\n\\nTwo","signature":""\}/,
  );
  assert.deepEqual(open.lost, ["sealedReasoning report"]);
});

Deno.test("encodeRequest() drops Messages thinking of another connection", () => {
  const { body, lost } = encode([
    user(text("a")),
    assistant({
      kind: "reasoning",
      parts: [],
      sealed: {
        protocol: "messages",
        form: "signature",
        value: "c2ln",
        origin: "connection-2",
      },
    }, text("b")),
  ]);
  assert.doesNotMatch(JSON.stringify(body), /c2ln/);
  assert.deepEqual(lost, ["sealedReasoning report"]);
});

Deno.test("encodeRequest() writes a valid request for any random history", () => {
  const random = createRandom(7);
  for (let round = 0; round < 400; round++) {
    const turns = Array.from(
      { length: random.below(9) },
      () => randomTurn(random),
    );
    assertSendable(encode(turns, PLACING).body);
    assertSendable(encode(turns, FOLDING).body);
  }
});

Deno.test("encodeRequest() accepts a history as long as the largest body", () => {
  const many = assistant(...Array(50_000).fill(call("x")));
  const said = Array.from({ length: 50_000 }, () => user(text("a")));
  const { body } = encode([...said, many]);
  assert.equal(Array.isArray(body.messages) && body.messages.length, 3);
});

function randomTurn(random: Random): Turn {
  const role = random.pick(
    ["user", "assistant", "tool", "system", "developer"] as const,
  );
  const blocks = Array.from(
    { length: random.below(4) },
    () =>
      role === "tool"
        ? result(`c.${random.below(9)}`, text(random.pick(["", "r"])))
        : randomBlock(random, `c.${random.below(9)}`),
  );
  if (role === "assistant") return { role, blocks };
  return {
    role,
    blocks: blocks.filter(({ kind }) =>
      kind !== "function_call" && kind !== "reasoning"
    ),
  };
}

function randomBlock(random: Random, id: string): Block {
  return random.pick<Block>([
    text("t"),
    text(" "),
    text("end "),
    call(id),
    { kind: "refusal", text: "no" },
    thought("hm"),
  ]);
}
