import assert from "node:assert/strict";
import { runStage } from "../../../../src/core/stage.ts";
import type { AnswerBlock } from "../../../../src/protocols/canonical/content/block.ts";
import {
  bindReasoning,
  longerPrefix,
  prefixBehind,
  type ReturningReasoning,
  unbrokenRun,
} from "../../../../src/protocols/canonical/answer/bound.ts";
import {
  foldAnswer,
  unfoldAnswer,
} from "../../../../src/protocols/canonical/answer/fold.ts";
import {
  type SealBinding,
  sealDigest,
} from "../../../../src/protocols/canonical/content/sealed.ts";
import type { AnswerEvent } from "../../../../src/protocols/canonical/stream/event.ts";

const seal = (value: string) =>
  ({ protocol: "messages", form: "signature", value }) as const;
const thought = (value?: string): AnswerBlock => ({
  kind: "reasoning",
  parts: [{ form: "raw", text: "hm" }],
  sealed: value === undefined ? undefined : seal(value),
});
const call = (id: string): AnswerBlock => ({
  kind: "function_call",
  id,
  name: "f",
  arguments: "{}",
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

Deno.test("bindReasoning() binds each sealed thought to the request and to the thought before it", () => {
  assert.deepEqual(boundsOf([thought("1"), thought(), thought("2")]), [
    { prefix: "p", after: "b" },
    { prefix: "p", after: sealDigest({ value: "1" }) },
  ]);
});

Deno.test("bindReasoning() binds a thought to the answer's text before it, and calls to nothing", () => {
  const said = { kind: "text", length: 2 } as const;
  const behind = prefixBehind("p", said);
  const text: AnswerBlock = { kind: "text", text: "so" };
  const [first, second] = boundsOf([
    text,
    thought("1"),
    call("c"),
    thought("2"),
  ]);
  assert.equal(first?.prefix, behind);
  assert.equal(second?.prefix, prefixBehind(behind, { kind: "call", id: "c" }));
});

Deno.test("bindReasoning() binds a thought after a block that no caller returns to a prefix that no request has", () => {
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

Deno.test("longerPrefix() distinguishes every order and every part", () => {
  const prefixes = [
    ["a", "b"],
    ["b", "a"],
    ["ab", ""],
    ["a", "b", ""],
    [],
  ].map((pieces) => pieces.reduce(longerPrefix, ""));
  assert.equal(new Set(prefixes).size, prefixes.length);
});

Deno.test("prefixBehind() distinguishes texts of other lengths, and other calls", () => {
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

Deno.test("unbrokenRun() keeps unchanged reasoning, and drops it from the beginning only", () => {
  const [a, b, c] = [returning("a"), returning("b", "a"), returning("c", "b")];
  assert.equal(runOf(a, b, c), "abc");
  assert.equal(runOf(b, c), "bc");
  assert.equal(runOf(a, c), "c");
  assert.equal(runOf(a, b), "ab");
  assert.equal(runOf(), "");
});

Deno.test("unbrokenRun() drops reasoning after another prefix, and reasoning that depends on it", () => {
  const [a, b] = [returning("a"), returning("b", "a")];
  assert.equal(runOf(a, b, returning("c", "b", false)), "ab");
  assert.equal(runOf(a, returning("b", "a", false), returning("c", "b")), "c");
  assert.equal(runOf(returning("a", undefined, false), b), "b");
});

Deno.test("unbrokenRun() skips reasoning that did not exist when the next was made", () => {
  const [a, b] = [returning("a"), returning("b", "a")];
  assert.equal(runOf(a, returning("x", "y"), b), "ab");
  assert.equal(runOf(a, b, returning("c")), "c");
});

Deno.test("unbrokenRun() drops reasoning with an unknown binding", () => {
  const unknown = { digest: "u", bound: undefined, prefix: "p" };
  assert.equal(runOf(unknown), "");
  assert.equal(runOf(returning("a"), unknown), "a");
});
