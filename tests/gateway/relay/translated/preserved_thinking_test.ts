import assert from "node:assert/strict";
import { createRandom } from "../../../support/fakes/random.ts";
import { ALICE_TOKEN } from "../../../support/gateway/config.ts";
import {
  agentOf,
  assertNeverRefused,
  BOB_TOKEN,
  MODEL,
  objects,
  type Place,
  type Scene,
  sceneOf,
  statuses,
} from "../../../support/gateway/preserving_scene.ts";
import type { Said } from "../../../support/upstream/preserving_provider.ts";
import type { JsonObject } from "../../../../src/base/json.ts";
import { responseOfSdk } from "../../../support/sdk/sdk_answers.ts";

// Since Claude Fable 5.1, a thinking block is valid only after the same system text, tools and
// messages, and after the same preceding thinking block. Otherwise the request is a 400
// (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking). A Chat agent does not
// know that rule. It must never see that 400, however it changes its history.

const HOUR_MS = 3_600_000;

const TWO_CALLS = [{ thinking: "Both." }, { call: "look" }, { call: "write" }];
const DONE = [{ thinking: "Enough." }, { text: "Done." }];

for (const place of ["own", "custom"] as const) {
  const at = place === "own" ? "Anthropic" : "a custom endpoint";

  for (const isStream of [false, true]) {
    Deno.test(`a Chat agent with an append-only history keeps all its thinking at ${at}, ${isStream ? "streamed" : "whole"}`, async () => {
      const scene = await sceneOf({}, { place });
      const agent = agentOf(scene, isStream);
      await agent.turns(4);
      assert.deepEqual(scene.provider.thoughts(), ["t1", "t2", "t3"]);
      assertNeverRefused(scene);
    });
  }

  Deno.test(`a Chat agent that changes its system text continues at ${at} with its later thinking`, async () => {
    const scene = await sceneOf({}, { place });
    const agent = agentOf(scene);
    await agent.turns(3);
    agent.system = "You work. It is Tuesday.";
    await agent.turn();
    assert.deepEqual(scene.provider.thoughts(), []);
    await agent.turns(2);
    assert.deepEqual(scene.provider.thoughts(), ["t4", "t5"]);
    assertNeverRefused(scene);
  });

  Deno.test(`a Chat agent that alternates between two system texts keeps the thinking of each at ${at}`, async () => {
    const scene = await sceneOf({}, { place });
    const agent = agentOf(scene);
    await agent.turns(2);
    agent.system = "You plan.";
    await agent.turns(2);
    agent.system = "You work.";
    await agent.turns(2);
    assert.deepEqual(scene.provider.thoughts(), ["t1", "t2", "t5"]);
    agent.system = "You plan.";
    await agent.turns(2);
    assert.deepEqual(scene.provider.thoughts(), ["t3", "t4", "t7"]);
    assertNeverRefused(scene);
  });

  Deno.test(`a Chat agent that changes its tools continues at ${at}, and keeps its thinking if only their order changed`, async () => {
    const scene = await sceneOf({}, { place });
    const agent = agentOf(scene);
    await agent.turns(2);
    agent.tools.reverse();
    await agent.turn();
    assert.deepEqual(scene.provider.thoughts(), ["t1", "t2"]);
    agent.tools.push("search");
    await agent.turn();
    assert.deepEqual(scene.provider.thoughts(), []);
    await agent.turn();
    assert.deepEqual(scene.provider.thoughts(), ["t4"]);
    assertNeverRefused(scene);
  });

  Deno.test(`a Chat agent that trims or summarizes its history continues at ${at}`, async () => {
    const scene = await sceneOf({}, { place });
    const agent = agentOf(scene);
    await agent.turns(4);
    // The first answer and its result.
    agent.messages.splice(1, 2);
    await agent.turns(2);
    assert.deepEqual(scene.provider.thoughts(), ["t5"]);
    agent.messages.splice(0, 5, { role: "user", content: "So far: all." });
    await agent.turns(2);
    assert.deepEqual(scene.provider.thoughts(), ["t7"]);
    assertNeverRefused(scene);
  });

  Deno.test(`a Chat agent that edits an earlier result keeps the thinking before it at ${at}`, async () => {
    const scene = await sceneOf({}, { place });
    const agent = agentOf(scene);
    await agent.turns(4);
    // The result of the second call.
    const result = agent.messages[4];
    assert.ok(result?.role === "tool");
    result.content = "[cleared]";
    await agent.turn();
    assert.deepEqual(scene.provider.thoughts(), ["t1", "t2"]);
    await agent.turn();
    assert.deepEqual(scene.provider.thoughts(), ["t1", "t2", "t5"]);
    assertNeverRefused(scene);
  });

  Deno.test(`a restart between two turns costs a Chat agent its thinking at ${at}, but causes no error`, async () => {
    const scene = await sceneOf({}, { place });
    const agent = agentOf(scene);
    await agent.turns(3);
    scene.restart();
    await agent.turn();
    assert.deepEqual(scene.provider.thoughts(), []);
    await agent.turns(2);
    assert.deepEqual(scene.provider.thoughts(), ["t4", "t5"]);
    assertNeverRefused(scene);
  });

  Deno.test(`a Chat agent with parallel calls keeps its thinking at ${at}`, async () => {
    const scene = await sceneOf({ answer: () => TWO_CALLS }, { place });
    const agent = agentOf(scene);
    await agent.turns(3);
    assert.deepEqual(scene.provider.thoughts(), ["t1", "t2"]);
    assertNeverRefused(scene);
  });

  Deno.test(`a Chat agent keeps its thinking at ${at} after a final answer and another question`, async () => {
    let turn = 0;
    const scene = await sceneOf({
      answer: () => ++turn % 2 === 0 ? DONE : TWO_CALLS,
    }, { place });
    const agent = agentOf(scene);
    for (let question = 0; question < 3; question++) {
      await agent.turns(2);
      agent.say(`And ${question}?`);
    }
    assert.deepEqual(scene.provider.thoughts(), ["t1", "t3", "t5"]);
    assertNeverRefused(scene);
  });
}

Deno.test("a Chat agent that works for hours keeps its thinking", async () => {
  const scene = await sceneOf();
  const agent = agentOf(scene);
  for (let turn = 0; turn < 5; turn++) {
    await agent.turn();
    scene.clock.advance(HOUR_MS * 0.6);
  }
  assert.deepEqual(scene.provider.thoughts(), ["t1", "t2", "t3", "t4"]);
  scene.clock.advance(HOUR_MS);
  await agent.turns(2);
  assert.deepEqual(scene.provider.thoughts(), ["t6"]);
  assertNeverRefused(scene);
});

Deno.test("a conversation and its branch each keep their own thinking", async () => {
  const scene = await sceneOf();
  const agent = agentOf(scene);
  await agent.turns(2);
  const branch = agentOf(scene);
  branch.messages.splice(0, 1, ...agent.messages);
  agent.say("Left");
  branch.say("Right");
  for (let turn = 0; turn < 2; turn++) {
    await agent.turn();
    await branch.turn();
  }
  assert.deepEqual(scene.provider.thoughts(), ["t1", "t2", "t4"]);
  await agent.turn();
  assert.deepEqual(scene.provider.thoughts(), ["t1", "t2", "t3", "t5"]);
  assertNeverRefused(scene);
});

Deno.test("each of two alternating replicas returns only consecutive reasoning that the replica knows", async () => {
  const scene = await sceneOf();
  const agent = agentOf(scene);
  for (const turns of [1, 2, 1, 3]) {
    await agent.turns(turns);
    scene.swap();
  }
  // The other replica knows the first answer and the fourth.
  await agent.turn();
  assert.deepEqual(scene.provider.thoughts(), ["t1", "t4"]);
  scene.swap();
  await agent.turn();
  assert.deepEqual(scene.provider.thoughts(), ["t2", "t3", "t5", "t6", "t7"]);
  assertNeverRefused(scene);
});

const SHAPES: readonly (readonly Said[])[] = [
  [{ thinking: "Look." }, { call: "look" }],
  [{ thinking: "" }, { text: "I look." }, { call: "look" }, { call: "write" }],
  [{ thinking: "A." }, { redacted: true }, { call: "write" }],
  [{ thinking: "A." }, { call: "look" }, { thinking: "B." }, { call: "write" }],
  [{ thinking: "A." }, { text: "One." }, { thinking: "B." }, { text: "Two." }, {
    call: "look",
  }],
  [{ call: "look" }],
  DONE,
  [{ text: "Done." }],
];

Deno.test("a Chat agent is never rejected after any change of its history, and loses no thinking without need", async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const { below, pick } = createRandom(seed);
    const scene = await sceneOf(
      { answer: () => pick(SHAPES), checks: (model) => model === MODEL },
      { place: pick(["own", "custom"] as const) },
    );
    const agent = agentOf(scene, below(2) === 0);
    agent.isEcho = below(3) === 0;
    const acts: readonly (() => void)[] = [
      () => agent.system = `You work. It is day ${below(2)}.`,
      () => agent.tools = pick([["look", "write"], ["write"], ["look"]]),
      () => {
        const message = pick(agent.messages);
        if (message.role !== "assistant") message.content = `edit ${below(9)}`;
      },
      () => {
        // Only whole turns: a call without its result is another case.
        const starts = agent.messages.flatMap(({ role }, index) =>
          role === "tool" ? [] : [index]
        );
        agent.messages.splice(1, Math.max(0, pick(starts) - 1));
      },
      () => agent.model = pick([MODEL, MODEL, "claude-opus-5"]),
      () => agent.token = pick([ALICE_TOKEN, ALICE_TOKEN, BOB_TOKEN]),
      () => scene.clock.advance(HOUR_MS * below(2)),
      () => agent.isEcho = !agent.isEcho,
      scene.restart,
      scene.swap,
    ];
    for (let turn = 0; turn < 15; turn++) {
      if (below(3) === 0) pick(acts)();
      if (agent.messages.at(-1)?.role === "assistant") agent.say(`${turn}`);
      await agent.turn();
    }
    assertNeverRefused(scene);
  }
});

Deno.test("another token with the same history gets none of the thinking", async () => {
  const scene = await sceneOf();
  const agent = agentOf(scene);
  await agent.turns(2);
  agent.token = BOB_TOKEN;
  await agent.turn();
  assert.deepEqual(scene.provider.thoughts(), []);
  agent.token = ALICE_TOKEN;
  await agent.turn();
  // Bob's answer is between them, and Alice never gets his reasoning.
  assert.deepEqual(scene.provider.thoughts(), ["t1", "t2"]);
  assertNeverRefused(scene);
});

Deno.test("after a switch between two Claude models, the provider gets all thinking and decides what to use", async () => {
  const scene = await sceneOf({
    reads: (reader, author) => reader === author || reader === MODEL,
    checks: (model) => model === MODEL,
  }, { place: "own" });
  const agent = agentOf(scene);
  await agent.turns(2);
  agent.model = "claude-opus-5";
  await agent.turn();
  assert.deepEqual(scene.provider.thoughts(), ["t1", "t2"]);
  agent.model = MODEL;
  await agent.turns(2);
  assert.deepEqual(scene.provider.thoughts(), ["t1", "t2", "t3", "t4"]);
  assert.ok(statuses(scene.provider).every((status) => status === 200));
});

Deno.test("a Claude without prefix checks gets its thinking back after another system text", async () => {
  const scene = await sceneOf({ checks: () => false });
  const agent = agentOf(scene);
  agent.model = "claude-sonnet-4-5";
  await agent.turns(2);
  agent.system = "You work. It is Tuesday.";
  await agent.turn();
  assert.deepEqual(scene.provider.thoughts(), ["t1", "t2"]);
});

Deno.test("thinking between two tool calls keeps its position in the history", async () => {
  const scene = await sceneOf({
    answer: () => [
      { thinking: "First." },
      { text: "I begin." },
      { thinking: "" },
      { call: "look" },
      { redacted: true },
      { call: "write" },
    ],
  });
  const agent = agentOf(scene);
  await agent.turns(3);
  assert.deepEqual(scene.provider.thoughts(), [
    ...["t1", "t2", "t3"],
    ...["t4", "t5", "t6"],
  ]);
  assertNeverRefused(scene);
});

Deno.test("thinking is left out after a text that a Chat caller cannot return unchanged", async () => {
  const scene = await sceneOf({
    answer: () => [
      { thinking: "First." },
      { text: "I begin." },
      { thinking: "Second." },
      { text: "I go on." },
      { call: "look" },
    ],
  });
  const agent = agentOf(scene);
  await agent.turns(3);
  assert.deepEqual(scene.provider.thoughts(), ["t1", "t3"]);
  assertNeverRefused(scene);
});

// Codex with a Claude that binds its thinking to the text before it.
// Codex sends back each item of an answer without its id, so the envelopes need no memory.

/** An agent that sends requests like Codex. */
interface Codex {
  instructions: string;
  tools: string[];
  model: string;
  readonly input: JsonObject[];
  turn(): Promise<void>;
  turns(count: number): Promise<void>;
}

function codexOf(scene: Scene, isStream: boolean): Codex {
  const codex: Codex = {
    instructions: "You work.",
    tools: ["look", "write"],
    model: MODEL,
    input: [{ role: "developer", content: "In /work." }, user("Work")],
    async turn() {
      const response = await scene.fetch("http://gateway.test/v1/responses", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          authorization: `Bearer ${ALICE_TOKEN}`,
        },
        body: JSON.stringify({
          model: codex.model,
          stream: isStream,
          store: false,
          include: ["reasoning.encrypted_content"],
          prompt_cache_key: "thread-1",
          reasoning: { effort: "medium", summary: "auto" },
          instructions: codex.instructions,
          input: codex.input,
          tools: codex.tools.map((name) => ({
            type: "function",
            name,
            parameters: { type: "object", properties: {} },
          })),
        }),
      });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      const { output } = isStream
        ? await responseOfSdk(text)
        : JSON.parse(text);
      const items = objects(JSON.parse(JSON.stringify(output)));
      for (const { id: _id, status: _status, ...item } of items) {
        codex.input.push(item);
      }
      for (const { type, call_id = "" } of items) {
        if (type !== "function_call") continue;
        const output = `result of ${call_id}`;
        codex.input.push({ type: "function_call_output", call_id, output });
      }
    },
    async turns(count) {
      for (let turn = 0; turn < count; turn++) await codex.turn();
    },
  };
  return codex;
}

function user(content: string): JsonObject {
  return { role: "user", content };
}

const PLACES: readonly Place[] = ["own", "custom"];

for (const place of PLACES) {
  for (const isStream of [false, true]) {
    const how = `${place}, ${isStream ? "streamed" : "whole"}`;

    Deno.test(`Codex keeps all of Claude's thinking, even over a restart (${how})`, async () => {
      const scene = await sceneOf({}, { place });
      const codex = codexOf(scene, isStream);
      await codex.turns(3);
      scene.restart();
      await codex.turn();
      assert.deepEqual(scene.provider.thoughts(), ["t1", "t2", "t3"]);
      assertNeverRefused(scene);
    });

    Deno.test(`Codex continues with Claude's thinking after a change of its instructions, tools or history (${how})`, async () => {
      const scene = await sceneOf({}, { place });
      const codex = codexOf(scene, isStream);
      await codex.turns(2);
      codex.instructions = "You plan.";
      await codex.turns(2);
      assert.deepEqual(scene.provider.thoughts(), ["t3"]);
      codex.tools.push("search");
      await codex.turns(2);
      assert.deepEqual(scene.provider.thoughts(), ["t5"]);
      // A summary replaces everything before it, as in a compaction of Codex.
      codex.input.splice(0, codex.input.length, user("So far: all."));
      await codex.turns(2);
      assert.deepEqual(scene.provider.thoughts(), ["t7"]);
      assertNeverRefused(scene);
    });
  }
}

const PRESERVED_BY_CODEX_SHAPES: readonly (readonly Said[])[] = [
  [{ thinking: "Look." }, { call: "look" }],
  [{ thinking: "" }, { text: "I look." }, { call: "look" }, { call: "write" }],
  [{ thinking: "A." }, { redacted: true }, { call: "write" }],
  [{ thinking: "A." }, { call: "look" }, { thinking: "B." }, { call: "write" }],
  [{ thinking: "A." }, { text: "One." }, { thinking: "B." }, { text: "Two." }, {
    call: "look",
  }],
  [{ call: "look" }],
  [{ thinking: "Enough." }, { text: "Done." }],
  [{ text: "Done." }],
];

Deno.test("Codex's request is never rejected after any change of its history", async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const { below, pick } = createRandom(seed);
    const scene = await sceneOf(
      {
        answer: () => pick(PRESERVED_BY_CODEX_SHAPES),
        checks: (model) => model === MODEL,
      },
      { place: pick(PLACES) },
    );
    const codex = codexOf(scene, below(2) === 0);
    const acts: readonly (() => void)[] = [
      () => codex.instructions = `You work. It is day ${below(2)}.`,
      () => codex.tools = pick([["look", "write"], ["write"], ["look"]]),
      () => codex.input.push({ role: "developer", content: "Be quick." }),
      () => codex.model = pick([MODEL, MODEL, "claude-opus-5"]),
      () => codex.input.splice(below(codex.input.length), 1),
      () => {
        const item = pick(codex.input);
        if (item.type === "reasoning") item.summary = [];
      },
      scene.restart,
      scene.swap,
    ];
    for (let turn = 0; turn < 12; turn++) {
      if (below(3) === 0) pick(acts)();
      if (codex.input.at(-1)?.type === "message") codex.input.push(user("On"));
      await codex.turn();
    }
    assertNeverRefused(scene);
  }
});
