import assert from "node:assert/strict";
import type {
  Block,
  ToolResultBlock,
} from "../../../../src/codecs/canonical/content/block.ts";
import { settleHistory } from "../../../../src/codecs/canonical/request/history.ts";
import type {
  RequestField,
  Turn,
} from "../../../../src/codecs/canonical/request/request.ts";
import { GatewayError } from "../../../../src/base/error.ts";
import {
  createLosses,
  type LostField,
} from "../../../../src/codecs/canonical/request/loss.ts";
import { reportRest } from "../../../../src/codecs/canonical/request/fit_rest.ts";
import type { Ability } from "../../../../src/codecs/canonical/request/ability.ts";
import { dialectOf } from "../../../../src/codecs/chat/dialect.ts";
import { dialectOf as responsesDialectOf } from "../../../../src/codecs/responses/dialect.ts";
import { chatCodec } from "../../../../src/codecs/chat/mod.ts";
import { messagesCodec } from "../../../../src/codecs/messages/mod.ts";
import type { OptionalSetting } from "../../../../src/codecs/canonical/request/ability.ts";
import { fitSettings } from "../../../../src/codecs/canonical/request/fit_settings.ts";
import { requestOf } from "../../../support/wire/requests.ts";
import { call, text, turn } from "../../../support/wire/turns.ts";

const result = (callId: string, text: string): ToolResultBlock => ({
  kind: "tool_result",
  callId,
  callKind: "function",
  content: [{ kind: "text", text }],
  isError: false,
});
const user = (value: string): Turn => turn("user", text(value));
const calls = (...ids: string[]): Turn => ({
  role: "assistant",
  blocks: ids.map((id) => call(id)),
});
const results = (...blocks: Block[]): Turn => ({ role: "tool", blocks });

Deno.test("settleHistory() does not change a history that is in order", () => {
  const turns = [
    user("a"),
    calls("1", "2"),
    results(result("1", "x"), result("2", "y")),
    user("b"),
  ];
  assert.deepEqual(settleHistory(turns), turns);
});

Deno.test("settleHistory() puts results in the order of the calls, in one turn", () => {
  const turns = [
    calls("1", "2"),
    results(result("2", "y")),
    results(result("1", "x")),
  ];
  assert.deepEqual(settleHistory(turns), [
    calls("1", "2"),
    results(result("1", "x"), result("2", "y")),
  ]);
});

Deno.test("settleHistory() moves turns between a call and its result after the result", () => {
  const turns = [calls("1"), user("by the way"), results(result("1", "x"))];
  assert.deepEqual(settleHistory(turns), [
    calls("1"),
    results(result("1", "x")),
    user("by the way"),
  ]);
});

Deno.test("settleHistory() replaces a missing result by an error", () => {
  assert.deepEqual(settleHistory([calls("1"), user("next")]), [
    calls("1"),
    results({ ...result("1", "[no result: interrupted]"), isError: true }),
    user("next"),
  ]);
});

Deno.test("settleHistory() converts a result without a call to text of the user", () => {
  assert.deepEqual(settleHistory([user("a"), results(result("9", "x"))]), [
    user("a"),
    turn("user", text("[result of the earlier tool call 9]"), text("x")),
  ]);
});

Deno.test("settleHistory() matches each call of a repeated id with the nearest result", () => {
  const turns = [
    calls("0"),
    results(result("0", "first")),
    user("more"),
    calls("0"),
    results(result("0", "second")),
  ];
  const settled = settleHistory(turns);
  const second = blockIds(settled[3])[0] ?? "";
  assert.match(second, /^0_2_[0-9a-f]{8}$/);
  assert.deepEqual(settled, [
    ...turns.slice(0, 3),
    calls(second),
    results(result(second, "second")),
  ]);
  const lost = [
    calls("0"),
    user("more"),
    calls("0"),
    results(result("0", "second")),
  ];
  assert.deepEqual(
    settleHistory(lost)[1],
    results({ ...result("0", "[no result: interrupted]"), isError: true }),
  );
});

/** Returns the ids of a turn's calls. */
function blockIds(turn: Turn | undefined): readonly string[] {
  return (turn?.blocks ?? []).flatMap((block) =>
    "id" in block ? [block.id] : []
  );
}

Deno.test("settleHistory() sets the kind of a result to the kind of its call", () => {
  const custom: Turn = turn("assistant", {
    kind: "custom_call",
    id: "1",
    name: "p",
    input: "x",
  });
  const [, tool] = settleHistory([custom, results(result("1", "ok"))]);
  assert.deepEqual(tool, results({ ...result("1", "ok"), callKind: "custom" }));
});

Deno.test("settleHistory() accepts a history as long as the largest body", () => {
  const turns = Array.from({ length: 50_000 }, (_, index) => [
    calls(`c${index}`),
    results(result(`c${index}`, "x")),
  ]).flat();
  assert.equal(settleHistory(turns).length, turns.length);
  const same = results(...Array(50_000).fill(result("c", "x")));
  assert.equal(settleHistory([calls("c"), same]).length, 50_001);
});

const nameOf = (field: RequestField) => chatCodec.fieldNames[field];

Deno.test("a field whose loss does not change the answer is dropped and named once, in the caller's spelling", () => {
  const losses = createLosses({ strict: false, nameOf });
  losses.reportDropped("maxOutputTokens", "r");
  losses.reportDropped({ extra: "prediction" }, "r");
  losses.reportDropped("maxOutputTokens", "other");
  assert.deepEqual([...losses.dropped], [
    "max_completion_tokens",
    "prediction",
  ]);
});

Deno.test("the names of dropped fields are limited in number and length, to fit a header", () => {
  const losses = createLosses({ strict: false, nameOf });
  for (let count = 0; count < 1000; count++) {
    const extra = `field ${count} `.padEnd(10_000, "x");
    losses.reportDropped({ extra }, "r");
  }
  assert.equal(losses.dropped.size, 64);
  for (const name of losses.dropped) assert.equal(name.length, 64);
});

Deno.test("a field whose loss changes the answer rejects the request, with an instruction", () => {
  const losses = createLosses({ strict: false, nameOf });
  assert.throws(
    () => losses.reportDropped({ extra: "n" }, "it gives one answer", "reject"),
    (error) =>
      error instanceof GatewayError && error.status === 400 &&
      error.param === "n" &&
      error.message ===
        "Cannot pass `n` on to this model: it gives one answer. Remove it, or choose another model.",
  );
  assert.equal(losses.dropped.size, 0);
});

Deno.test("a strict connection rejects every loss", () => {
  const losses = createLosses({ strict: true, nameOf });
  assert.throws(() => losses.reportDropped("seed", "r"), GatewayError);
});

Deno.test("reportRest() reports other protocols' extras by weight, except those of weight `ignore`", () => {
  const request = requestOf({
    extras: {
      chat: { mine: { value: 1, weight: "reject" } },
      messages: {
        loud: { value: 1, weight: "report" },
        quiet: { value: 1, weight: "ignore" },
      },
    },
  });
  const target = { service: "openai", model: "gpt-4.1" };
  const losses = createLosses({ strict: false, nameOf });
  reportRest(request, dialectOf(target).ability, losses);
  assert.deepEqual([...losses.dropped], ["loud"]);
  assert.throws(
    () => reportRest(request, responsesDialectOf(target).ability, losses),
    /`mine`/,
  );
});

/** What the custom service takes in Chat Completions, without the settings of `lacks`. */
function abilityWithout(...lacks: OptionalSetting[]): Ability {
  const { ability } = dialectOf({ service: "openai", model: "gpt-4.1" });
  const missing = Object.fromEntries(lacks.map((name) => [name, false]));
  return { ...ability, settings: { ...ability.settings, ...missing } };
}

Deno.test("fitSettings() removes and reports the settings that a target lacks", () => {
  const value = "x";
  const request = requestOf({
    user: "anna",
    cacheOptions: { protocol: "messages", value },
    cacheRetention: { protocol: "messages", value },
    safetyIdentifier: { protocol: "messages", value },
  });
  const reportOf = (one: typeof request, ...lacks: OptionalSetting[]) => {
    const losses = createLosses({ strict: false, nameOf });
    const fitted = fitSettings(one, abilityWithout(...lacks), false, losses);
    const kept = JSON.stringify({ ...fitted, user: undefined });
    for (const setting of lacks) assert.doesNotMatch(kept, RegExp(setting));
    return [...losses.dropped];
  };
  const lacks = [
    "cacheOptions",
    "cacheRetention",
    "safetyIdentifier",
  ] as const;
  assert.deepEqual(reportOf(request, ...lacks), [
    "prompt_cache_options",
    "prompt_cache_retention",
    "safety_identifier",
  ]);
  assert.deepEqual(reportOf({ ...request, user: value }, ...lacks), [
    "prompt_cache_options",
    "prompt_cache_retention",
  ]);
  const asking = requestOf({ logprobs: {} });
  assert.throws(() => reportOf(asking, "logprobs"), /Cannot pass `logprobs`/);
  assert.deepEqual(reportOf(asking), []);
});

Deno.test("fitSettings() leaves a raw setting of the target's own protocol", () => {
  const cacheRetention = { protocol: "chat", value: "24h" } as const;
  const request = requestOf({ cacheRetention });
  const losses = createLosses({ strict: true, nameOf });
  const ability = abilityWithout("cacheRetention");
  assert.equal(
    fitSettings(request, ability, false, losses).cacheRetention,
    cacheRetention,
  );
});

Deno.test("fitSettings() does not report a penalty of 0 or the service tier `auto`", () => {
  const request = requestOf({
    sampling: { presencePenalty: 0, frequencyPenalty: 0, temperature: 1 },
    serviceTier: { tier: "auto", raw: { protocol: "chat", value: "auto" } },
  });
  const losses = createLosses({ strict: true, nameOf });
  const ability = abilityWithout("presencePenalty", "frequencyPenalty");
  const fitted = fitSettings(request, { ...ability, tiers: [] }, false, losses);
  assert.deepEqual(JSON.parse(JSON.stringify(fitted.sampling)), {
    temperature: 1,
  });
  assert.equal(fitted.serviceTier, undefined);
});

Deno.test("fitSettings() fixes the same settings in both OpenAI protocols while the model reasons", () => {
  const request = requestOf({
    sampling: { temperature: 0.2, topP: 0.5, presencePenalty: 1 },
    logprobs: {},
  });
  for (const dialect of [dialectOf, responsesDialectOf]) {
    const { ability } = dialect({ service: "openai", model: "gpt-5.2" });
    const lossesOf = (isReasoning: boolean | undefined) => {
      const lost: LostField[] = [];
      fitSettings(request, ability, isReasoning, {
        reportDropped: (field) => lost.push(field),
      });
      return lost;
    };
    assert.deepEqual(lossesOf(true), [
      "temperature",
      "topP",
      "presencePenalty",
      "logprobs",
    ]);
    assert.ok(!lossesOf(false).includes("logprobs"));
  }
});

const MARK = { cache_control: { type: "ephemeral" } };

const QUESTION = { model: "m", max_tokens: 1 };

const TEXT = { type: "text", text: "Hello" };

/** The places of a Messages request that can have a cache marker. */
const MARKED = {
  "the request": { messages: [{ role: "user", content: "Hello" }], ...MARK },
  "a system text": {
    system: [{ ...TEXT, ...MARK }],
    messages: [{ role: "user", content: "Hello" }],
  },
  "a tool": {
    tools: [{ name: "t", input_schema: { type: "object" }, ...MARK }],
    messages: [{ role: "user", content: "Hello" }],
  },
  "a user's text": {
    messages: [{ role: "user", content: [{ ...TEXT, ...MARK }] }],
  },
  "the content of a tool's result": {
    messages: [
      { role: "user", content: "Hello" },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "toolu_1", name: "t", input: {} }],
      },
      {
        role: "user",
        content: [{
          type: "tool_result",
          tool_use_id: "toolu_1",
          content: [{ ...TEXT, ...MARK }],
        }],
      },
    ],
  },
};

interface Loss {
  readonly field: LostField;
  readonly weight: string;
}

function lossesOf(body: Record<string, unknown>): Loss[] {
  const losses: Loss[] = [];
  const request = messagesCodec.decodeRequest(
    JSON.parse(JSON.stringify({ ...QUESTION, ...body })),
  );
  const { ability } = dialectOf({ service: "custom", model: "m" });
  reportRest(request, ability, {
    reportDropped: (field, _reason, weight = "report") =>
      losses.push({ field, weight }),
  });
  return losses;
}

Deno.test("dropped cache marks are reported once, at any place", async (t) => {
  for (const [place, body] of Object.entries(MARKED)) {
    await t.step(`on ${place}`, () => {
      const [loss, ...more] = lossesOf(body);
      assert.deepEqual([loss?.field, loss?.weight], ["cache", "report"]);
      assert.deepEqual(more, []);
    });
  }
});

Deno.test("reportRest() reports nothing for a request without cache marks", () => {
  const messages = [{ role: "user", content: [TEXT] }];
  assert.deepEqual(lossesOf({ messages }), []);
});
