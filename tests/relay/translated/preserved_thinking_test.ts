import assert from "node:assert/strict";
import { createRandom } from "../../support/fakes/random.ts";
import { ALICE_TOKEN } from "../../support/gateway/config.ts";
import {
  agentOf,
  assertNeverRefused,
  BOB_TOKEN,
  MODEL,
  sceneOf,
  statuses,
} from "../../support/gateway/preserving_scene.ts";
import type { Said } from "../../support/upstream/preserving_provider.ts";

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
    Deno.test(`a Chat agent that only appends keeps all its thinking at ${at}, ${isStream ? "streamed" : "whole"}`, async () => {
      const scene = await sceneOf({}, { place });
      const agent = agentOf(scene, isStream);
      await agent.turns(4);
      assert.deepEqual(scene.provider.thoughts(), ["t1", "t2", "t3"]);
      assertNeverRefused(scene);
    });
  }

  Deno.test(`a Chat agent that changes its system text continues at ${at} with the thinking from then on`, async () => {
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

  Deno.test(`a Chat agent that goes to and fro between two system texts has the thinking of each at ${at}`, async () => {
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

  Deno.test(`a Chat agent that changes its tools continues at ${at}, and their order is no change`, async () => {
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

  Deno.test(`a restart between two turns costs a Chat agent its thinking at ${at}, and no error`, async () => {
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

  Deno.test(`a Chat agent continues at ${at} with another question after an answer in words`, async () => {
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

Deno.test("two conversations at once, one a branch of the other, each get their own thinking", async () => {
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

Deno.test("two replicas in turn each return their known reasoning, without a gap", async () => {
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
  assert.deepEqual(
    scene.provider.thoughts(),
    ["t2", "t3", "t5", "t6", "t7"],
  );
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

Deno.test("a Chat agent with any changes of its history is never rejected, and nothing is dropped without need", async () => {
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
  // Bob's answer comes in between, and his reasoning is not Alice's.
  assert.deepEqual(scene.provider.thoughts(), ["t1", "t2"]);
  assertNeverRefused(scene);
});

Deno.test("a switch to another Claude and back leaves it to the provider what each may read", async () => {
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

Deno.test("a Claude that checks no prefix gets its thinking back behind another system text", async () => {
  const scene = await sceneOf({ checks: () => false });
  const agent = agentOf(scene);
  agent.model = "claude-sonnet-4-5";
  await agent.turns(2);
  agent.system = "You work. It is Tuesday.";
  await agent.turn();
  assert.deepEqual(scene.provider.thoughts(), ["t1", "t2"]);
});

Deno.test("thinking between two calls of an answer returns in its place", async () => {
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

Deno.test("thinking behind a text that a Chat caller cannot give back as it was stays away, and what depends on it", async () => {
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
