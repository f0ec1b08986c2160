import assert from "node:assert/strict";
import {
  isJsonObject,
  type JsonObject,
  present,
} from "../../../src/base/json.ts";
import { received } from "../../support/dialects/upstream_request.ts";
import { fromModel, fromUser } from "../../support/wire/messages.ts";

// Fields that providers with a switch for thinking reject, and the fields that they get instead.

/** The callers of other protocols that reach a provider of Chat Completions. */
const CALLERS = ["messages", "responses"] as const;

type Caller = typeof CALLERS[number];

function messagesIn(body: JsonObject): JsonObject[] {
  assert.ok(Array.isArray(body.messages));
  return body.messages.filter(isJsonObject);
}

/** A tool loop without visible reasoning, in each protocol. */
const LOOPS: Readonly<Record<Caller, JsonObject>> = {
  messages: {
    messages: [
      fromUser("Hello"),
      fromModel([{ type: "tool_use", id: "call_1", name: "f", input: {} }]),
      fromUser([{ type: "tool_result", tool_use_id: "call_1", content: "1" }]),
      fromModel("It is 1."),
      fromUser("Thanks"),
    ],
  },
  responses: {
    input: [
      fromUser("Hello"),
      { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "call_1", output: "1" },
      fromModel("It is 1."),
      fromUser("Thanks"),
    ],
  },
};

/** No reasoning, and an effort, in each protocol. */
const OFF: Readonly<Record<Caller, JsonObject>> = {
  messages: { thinking: { type: "disabled" } },
  responses: { reasoning: { effort: "none" } },
};

function effort(caller: Caller, word: string): JsonObject {
  return caller === "messages"
    ? { output_config: { effort: word } }
    : { reasoning: { effort: word } };
}

// "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"
// https://github.com/MoonshotAI/kimi-agent-sdk/issues/169
// "The `reasoning_content` in the thinking mode must be passed back to the API."
// https://github.com/JohnnyZ93/oai-compatible-copilot/issues/215
const THINKERS = [
  "kimi kimi-for-coding",
  "moonshot kimi-k2.5",
  "moonshot kimi-k2.6",
  "moonshot kimi-k2-thinking",
  "moonshot kimi-k2.7-code",
  "moonshot kimi-k3",
  "deepseek deepseek-v4-pro",
  "deepseek deepseek-reasoner",
  "deepseek deepseek-next",
  "custom Pro/moonshotai/Kimi-K2.5",
  "custom deepseek-ai/DeepSeek-V4-Flash",
];

for (const model of THINKERS) {
  for (const from of CALLERS) {
    Deno.test(`${model} gets reasoning with every call of a ${from} caller's history`, () => {
      const { body, dropped } = received(from, `chat ${model}`, LOOPS[from]);
      const assistants = messagesIn(body).filter(({ role }) =>
        role === "assistant"
      );
      assert.equal(assistants.length, 2);
      assert.equal(assistants[0]?.reasoning_content, " ");
      assert.equal(assistants[1]?.reasoning_content, undefined);
      assert.deepEqual(dropped, []);
    });
  }
}

Deno.test("a model that does not think gets no reasoning with its calls", () => {
  const plain = [
    "moonshot kimi-k2-0905-preview",
    "deepseek deepseek-chat",
    "zai glm-4.7",
    "custom qwen3-coder",
    "openai gpt-5.2",
    "gateway kimi-k2.6",
  ];
  for (const model of plain) {
    for (const from of CALLERS) {
      const { body } = received(from, `chat ${model}`, LOOPS[from]);
      assert.doesNotMatch(JSON.stringify(body), /"reasoning_content"/, model);
    }
  }
});

Deno.test("a model whose thinking is switched off gets no reasoning with its calls", () => {
  for (const model of ["kimi k2p6", "deepseek deepseek-flash"]) {
    for (const from of CALLERS) {
      const asked = { ...LOOPS[from], ...OFF[from] };
      const { body, dropped } = received(from, `chat ${model}`, asked);
      assert.deepEqual(body.thinking, { type: "disabled" });
      assert.doesNotMatch(JSON.stringify(body), /"reasoning_content"/);
      assert.deepEqual(dropped, []);
    }
  }
});

Deno.test("a router receives reasoning in its own field", () => {
  const { body } = received(
    "messages",
    "chat openrouter moonshotai/kimi-k2.5",
    LOOPS.messages,
  );
  assert.match(JSON.stringify(body), /"reasoning":" "/);
});

const FORCED: Readonly<Record<Caller, JsonObject>> = {
  messages: {
    tools: [
      { name: "f", input_schema: { type: "object", properties: {} } },
      { name: "g", input_schema: { type: "object", properties: {} } },
    ],
    tool_choice: { type: "tool", name: "f" },
  },
  responses: {
    tools: [
      { type: "function", name: "f", strict: false },
      { type: "function", name: "g", strict: false },
    ],
    tool_choice: { type: "function", name: "f" },
  },
};

const NAMED = { type: "function", function: { name: "f" } };

for (const from of CALLERS) {
  // "tool_choice 'specified' is incompatible with thinking enabled"
  // https://github.com/can1357/oh-my-pi/issues/1077
  // "Thinking mode does not support this tool_choice"
  // https://github.com/deepseek-ai/DeepSeek-V3/issues/1376
  Deno.test(`a forced tool switches thinking off, which is named, for a ${from} caller`, () => {
    for (
      const model of [
        "kimi kimi-k2.5",
        "moonshot kimi-k2.6",
        "deepseek deepseek-v4-flash",
      ]
    ) {
      for (const settings of [{}, effort(from, "high")]) {
        const { body, dropped } = received(from, `chat ${model}`, {
          ...FORCED[from],
          ...settings,
        });
        assert.deepEqual(body.tool_choice, NAMED, model);
        assert.deepEqual(body.thinking, { type: "disabled" }, model);
        assert.equal(body.reasoning_effort, undefined, model);
        assert.equal(dropped.length, 1, model);
        assert.match(String(dropped[0]), /reasoning|thinking|output_config/);
      }
      const off = received(from, `chat ${model}`, {
        ...FORCED[from],
        ...OFF[from],
      });
      assert.deepEqual(off.body.thinking, { type: "disabled" });
      assert.deepEqual(off.dropped, []);
      assert.throws(() => received(from, `chat ${model}`, FORCED[from], true));
    }
  });

  Deno.test(`a model that does not think by default gets a forced tool of a ${from} caller`, () => {
    for (
      const model of [
        "moonshot kimi-k2-0905-preview",
        "deepseek deepseek-chat",
        "custom m",
      ]
    ) {
      const { body, dropped } = received(from, `chat ${model}`, FORCED[from]);
      assert.deepEqual(body.tool_choice, NAMED, model);
      assert.equal(body.thinking, undefined, model);
      assert.deepEqual(dropped, [], model);
    }
  });

  // kimi-k3 takes auto, none and required: https://github.com/UKGovernmentBEIS/inspect_ai/pull/5152
  Deno.test(`a model without named choices gets only the named tool, and must call it, for a ${from} caller`, () => {
    const { body, dropped } = received(
      from,
      "chat moonshot kimi-k3",
      FORCED[from],
    );
    assert.equal(body.tool_choice, "required");
    assert.equal(body.thinking, undefined);
    assert.match(JSON.stringify(body.tools), /"name":"f"/);
    assert.doesNotMatch(JSON.stringify(body.tools), /"name":"g"/);
    assert.deepEqual(dropped, []);
  });

  // "Tool choice must be auto": https://github.com/vectorize-io/hindsight/issues/4246
  Deno.test(`a model that cannot be forced gets an instruction to call the tool, for a ${from} caller`, () => {
    for (
      const model of [
        "zai glm-5.3",
        "bigmodel glm-4.7",
        "moonshot kimi-k2.7-code",
      ]
    ) {
      const { body, dropped } = received(from, `chat ${model}`, FORCED[from]);
      assert.equal(body.tool_choice, "auto", model);
      assert.deepEqual(messagesIn(body).at(-1), {
        role: "user",
        content:
          "Hello\n\n<system-reminder>\nAnswer by calling the tool `f`.\n</system-reminder>",
      });
      assert.deepEqual(dropped, ["tool_choice"], model);
    }
  });
}

Deno.test("the instruction to call a tool follows the results of earlier calls", () => {
  const input = [
    fromUser("Hello"),
    { type: "function_call", call_id: "1", name: "f", arguments: "{}" },
    { type: "function_call_output", call_id: "1", output: "1" },
  ];
  const asked = { ...FORCED.responses, input };
  const { body } = received("responses", "chat zai glm-5.3", asked);
  const [result, nudge] = messagesIn(body).slice(-2);
  assert.equal(result?.role, "tool");
  assert.equal(nudge?.role, "user");
});

Deno.test("Z.ai gets no tools when the tool choice is `none`", () => {
  const { body, dropped } = received("messages", "chat zai glm-5.2", {
    ...FORCED.messages,
    tool_choice: { type: "none" },
  });
  assert.equal(body.tools, undefined);
  assert.equal(body.tool_choice, undefined);
  assert.deepEqual(dropped, []);
});

Deno.test("providers with efforts get the effort, and for providers with only a switch it is named as dropped", () => {
  const cases: [
    model: string,
    asked: string,
    made: JsonObject,
    lost: number,
  ][] = [
    // https://api-docs.deepseek.com/guides/thinking_mode
    ["deepseek deepseek-v4-pro", "low", on("low"), 0],
    ["deepseek deepseek-v4-pro", "max", on("max"), 0],
    // https://docs.z.ai/guides/overview/migrate-to-glm-new
    ["zai glm-5.2", "xhigh", on("xhigh"), 0],
    ["zai glm-5.3", "medium", on("high"), 1],
    ["zai glm-7", "max", on("max"), 0],
    ["zai glm-5.1", "high", on(), 1],
    // https://platform.kimi.ai/docs/guide/use-reasoning-effort
    ["moonshot kimi-k3", "low", { reasoning_effort: "low" }, 0],
    ["moonshot kimi-k3.1-pro", "medium", { reasoning_effort: "high" }, 1],
    ["kimi k3-256k", "max", { reasoning_effort: "max" }, 0],
    ["moonshot kimi-k2.6", "high", on(), 1],
    ["moonshot kimi-k2-turbo-preview", "high", {}, 1],
    ["minimax MiniMax-M3", "high", { thinking: { type: "adaptive" } }, 1],
    ["minimax MiniMax-M2.7", "high", {}, 1],
  ];
  for (const [model, asked, made, lost] of cases) {
    for (const from of CALLERS) {
      const { body, dropped } = received(
        from,
        `chat ${model}`,
        effort(from, asked),
      );
      const { thinking, reasoning_effort } = body;
      assert.deepEqual(present({ thinking, reasoning_effort }), made, model);
      assert.equal(dropped.length, lost, `${model} ${asked}`);
    }
  }
});

Deno.test("a budget becomes an effort for providers with efforts, and is named as dropped for others", () => {
  const thinking = { type: "enabled", budget_tokens: 10_000 };
  const asked = { max_tokens: 20_000, thinking };
  const kept = received("messages", "chat deepseek deepseek-v4-pro", asked);
  assert.equal(kept.body.reasoning_effort, "medium");
  assert.deepEqual(kept.dropped, []);
  const lost = received("messages", "chat zai glm-4.7", asked);
  assert.deepEqual(lost.body.thinking, { type: "enabled" });
  assert.deepEqual(lost.dropped, ["thinking"]);
});

Deno.test("a model that always reasons gets its least effort for `off`, and the dropped field is named", () => {
  for (
    const [model, made] of [
      ["zai glm-5.3", "low"],
      ["moonshot kimi-k3", "low"],
      ["moonshot kimi-k2.7-code", undefined],
      ["minimax MiniMax-M2.5", undefined],
    ] as const
  ) {
    for (const from of CALLERS) {
      const { body, dropped } = received(from, `chat ${model}`, OFF[from]);
      assert.equal(body.thinking, undefined, model);
      assert.equal(body.reasoning_effort, made);
      assert.equal(dropped.length, 1, model);
      assert.match(String(dropped[0]), /thinking|reasoning/);
    }
  }
});

// "invalid temperature: only 1 is allowed for this model":
// https://github.com/Warma10032/VideoAdGuard/issues/34
Deno.test("Kimi gets no sampling settings, because it rejects them, but Moonshot's older models do", () => {
  const sampling = { temperature: 0.2, top_p: 0.5 };
  for (const model of ["kimi-for-coding", "kimi-k2.5", "kimi-k3", "kimi-k9"]) {
    const { body, dropped } = received(
      "messages",
      `chat moonshot ${model}`,
      sampling,
    );
    assert.equal(body.temperature, undefined, model);
    assert.equal(body.top_p, undefined, model);
    assert.deepEqual(dropped, ["temperature", "top_p"], model);
  }
  const { body, dropped } = received(
    "messages",
    "chat moonshot moonshot-v1-32k",
    sampling,
  );
  assert.equal(body.temperature, 0.2);
  assert.deepEqual(dropped, []);
});

Deno.test("OpenAI's GPT-5.5 gets no sampling in Chat Completions, at any service", () => {
  for (const service of ["openai", "custom"]) {
    const asked = { temperature: 0.2 };
    const { body, dropped } = received(
      "messages",
      `chat ${service} gpt-5.5`,
      asked,
    );
    assert.equal(body.temperature, undefined);
    assert.deepEqual(dropped, ["temperature"]);
    const plain = received("messages", `chat ${service} gpt-5.2`, asked);
    assert.equal(plain.body.temperature, 0.2);
    assert.deepEqual(plain.dropped, []);
  }
});

function on(effort?: string): JsonObject {
  return {
    thinking: { type: "enabled" },
    ...present({ reasoning_effort: effort }),
  };
}
