import assert from "node:assert/strict";
import type {
  Block,
  ReasoningBlock,
} from "../../../../src/protocols/canonical/answer/block.ts";
import {
  recallThoughts,
  type Thoughts,
  thoughtsOf,
} from "../../../../src/protocols/canonical/answer/thoughts.ts";

const THOUGHT: ReasoningBlock = {
  kind: "reasoning",
  parts: [{ form: "raw", text: "hm" }],
};
const SEALED: ReasoningBlock = {
  ...THOUGHT,
  sealed: { protocol: "messages", form: "signature", value: "s" },
};
const TEXT = { kind: "text", text: "so" } as const;
const call = (id: string) =>
  ({ kind: "function_call", id, name: "f", arguments: "{}" }) as const;
const kept = (
  blocks: readonly ReasoningBlock[],
  calls: Thoughts["calls"] = new Map(),
  messages: Thoughts["messages"] = [],
): Thoughts => ({ callIds: ["1", "2"], blocks, calls, messages });
const assistant = (...blocks: Block[]) =>
  ({ role: "assistant", blocks }) as const;

Deno.test("thoughtsOf() keeps all reasoning of an answer that is sealed and calls tools", () => {
  assert.deepEqual(
    thoughtsOf({ blocks: [THOUGHT, SEALED, TEXT, call("1"), call("2")] }),
    {
      callIds: ["1", "2"],
      blocks: [THOUGHT, SEALED],
      calls: new Map(),
      messages: [],
    },
  );
});

Deno.test("thoughtsOf() keeps nothing without a call or a sealed part", () => {
  assert.equal(thoughtsOf({ blocks: [SEALED, TEXT] }), undefined);
  assert.equal(thoughtsOf({ blocks: [THOUGHT, call("1")] }), undefined);
});

Deno.test("recallThoughts() puts remembered reasoning first, in place of its readable text", () => {
  const recall = (id: string) => id === "2" ? kept([SEALED]) : undefined;
  assert.deepEqual(
    recallThoughts([assistant(THOUGHT, TEXT, call("1"), call("2"))], recall),
    [
      assistant(SEALED, TEXT, call("1"), call("2")),
    ],
  );
});

Deno.test("recallThoughts() leaves alone what is sealed already, unknown, or no answer", () => {
  const turns = [
    assistant(SEALED, call("1")),
    assistant(THOUGHT, call("unknown")),
    { role: "user", blocks: [TEXT] },
  ] as const;
  assert.deepEqual(
    recallThoughts(turns, (id) => id === "1" ? kept([THOUGHT]) : undefined),
    turns,
  );
});

const SIGNATURE = {
  protocol: "chat",
  form: "extra_content",
  value: '{"google":{"thought_signature":"s"}}',
} as const;

Deno.test("thoughtsOf() keeps what is sealed with a call, for that call alone", () => {
  assert.deepEqual(
    thoughtsOf({
      blocks: [THOUGHT, { ...call("1"), sealed: SIGNATURE }, call("2")],
    }),
    {
      callIds: ["1", "2"],
      blocks: [],
      calls: new Map([["1", SIGNATURE]]),
      messages: [],
    },
  );
});

Deno.test("recallThoughts() gives every call back what was sealed with it", () => {
  const recall = () => kept([], new Map([["1", SIGNATURE]]));
  assert.deepEqual(
    recallThoughts([assistant(SEALED, call("1"), call("2"))], recall),
    [assistant(SEALED, { ...call("1"), sealed: SIGNATURE }, call("2"))],
  );
});

const COMMENTARY = {
  kind: "text",
  text: "I look",
  message: { phase: "commentary" },
} as const;
const FINAL = {
  kind: "text",
  text: "It rains",
  message: { phase: "final_answer" },
} as const;

Deno.test("thoughtsOf() keeps of what phase the messages of an answer with calls are", () => {
  const messages = [
    { length: 6, message: { phase: "commentary" } },
    { length: 10, message: { phase: "final_answer" } },
  ];
  assert.deepEqual(
    thoughtsOf({ blocks: [COMMENTARY, call("1"), FINAL, TEXT] }),
    { callIds: ["1"], blocks: [], calls: new Map(), messages },
  );
  assert.equal(thoughtsOf({ blocks: [COMMENTARY, FINAL] }), undefined);
});

Deno.test("recallThoughts() tells the messages apart that a caller gives as one text, and no other text", () => {
  const messages = [COMMENTARY, FINAL].map(({ text, message }) => ({
    length: text.length,
    message,
  }));
  const recall = () => kept([], new Map(), messages);
  const given = (text: string) => assistant({ kind: "text", text }, call("1"));
  assert.deepEqual(recallThoughts([given("I look\n\nIt rains")], recall), [
    assistant(COMMENTARY, FINAL, call("1")),
  ]);
  for (const other of ["I look", "I look\n\nIt rained", "I look. It rains!!"]) {
    const turns = [given(other)];
    assert.deepEqual(recallThoughts(turns, recall), turns);
  }
});
