import assert from "node:assert/strict";
import type {
  Block,
  ReasoningBlock,
} from "../../../../src/protocols/canonical/content/block.ts";
import {
  callIdsOf,
  reasoningToRemember,
  type RememberedBlock,
  type RememberedReasoning,
  restoreReasoning,
} from "../../../../src/protocols/canonical/answer/remembered_reasoning.ts";
import type { Turn } from "../../../../src/protocols/canonical/request/request.ts";

const THOUGHT: ReasoningBlock = {
  kind: "reasoning",
  parts: [{ form: "raw", text: "hm" }],
};
const SEALED: ReasoningBlock = {
  ...THOUGHT,
  sealed: { protocol: "messages", form: "signature", value: "s" },
};
const OTHER: ReasoningBlock = {
  kind: "reasoning",
  parts: [],
  sealed: { protocol: "messages", form: "redacted", value: "r" },
};
const TEXT = { kind: "text", text: "so" } as const;
const SAID = { kind: "text", length: 2 } as const;
const call = (id: string) =>
  ({ kind: "function_call", id, name: "f", arguments: "{}" }) as const;
const made = (id: string) => ({ kind: "call", id }) as const;
const kept = (...pieces: readonly RememberedBlock[]): RememberedReasoning => ({
  pieces,
});
const assistant = (...blocks: Block[]) =>
  ({ role: "assistant", blocks }) as const;

/** Restores the remembered reasoning of each call. */
function recalled(
  turns: readonly Turn[],
  known: Readonly<Record<string, RememberedReasoning>>,
  maySend = () => true,
): readonly Turn[] {
  return restoreReasoning(turns, { recall: (id) => known[id], maySend });
}

Deno.test("reasoningToRemember() keeps an answer with calls and sealed parts, in its order", () => {
  const pieces = [THOUGHT, SEALED, SAID, made("1"), made("2")];
  const thoughts = reasoningToRemember(pieces);
  assert.deepEqual(thoughts, { pieces });
  assert.deepEqual(thoughts && callIdsOf(thoughts), ["1", "2"]);
});

Deno.test("reasoningToRemember() keeps nothing without a call or a sealed part", () => {
  assert.equal(reasoningToRemember([SEALED, SAID]), undefined);
  assert.equal(reasoningToRemember([THOUGHT, SAID, made("1")]), undefined);
});

Deno.test("restoreReasoning() replaces readable text by the remembered reasoning", () => {
  const known = { "2": kept(SEALED, SAID, made("1"), made("2")) };
  assert.deepEqual(
    recalled([assistant(THOUGHT, TEXT, call("1"), call("2"))], known),
    [assistant(SEALED, TEXT, call("1"), call("2"))],
  );
});

Deno.test("restoreReasoning() puts each block at its place when the turn equals the answer", () => {
  const known = {
    "1": kept(SEALED, SAID, OTHER, made("1"), THOUGHT, made("2")),
  };
  assert.deepEqual(
    recalled([assistant(TEXT, call("1"), call("2"))], known),
    [assistant(SEALED, TEXT, OTHER, call("1"), THOUGHT, call("2"))],
  );
  const turns = [
    assistant(call("1"), call("2")),
    assistant(TEXT, call("1")),
    assistant(TEXT, { kind: "refusal", text: "no" }, call("1"), call("2")),
  ];
  for (const turn of turns) {
    assert.deepEqual(recalled([turn], known), [
      assistant(SEALED, OTHER, THOUGHT, ...turn.blocks),
    ]);
  }
});

Deno.test("restoreReasoning() completes several sealed parts of which a caller returned some", () => {
  const known = { "1": kept(SEALED, OTHER, made("1")) };
  assert.deepEqual(recalled([assistant(OTHER, call("1"))], known), [
    assistant(SEALED, OTHER, call("1")),
  ]);
});

Deno.test("restoreReasoning() does not change other sealed parts, unknown calls, and turns that are no answer", () => {
  const turns = [
    assistant(SEALED, call("1")),
    assistant(THOUGHT, call("unknown")),
    { role: "user", blocks: [TEXT] },
  ] as const;
  assert.deepEqual(recalled(turns, { "1": kept(OTHER, made("1")) }), turns);
});

Deno.test("restoreReasoning() sends only the readable part to other upstreams", () => {
  const known = { "1": kept(SEALED, { ...made("1"), sealed: SIGNATURE }) };
  assert.deepEqual(recalled([assistant(call("1"))], known, () => false), [
    assistant({ ...THOUGHT, sealed: undefined }, call("1")),
  ]);
});

const SIGNATURE = {
  protocol: "chat",
  form: "extra_content",
  value: '{"google":{"thought_signature":"s"}}',
} as const;

Deno.test("reasoningToRemember() keeps a call's sealed part for that call only", () => {
  const pieces = [THOUGHT, { ...made("1"), sealed: SIGNATURE }, made("2")];
  assert.deepEqual(reasoningToRemember(pieces), { pieces });
});

Deno.test("restoreReasoning() restores the sealed part of every call", () => {
  const thoughts = kept({ ...made("1"), sealed: SIGNATURE }, made("2"));
  assert.deepEqual(
    recalled([assistant(SEALED, call("1"), call("2"))], {
      "1": thoughts,
      "2": thoughts,
    }),
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
const said = (
  { text, message }: typeof COMMENTARY | typeof FINAL,
): RememberedBlock => ({
  kind: "text",
  length: text.length,
  message,
});

Deno.test("reasoningToRemember() keeps the phases of an answer's messages", () => {
  const pieces = [said(COMMENTARY), made("1"), said(FINAL)];
  assert.deepEqual(reasoningToRemember(pieces), { pieces });
  assert.equal(reasoningToRemember([said(COMMENTARY), said(FINAL)]), undefined);
});

Deno.test("restoreReasoning() splits a text of joined messages, and no other text", () => {
  const known = { "1": kept(said(COMMENTARY), made("1"), said(FINAL)) };
  const given = (text: string) => assistant({ kind: "text", text }, call("1"));
  assert.deepEqual(recalled([given("I look\n\nIt rains")], known), [
    assistant(COMMENTARY, FINAL, call("1")),
  ]);
  for (const other of ["I look", "I look\n\nIt rained", "I look. It rains!!"]) {
    const turns = [given(other)];
    assert.deepEqual(recalled(turns, known), turns);
  }
});

Deno.test("restoreReasoning() puts reasoning between the messages of one joined text", () => {
  const known = {
    "1": kept(SEALED, said(COMMENTARY), OTHER, said(FINAL), made("1")),
  };
  const text = { kind: "text", text: "I look\n\nIt rains" } as const;
  assert.deepEqual(recalled([assistant(text, call("1"))], known), [
    assistant(SEALED, COMMENTARY, OTHER, FINAL, call("1")),
  ]);
});
