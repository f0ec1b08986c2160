import assert from "node:assert/strict";
import { runStage } from "../../../../src/base/stage.ts";
import type {
  AnswerBlock,
  Block,
  ReasoningBlock,
} from "../../../../src/codecs/canonical/content/block.ts";
import {
  bindReasoning,
  longerPrefix,
  prefixBehind,
  type ReturningReasoning,
  unbrokenRun,
} from "../../../../src/codecs/canonical/answer/bound.ts";
import {
  foldAnswer,
  unfoldAnswer,
} from "../../../../src/codecs/canonical/answer/fold.ts";
import {
  type SealBinding,
  sealDigest,
} from "../../../../src/codecs/canonical/content/sealed.ts";
import type { AnswerEvent } from "../../../../src/codecs/canonical/stream/event.ts";
import {
  reasoningToRemember,
  type RememberedReasoning,
  restoreReasoning,
} from "../../../../src/codecs/canonical/answer/remembered_reasoning.ts";
import type { Turn } from "../../../../src/codecs/canonical/request/request.ts";
import { call, turn } from "../../../support/wire/turns.ts";

const seal = (value: string) =>
  ({ protocol: "messages", form: "signature", value }) as const;
const thought = (value?: string): AnswerBlock => ({
  kind: "reasoning",
  parts: [{ form: "raw", text: "hm" }],
  sealed: value === undefined ? undefined : seal(value),
});
const sealedCall = (id: string): AnswerBlock => ({
  ...call(id),
  sealed: seal(`of ${id}`),
});

/** Returns the binding of an answer's sealed reasoning, after a request with the prefix `p`. */
function boundsOf(blocks: readonly AnswerBlock[]): (SealBinding | undefined)[] {
  const events: AnswerEvent[] = [];
  const stop = { reason: "end" } as const;
  unfoldAnswer({ id: "a", model: "m", blocks, stop }, (event) => {
    events.push(event);
  });
  const bound = runStage(bindReasoning({ prefix: "p", after: "b" }), events);
  return foldAnswer(bound).blocks.flatMap((block) =>
    block.kind === "reasoning" && block.sealed !== undefined
      ? [block.sealed.bound]
      : []
  );
}

Deno.test("bindReasoning() binds each sealed thought to the request and to the previous thought", () => {
  assert.deepEqual(boundsOf([thought("1"), thought(), thought("2")]), [
    { prefix: "p", after: "b" },
    { prefix: "p", after: sealDigest({ value: "1" }) },
  ]);
});

Deno.test("bindReasoning() binds a thought to the text and the calls before it, and does not bind calls", () => {
  const said = { kind: "text", length: 2 } as const;
  const behind = prefixBehind("p", said);
  const text: AnswerBlock = { kind: "text", text: "so" };
  const [first, second] = boundsOf([
    text,
    thought("1"),
    sealedCall("c"),
    thought("2"),
  ]);
  assert.equal(first?.prefix, behind);
  assert.equal(second?.prefix, prefixBehind(behind, { kind: "call", id: "c" }));
});

Deno.test("bindReasoning() gives a thought after an opaque block a prefix that matches no request", () => {
  const opaque: AnswerBlock = {
    kind: "opaque",
    protocol: "messages",
    type: "server_tool_use",
    value: {},
    weight: "report",
  };
  const [bound] = boundsOf([opaque, thought("1")]);
  assert.notEqual(bound?.prefix, "p");
});

Deno.test("longerPrefix() returns a different digest when the pieces are ordered or split differently", () => {
  const prefixes = [
    ["a", "b"],
    ["b", "a"],
    ["ab", ""],
    ["a", "b", ""],
    [],
  ].map((pieces) => pieces.reduce(longerPrefix, ""));
  assert.equal(new Set(prefixes).size, prefixes.length);
});

Deno.test("prefixBehind() returns different digests for texts of different lengths, and for different calls", () => {
  const prefixes = [
    prefixBehind("p", { kind: "text", length: 1 }),
    prefixBehind("p", { kind: "text", length: 2 }),
    prefixBehind("p", { kind: "call", id: "1" }),
    prefixBehind("p", { kind: "call", id: "2" }),
    prefixBehind("q", { kind: "call", id: "2" }),
  ];
  assert.equal(new Set(prefixes).size, prefixes.length);
});

/**
 * Returns the reasoning in a request: its digest, the content before it, and true when its prefix
 * is unchanged.
 */
function returning(
  digest: string,
  after?: string,
  isSame = true,
): ReturningReasoning {
  const prefix = `before ${digest}`;
  return { digest, bound: { prefix: isSame ? prefix : "p", after }, prefix };
}

function runOf(...returning: readonly ReturningReasoning[]): string {
  return unbrokenRun(returning).map(({ digest }) => digest).join("");
}

Deno.test("unbrokenRun() keeps the latest reasoning back to the first gap", () => {
  const [a, b, c] = [returning("a"), returning("b", "a"), returning("c", "b")];
  assert.equal(runOf(a, b, c), "abc");
  assert.equal(runOf(b, c), "bc");
  assert.equal(runOf(a, c), "c");
  assert.equal(runOf(a, b), "ab");
  assert.equal(runOf(), "");
});

Deno.test("unbrokenRun() returns the latest run of reasoning without a changed prefix", () => {
  const [a, b] = [returning("a"), returning("b", "a")];
  assert.equal(runOf(a, b, returning("c", "b", false)), "ab");
  assert.equal(runOf(a, returning("b", "a", false), returning("c", "b")), "c");
  assert.equal(runOf(returning("a", undefined, false), b), "b");
});

Deno.test("unbrokenRun() skips reasoning between two blocks that follow each other", () => {
  const [a, b] = [returning("a"), returning("b", "a")];
  assert.equal(runOf(a, returning("x", "y"), b), "ab");
  assert.equal(runOf(a, b, returning("c")), "c");
});

Deno.test("unbrokenRun() drops reasoning with an unknown binding", () => {
  const unknown = { digest: "u", bound: undefined, prefix: "p" };
  assert.equal(runOf(unknown), "");
  assert.equal(runOf(returning("a"), unknown), "a");
});

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
const made = (id: string) => ({ kind: "call", id }) as const;
const kept = (
  ...pieces: RememberedReasoning["pieces"]
): RememberedReasoning => ({
  pieces,
});
const assistant = (...blocks: Block[]) => turn("assistant", ...blocks);

/** Restores the remembered reasoning of each call. */
function recalled(
  turns: readonly Turn[],
  known: Readonly<Record<string, RememberedReasoning>>,
  maySend = () => true,
): readonly Turn[] {
  return restoreReasoning(turns, { recall: (id) => known[id], maySend });
}

Deno.test("reasoningToRemember() keeps an answer with calls and sealed parts, in order", () => {
  const pieces = [THOUGHT, SEALED, SAID, made("1"), made("2")];
  const thoughts = reasoningToRemember(pieces);
  assert.deepEqual(thoughts, { pieces });
});

Deno.test("reasoningToRemember() keeps nothing without a call or a sealed part", () => {
  assert.equal(reasoningToRemember([SEALED, SAID]), undefined);
  assert.equal(reasoningToRemember([THOUGHT, SAID, made("1")]), undefined);
});

Deno.test("restoreReasoning() replaces readable reasoning by the stored one", () => {
  const known = { "2": kept(SEALED, SAID, made("1"), made("2")) };
  assert.deepEqual(
    recalled([assistant(THOUGHT, TEXT, call("1"), call("2"))], known),
    [assistant(SEALED, TEXT, call("1"), call("2"))],
  );
});

Deno.test("restoreReasoning() puts each block at its original place when the turn equals the answer", () => {
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

Deno.test("restoreReasoning() adds the sealed parts that a caller did not return", () => {
  const known = { "1": kept(SEALED, OTHER, made("1")) };
  assert.deepEqual(
    recalled([assistant(OTHER, call("1"))], known),
    [assistant(SEALED, OTHER, call("1"))],
  );
});

Deno.test("restoreReasoning() does not change other sealed parts, unknown calls, or turns of the user", () => {
  const turns = [
    assistant(SEALED, call("1")),
    assistant(THOUGHT, call("unknown")),
    { role: "user", blocks: [TEXT] },
  ] as const;
  assert.deepEqual(recalled(turns, { "1": kept(OTHER, made("1")) }), turns);
});

Deno.test("restoreReasoning() sends only the readable part to other upstreams", () => {
  const known = { "1": kept(SEALED, { ...made("1"), sealed: SIGNATURE }) };
  assert.deepEqual(
    recalled([assistant(call("1"))], known, () => false),
    [assistant({ ...THOUGHT, sealed: undefined }, call("1"))],
  );
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
    recalled([
      assistant(SEALED, call("1"), call("2")),
    ], { "1": thoughts, "2": thoughts }),
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
): RememberedReasoning["pieces"][number] => ({
  kind: "text",
  length: text.length,
  message,
});

Deno.test("reasoningToRemember() keeps the phases of an answer's messages", () => {
  const pieces = [said(COMMENTARY), made("1"), said(FINAL)];
  assert.deepEqual(reasoningToRemember(pieces), { pieces });
  assert.equal(reasoningToRemember([said(COMMENTARY), said(FINAL)]), undefined);
});

Deno.test("restoreReasoning() splits a text only if it equals the joined texts of the answer's messages", () => {
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
  assert.deepEqual(
    recalled([assistant(text, call("1"))], known),
    [assistant(SEALED, COMMENTARY, OTHER, FINAL, call("1"))],
  );
});
