import assert from "node:assert/strict";
import type { ReasoningBlock } from "../../src/protocols/canonical/block.ts";
import { createSealStore } from "../../src/relay/seal_store.ts";

function reasoning(text: string): ReasoningBlock {
  return {
    kind: "reasoning",
    parts: [{ form: "raw", text }],
    sealed: { protocol: "messages", form: "signature", value: "sig" },
  };
}

function storeAt(options: { ttlMs?: number; maxCharacters?: number } = {}) {
  let nowMs = 0;
  const clock = { now: () => nowMs, elapsedMs: () => nowMs };
  return {
    store: createSealStore({ clock, ...options }),
    pass: (ms: number) => nowMs += ms,
  };
}

const ALICE = { callerSha256: "alice", callId: "call_1" };

Deno.test("the seal store gives reasoning back for each tool call of its answer", () => {
  const { store } = storeAt();
  const blocks = [reasoning("because")];
  store.keep([ALICE, { ...ALICE, callId: "call_2" }], blocks);
  assert.deepEqual(store.recall(ALICE), blocks);
  assert.deepEqual(store.recall({ ...ALICE, callId: "call_2" }), blocks);
  assert.equal(store.recall({ ...ALICE, callId: "call_3" }), undefined);
});

Deno.test("the seal store gives nobody the reasoning of another caller", () => {
  const { store } = storeAt();
  store.keep([ALICE], [reasoning("secret")]);
  assert.equal(store.recall({ ...ALICE, callerSha256: "bob" }), undefined);
});

Deno.test("the seal store forgets reasoning that waited too long", () => {
  const { store, pass } = storeAt({ ttlMs: 1000 });
  store.keep([ALICE], [reasoning("old")]);
  pass(999);
  assert.ok(store.recall(ALICE));
  pass(1);
  assert.equal(store.recall(ALICE), undefined);
});

Deno.test("the seal store drops the oldest when it grows past its bound", () => {
  const { store } = storeAt({ maxCharacters: 1000 });
  for (let count = 0; count < 50; count++) {
    store.keep([{ ...ALICE, callId: `call_${count}` }], [
      reasoning("x".repeat(300)),
    ]);
  }
  assert.equal(store.recall({ ...ALICE, callId: "call_0" }), undefined);
  assert.ok(store.recall({ ...ALICE, callId: "call_49" }));
});

Deno.test("the seal store keeps the newer answer when an id comes up again", () => {
  const { store } = storeAt({ ttlMs: 1000 });
  store.keep([ALICE], [reasoning("first")]);
  store.keep([ALICE], [reasoning("second")]);
  assert.deepEqual(store.recall(ALICE), [reasoning("second")]);
});
