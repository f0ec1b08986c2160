import assert from "node:assert/strict";
import type { RememberedReasoning } from "../../../src/protocols/canonical/answer/remembered_reasoning.ts";
import { createReasoningMemory } from "../../../src/relay/translated/reasoning_memory.ts";

const SEALED = { protocol: "messages", form: "signature", value: "s" } as const;

function reasoningOf(text: string, ...callIds: string[]): RememberedReasoning {
  return {
    pieces: [
      {
        kind: "reasoning",
        parts: [{ form: "raw", text }],
        sealed: SEALED,
      },
      ...callIds.map((id) => ({ kind: "call", id }) as const),
    ],
  };
}

function storeAt(options: { ttlMs?: number; maxCharacters?: number } = {}) {
  let nowMs = 0;
  const clock = { now: () => nowMs, elapsedMs: () => nowMs };
  return {
    store: createReasoningMemory({ clock, ...options }),
    pass: (ms: number) => nowMs += ms,
  };
}

const ALICE = { callerSha256: "alice", callId: "call_1" };

Deno.test("the reasoning store returns reasoning for each tool call of its answer", () => {
  const { store } = storeAt();
  const kept = reasoningOf("because", "call_1", "call_2");
  store.keep("alice", kept);
  assert.deepEqual(store.recall(ALICE), kept);
  assert.deepEqual(store.recall({ ...ALICE, callId: "call_2" }), kept);
  assert.equal(store.recall({ ...ALICE, callId: "call_3" }), undefined);
});

Deno.test("the reasoning store returns no reasoning of another caller", () => {
  const { store } = storeAt();
  store.keep("alice", reasoningOf("secret", "call_1"));
  assert.equal(store.recall({ ...ALICE, callerSha256: "bob" }), undefined);
});

Deno.test("the reasoning store drops reasoning that was not recalled in time", () => {
  const { store, pass } = storeAt({ ttlMs: 1000 });
  store.keep("alice", reasoningOf("old", "call_1"));
  pass(999);
  assert.ok(store.recall(ALICE));
  pass(999);
  assert.ok(store.recall(ALICE));
  pass(1000);
  assert.equal(store.recall(ALICE), undefined);
});

Deno.test("the reasoning store keeps the later reasoning of a repeated call when the earlier one expires", () => {
  const { store, pass } = storeAt({ ttlMs: 1000 });
  const later = reasoningOf("later", "call_1");
  store.keep("alice", reasoningOf("earlier", "call_1"));
  pass(600);
  store.keep("alice", later);
  pass(600);
  assert.deepEqual(store.recall(ALICE), later);
});

Deno.test("the reasoning store drops the reasoning first that was not recalled", () => {
  const { store } = storeAt({ maxCharacters: 1500 });
  const text = "x".repeat(300);
  store.keep("alice", reasoningOf(text, "call_1"));
  store.keep("alice", reasoningOf(text, "call_2"));
  assert.ok(store.recall(ALICE));
  store.keep("alice", reasoningOf(text, "call_3"));
  assert.deepEqual(store.known("alice"), new Set(["call_1", "call_3"]));
});

Deno.test("the reasoning store drops the reasoning of the caller who holds most, not of others", () => {
  const { store } = storeAt({ maxCharacters: 2500 });
  const text = "x".repeat(300);
  store.keep("bob", reasoningOf(text, "call_b1"));
  for (let count = 1; count <= 20; count++) {
    store.keep("alice", reasoningOf(text, `call_${count}`));
  }
  assert.deepEqual(store.known("bob"), new Set(["call_b1"]));
  assert.deepEqual(
    store.known("alice"),
    new Set(["call_18", "call_19", "call_20"]),
  );
  store.keep("bob", reasoningOf(text, "call_b2"));
  assert.deepEqual(store.known("bob"), new Set(["call_b1", "call_b2"]));
  assert.deepEqual(store.known("alice"), new Set(["call_19", "call_20"]));
  store.refuse("carol", ["d".repeat(64)]);
  store.keep("alice", reasoningOf("x".repeat(3000), "call_long"));
  assert.deepEqual(store.known("alice"), new Set());
  assert.equal(store.known("bob").size, 2);
  assert.equal(store.refused("carol").size, 1);
});

Deno.test("the reasoning store keeps the refused reasoning of a caller, with the same limits", () => {
  const { store, pass } = storeAt({ ttlMs: 1000, maxCharacters: 500 });
  store.refuse("alice", ["a", "b"]);
  store.refuse("alice", []);
  assert.deepEqual(store.refused("alice"), new Set(["a", "b"]));
  assert.deepEqual(store.refused("bob"), new Set());
  assert.deepEqual(store.known("alice"), new Set());
  pass(1000);
  assert.deepEqual(store.refused("alice"), new Set());
  for (let count = 0; count < 50; count++) store.refuse("bob", [`${count}`]);
  assert.ok(store.refused("bob").size < 10);
  assert.ok(store.refused("bob").has("49"));
});

Deno.test("the reasoning store drops the oldest when it grows past its bound", () => {
  const { store } = storeAt({ maxCharacters: 1000 });
  for (let count = 0; count < 50; count++) {
    store.keep("alice", reasoningOf("x".repeat(300), `call_${count}`));
  }
  assert.equal(store.recall({ ...ALICE, callId: "call_0" }), undefined);
  assert.ok(store.recall({ ...ALICE, callId: "call_49" }));
});

Deno.test("the reasoning memory keeps the newer answer of a repeated id", () => {
  const { store } = storeAt({ ttlMs: 1000 });
  store.keep("alice", reasoningOf("first", "call_1"));
  store.keep("alice", reasoningOf("second", "call_1"));
  assert.deepEqual(store.recall(ALICE), reasoningOf("second", "call_1"));
});

Deno.test("the reasoning store counts the signatures of calls, however many answers hold nothing else", () => {
  const { store } = storeAt({ maxCharacters: 10_000 });
  for (let count = 0; count < 100; count++) {
    const callId = `call_${count}`;
    const sealed = { ...SEALED, value: "x".repeat(500) };
    store.keep("alice", { pieces: [{ kind: "call", id: callId, sealed }] });
  }
  assert.equal(store.recall({ ...ALICE, callId: "call_0" }), undefined);
  assert.equal(store.recall({ ...ALICE, callId: "call_80" }), undefined);
  assert.ok(store.recall({ ...ALICE, callId: "call_99" }));
});
