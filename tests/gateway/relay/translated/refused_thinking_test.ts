import assert from "node:assert/strict";
import { ALICE_TOKEN } from "../../../support/gateway/config.ts";
import {
  agentOf,
  assertNeverRefused,
  MODEL,
  objects,
  type Place,
  sceneOf,
  statuses,
} from "../../../support/gateway/preserving_scene.ts";
import { Anthropic, OpenAI } from "../../../support/sdk/sdks.ts";
import type { RememberedReasoning } from "../../../../src/codecs/canonical/answer/remembered_reasoning.ts";
import { createReasoningMemory } from "../../../../src/gateway/relay/translated/reasoning_memory.ts";

// https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation

Deno.test("only a model with prefix checks at Anthropic's endpoint is asked to drop mismatched thinking", async () => {
  const asked = async (
    place: Place,
    model: string,
    connection: Record<string, unknown> = {},
  ) => {
    const scene = await sceneOf({}, { place, connection });
    const agent = agentOf(scene);
    agent.model = model;
    await agent.turn();
    const last = scene.provider.judged.at(-1);
    return {
      thinking: last?.body.thinking,
      beta: last?.headers.get("anthropic-beta") ?? undefined,
    };
  };
  const beta = "thinking-binding-controls-2026-08-01";
  const thinking = {
    type: "adaptive",
    block_binding: { prefix_mismatch_behavior: "drop_block" },
  };
  const none = { thinking: undefined, beta: undefined };
  assert.deepEqual(await asked("own", MODEL), { thinking, beta });
  assert.deepEqual(await asked("own", "claude-sonnet-4-5"), none);
  assert.deepEqual(await asked("own", "claude-opus-5"), none);
  assert.deepEqual(await asked("custom", MODEL), none);
  // The preset's name does not show the target of a request.
  const elsewhere = { endpoints: { messages: "https://proxy.example/v1" } };
  assert.deepEqual(await asked("own", MODEL, elsewhere), none);
  const headers = { "anthropic-beta": "context-1m-2025-08-07" };
  assert.deepEqual(await asked("own", MODEL, { headers }), {
    thinking,
    beta: `context-1m-2025-08-07,${beta}`,
  });
});

Deno.test("dropped earlier thinking is in the log line and in x-gateway-dropped, and is not sent again", async () => {
  for (const isStream of [false, true]) {
    let bytes = "one";
    const scene = await sceneOf({ hidden: () => bytes }, { place: "own" });
    const agent = agentOf(scene, isStream);
    await agent.turns(2);
    bytes = "other";
    await agent.turn();
    assert.deepEqual(scene.provider.judged.at(-1)?.dropped, [
      { path: "messages.1.content.0", reason: "prefix_binding_mismatch" },
      { path: "messages.3.content.0", reason: "prefix_binding_mismatch" },
    ]);
    const headers = agent.headers.at(-1) ?? new Headers();
    assert.equal(headers.get("x-gateway-dropped"), "reasoning_details");
    const line = await scene.lines.of({ headers });
    assert.deepEqual(line.dropped, ["reasoning_details"]);
    assert.deepEqual(line.reasoning_dropped, ["prefix_binding_mismatch"]);
    await agent.turns(2);
    assert.deepEqual(scene.provider.thoughts(), ["t3", "t4"]);
    assert.deepEqual(statuses(scene.provider), [200, 200, 200, 200, 200]);
  }
});

Deno.test("a refusal of earlier thinking is retried once without it, on the same connection, and the log reports it", async () => {
  for (const model of [MODEL, "team-model"]) {
    let bytes = "one";
    const scene = await sceneOf({ hidden: () => bytes });
    const agent = agentOf(scene);
    agent.model = model;
    await agent.turns(2);
    bytes = "other";
    await agent.turn();
    assert.deepEqual(statuses(scene.provider), [200, 200, 400, 200]);
    const headers = agent.headers.at(-1) ?? new Headers();
    assert.equal(headers.get("x-gateway-dropped"), "reasoning_details");
    const line = await scene.lines.of({ headers });
    assert.deepEqual(line.reasoning_dropped, ["refused"]);
    assert.equal(line.attempts, undefined);
    await agent.turns(2);
    assert.deepEqual(scene.provider.thoughts(), ["t3", "t4"]);
    assert.equal(statuses(scene.provider).length, 6);
  }
});

Deno.test("a refusal of earlier thinking is retried even in the last attempt", async () => {
  let bytes = "one";
  const scene = await sceneOf({ hidden: () => bytes }, {
    broken: ["first", "second"],
  });
  const agent = agentOf(scene);
  agent.isEcho = true;
  await agent.turn();
  bytes = "other";
  // Another replica does not know the connection of the conversation.
  scene.swap();
  await agent.turn();
  assert.deepEqual(statuses(scene.provider), [200, 400, 200]);
  const headers = agent.headers.at(-1) ?? new Headers();
  const { attempts } = await scene.lines.of({ headers });
  assert.deepEqual(objects(attempts).map(({ status }) => status), [
    500,
    500,
    200,
  ]);
});

Deno.test("a 400 about anything but thinking is not retried, with or without thinking in the request", async () => {
  let isOdd = true;
  const scene = await sceneOf({
    answer: () => {
      if (isOdd) throw new Error("messages: too odd");
      return [{ thinking: "Hm." }, { call: "look" }];
    },
  });
  const agent = agentOf(scene);
  const refused = { name: "AssertionError", message: /too odd/ };
  await assert.rejects(agent.turn(), refused);
  isOdd = false;
  await agent.turn();
  isOdd = true;
  await assert.rejects(agent.turn(), refused);
  assert.deepEqual(scene.provider.thoughts(), ["t1"]);
  assert.deepEqual(statuses(scene.provider), [400, 200, 400]);
});

/** Sends a turn with the official SDK, which returns all earlier answers. */
async function echoTurn(
  sdk: OpenAI,
  messages: OpenAI.ChatCompletionMessageParam[],
  isStream: boolean,
): Promise<OpenAI.ChatCompletionMessage> {
  const body = {
    model: MODEL,
    messages,
    tools: ["look", "write"].map((name) => ({
      type: "function" as const,
      function: { name, parameters: { type: "object" } },
    })),
  };
  const completion = isStream
    ? await sdk.chat.completions.stream(body).finalChatCompletion()
    : await sdk.chat.completions.create(body);
  const message = completion.choices[0]?.message;
  assert.ok(message);
  messages.push(message);
  for (const { id } of message.tool_calls ?? []) {
    messages.push({ role: "tool", tool_call_id: id, content: "ok" });
  }
  return message;
}

for (const isStream of [false, true]) {
  for (const isRestarted of [false, true]) {
    const how = `${isStream ? "gathered from a stream" : "received whole"}${
      isRestarted ? ", after a restart" : ""
    }`;
    Deno.test(`the OpenAI SDK can send back an answer that it ${how}, even with damaged thinking`, async () => {
      const scene = await sceneOf({
        answer: () => [
          { thinking: "A thought in several pieces." },
          { redacted: true },
          { call: "look" },
        ],
      });
      const sdk = new OpenAI({
        baseURL: "http://gateway.test/v1",
        apiKey: ALICE_TOKEN,
        maxRetries: 0,
        fetch: scene.fetch,
      });
      const messages: OpenAI.ChatCompletionMessageParam[] = [
        { role: "user", content: "Work" },
      ];
      const first = await echoTurn(sdk, messages, isStream);
      const { reasoning_content } = JSON.parse(JSON.stringify(first));
      // The SDK keeps only the last fragment of an unknown field.
      assert.equal(
        reasoning_content === "A thought in several pieces.",
        !isStream,
      );
      if (isRestarted) scene.restart();
      await echoTurn(sdk, messages, isStream);
      await echoTurn(sdk, messages, isStream);
      assert.deepEqual(
        scene.provider.thoughts(),
        isRestarted && isStream ? ["t3", "t4"] : ["t1", "t2", "t3", "t4"],
      );
      assertNeverRefused(scene);
    });
  }
}

Deno.test("the Anthropic SDK gets the provider's own 400 natively after one unchanged request", async () => {
  const scene = await sceneOf({
    answer: () => [{ thinking: "Hm." }, { call: "look" }],
  });
  const sdk = new Anthropic({
    baseURL: "http://gateway.test",
    apiKey: ALICE_TOKEN,
    maxRetries: 0,
    fetch: scene.fetch,
  });
  const question = {
    role: "user" as const,
    content: [{ type: "text" as const, text: "Work" }],
  };
  const ask = (system: string, messages: Anthropic.MessageParam[]) =>
    sdk.messages.create({ model: MODEL, max_tokens: 100, system, messages });
  const first = await ask("You work.", [question]);
  const history: Anthropic.MessageParam[] = [question, {
    role: "assistant",
    content: first.content,
  }, {
    role: "user",
    content: [{ type: "tool_result", tool_use_id: "toolu_1", content: [] }],
  }];
  await ask("You work.", history);
  assert.deepEqual(scene.provider.thoughts(), ["t1"]);
  const refused = await ask("You rest.", history).catch((error) => error);
  assert.ok(refused instanceof Error && "status" in refused);
  assert.equal(refused.status, 400);
  assert.match(refused.message, /bound to a different conversation/);
  assert.deepEqual(statuses(scene.provider), [200, 200, 400]);
});

Deno.test("a strict connection does not refuse a request without its remembered thinking", async () => {
  const scene = await sceneOf({}, { connection: { strict: true } });
  const agent = agentOf(scene);
  await agent.turns(2);
  agent.system = "You rest.";
  await agent.turn();
  assert.deepEqual(scene.provider.thoughts(), []);
  assertNeverRefused(scene);
});

const SEALED = { protocol: "messages", form: "signature", value: "s" } as const;

function reasoningOf(text: string, ...callIds: string[]): RememberedReasoning {
  return {
    pieces: [
      { kind: "reasoning", parts: [{ form: "raw", text }], sealed: SEALED },
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

Deno.test("the reasoning store returns an answer's reasoning for each of the answer's tool calls", () => {
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

Deno.test("the reasoning store first drops reasoning that was never recalled", () => {
  const { store } = storeAt({ maxCharacters: 1500 });
  const text = "x".repeat(300);
  store.keep("alice", reasoningOf(text, "call_1"));
  store.keep("alice", reasoningOf(text, "call_2"));
  assert.ok(store.recall(ALICE));
  store.keep("alice", reasoningOf(text, "call_3"));
  assert.deepEqual(store.known("alice"), new Set(["call_1", "call_3"]));
});

Deno.test("the reasoning store drops only reasoning of the caller with the most stored reasoning", () => {
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

Deno.test("the reasoning store remembers a caller's refused reasoning within the same limits", () => {
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

Deno.test("the reasoning store drops the oldest reasoning at its size limit", () => {
  const { store } = storeAt({ maxCharacters: 1000 });
  for (let count = 0; count < 50; count++) {
    store.keep("alice", reasoningOf("x".repeat(300), `call_${count}`));
  }
  assert.equal(store.recall({ ...ALICE, callId: "call_0" }), undefined);
  assert.ok(store.recall({ ...ALICE, callId: "call_49" }));
});

Deno.test("the reasoning store keeps the newer reasoning for a repeated call id", () => {
  const { store } = storeAt({ ttlMs: 1000 });
  store.keep("alice", reasoningOf("first", "call_1"));
  store.keep("alice", reasoningOf("second", "call_1"));
  assert.deepEqual(store.recall(ALICE), reasoningOf("second", "call_1"));
});

Deno.test("the reasoning store counts the signatures of calls against its size limit", () => {
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
