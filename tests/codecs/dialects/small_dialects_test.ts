import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import { received } from "../../support/dialects/upstream_request.ts";
import { GatewayError } from "../../../src/base/error.ts";
import { runStage } from "../../../src/base/stage.ts";
import { foldAnswer } from "../../../src/codecs/canonical/answer/fold.ts";
import {
  restoreTools,
} from "../../../src/codecs/canonical/tools/restore_tools.ts";
import { createGrammar } from "../../contract/grammar.ts";
import {
  callOf,
  deltaOf,
  END,
  endOf,
  START,
} from "../../support/wire/events.ts";

// OpenAI has explicit cache breakpoints since GPT-5.6, only on content parts:
// https://developers.openai.com/api/docs/guides/prompt-caching
// https://docs.langchain4j.dev/apidocs/dev/langchain4j/model/openaiofficial/OpenAiOfficialPromptCacheBreakpoint.html

const MARK = { cache_control: { type: "ephemeral" } };

const TOOLS: JsonObject = {
  tools: [{ name: "f", input_schema: { type: "object" }, ...MARK }],
};

const PARTS: JsonObject = {
  system: [{ type: "text", text: "Be brief.", ...MARK }],
};

/** Returns the marks in the sent request, and whether one was dropped. */
function marks(fields: JsonObject, target: string) {
  const { body, dropped } = received("messages", target, fields);
  const text = JSON.stringify(body);
  return {
    sent: text.match(/cache_control|prompt_cache_breakpoint/g) ?? [],
    onTools: /cache_control|breakpoint/.test(JSON.stringify(body.tools ?? [])),
    isNamed: dropped.includes("cache_control"),
  };
}

for (const to of ["chat", "responses"] as const) {
  Deno.test(`OpenAI gets no cache mark on a tool in ${to}, and the dropped mark is named`, () => {
    for (const model of ["gpt-5.6", "gpt-6-sol"]) {
      assert.deepEqual(
        marks({ ...TOOLS, ...PARTS }, `${to} openai ${model}`),
        { sent: ["prompt_cache_breakpoint"], onTools: false, isNamed: true },
        model,
      );
      const { isNamed } = marks(PARTS, `${to} openai ${model}`);
      assert.equal(isNamed, false, model);
    }
  });

  Deno.test(`OpenAI's models before GPT-5.6 get no cache mark at all in ${to}, and the dropped mark is named`, () => {
    for (const model of ["gpt-4.1", "o3", "gpt-5-mini", "gpt-5.2", "gpt-5.5"]) {
      for (const fields of [TOOLS, PARTS]) {
        assert.deepEqual(
          marks(fields, `${to} openai ${model}`),
          { sent: [], onTools: false, isNamed: true },
          model,
        );
      }
    }
  });
}

Deno.test("an unknown model of OpenAI's service gets no cache mark", () => {
  for (const to of ["chat", "responses"] as const) {
    const { sent } = marks(PARTS, `${to} openai of-an-unknown-name`);
    assert.deepEqual(sent, []);
  }
});

Deno.test("a service that accepts Anthropic's cache marks gets them on tools", () => {
  for (const service of ["openrouter", "gateway"]) {
    assert.deepEqual(
      marks(TOOLS, `chat ${service} anthropic/claude-opus-5`),
      { sent: ["cache_control"], onTools: true, isNamed: false },
    );
  }
});

// A provider accepts fewer stop strings than the request has. The gateway cuts the answer at the others.

function translate(stops: readonly string[], target: string) {
  const { body, cuts, dropped } = received("messages", target, {
    stop_sequences: [...stops],
  });
  return { sent: body.stop, cuts, dropped };
}

/** The most stop strings of a provider. */
const LIMITS: readonly (readonly [string, number])[] = [
  // "the number of stop_sequences must not exceed 5": https://github.com/continuedev/continue/issues/2702
  ["chat gemini gemini-3.8-flash", 5],
  // https://github.com/continuedev/continue/issues/7849
  ["chat vertex google/gemini-2.5-flash", 5],
  // "len(stop) > 4 is not supported": https://github.com/letta-ai/letta/issues/1272
  ["chat groq openai/gpt-oss-120b", 4],
  // https://docs.z.ai/api-reference/llm/chat-completion
  ["chat zai glm-4.7", 1],
  ["chat bigmodel glm-5", 1],
  // https://developers.openai.com/api/reference/resources/chat
  ["chat openai gpt-4.1", 4],
  ["chat openai gpt-5", 0],
  // https://platform.kimi.ai/docs/api/chat
  ["chat kimi kimi-k2.6", 5],
  // https://api-docs.deepseek.com/api/create-chat-completion
  ["chat deepseek deepseek-v4", 16],
  // https://docs.cohere.com/docs/compatibility-api
  ["chat cohere command-a-03-2025", 5],
  ["chat xai grok-4.6", 0],
  ["responses openai gpt-5.2", 0],
];

const MANY = Array.from({ length: 20 }, (_, index) => `<${index}>`);

for (const [target, most] of LIMITS) {
  Deno.test(`${target} gets at most ${most} stop strings, and the gateway searches for the others`, () => {
    const made = translate(MANY, target);
    const sent = MANY.slice(0, most);
    assert.deepEqual(made.sent, most === 0 ? undefined : sent);
    assert.deepEqual(made.cuts, MANY.slice(most));
    assert.deepEqual(made.dropped, ["stop_sequences"]);
    if (most === 0) return;
    const few = translate(sent, target);
    assert.deepEqual(few, { sent, cuts: [], dropped: [] });
  });
}

Deno.test("more stop strings than the gateway can search for are a 400 with the limits", () => {
  const many = Array.from({ length: 1_000_000 }, (_, index) => `#${index}#`);
  for (const stops of [many, ["x".repeat(70_000)]]) {
    assert.throws(
      () => translate(stops, "chat xai grok-4.6"),
      (error) =>
        error instanceof GatewayError && error.kind === "invalid_request" &&
        error.param === "stop_sequences" &&
        /at most 1000, of 65536 characters together/.test(error.message),
    );
  }
});

Deno.test("a provider without a known limit gets all stop strings", () => {
  const many = Array.from({ length: 5000 }, (_, index) => `#${index}#`);
  const made = translate(many, "chat custom m");
  assert.deepEqual([made.sent, made.cuts.length], [many, 0]);
});

// "tools.14.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'":
// https://github.com/beautyfree/appstore-connect-mcp/issues/2. Only the root of a schema is checked:
// https://github.com/aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws/issues/709

const LEGAL_REGEXP = /^[a-zA-Z0-9_.-]{1,64}$/;

function sentTool(
  parameters: JsonObject,
  { input = [], target = "anthropic claude-opus-5" }: {
    input?: JsonObject[];
    target?: string;
  } = {},
) {
  const { body, aliases } = received("responses", `messages ${target}`, {
    input: [{ role: "user", content: "Hello" }, ...input],
    tools: [{ type: "function", name: "f", parameters }],
  });
  assert.ok(Array.isArray(body.tools) && isJsonObject(body.tools[0]));
  const schema = body.tools[0].input_schema;
  assert.ok(isJsonObject(schema) && isJsonObject(schema.properties));
  return { body, aliases, schema, names: Object.keys(schema.properties) };
}

/** The names of arguments that Claude rejects. */
const ILLEGAL = [
  "filter[id]",
  "$top",
  "user name",
  "naïve",
  "名前",
  "",
  "a".repeat(65),
  "a/b",
  "@type",
];

for (const name of ILLEGAL) {
  Deno.test(`Claude gets a legal name for an argument named ${JSON.stringify(name)}, and the caller gets the original name back`, () => {
    const call = `{"id":1,${JSON.stringify(name)}:["x"]}`;
    const { body, aliases, schema, names } = sentTool({
      type: "object",
      properties: { id: {}, [name]: { type: "array" } },
      required: [name, "id"],
    }, {
      input: [
        { type: "function_call", call_id: "1", name: "f", arguments: call },
        { type: "function_call_output", call_id: "1", output: "2" },
      ],
    });
    const [, sentName = ""] = names;
    assert.equal(names[0], "id");
    assert.match(sentName, LEGAL_REGEXP);
    assert.deepEqual(schema.required, [sentName, "id"]);
    const sentCall = { id: 1, [sentName]: ["x"] };
    const messages = JSON.stringify(body.messages);
    assert.ok(messages.includes(`"input":${JSON.stringify(sentCall)}`));

    const text = JSON.stringify(sentCall);
    for (const pieces of [[...text], [text]]) {
      const deltas = pieces.map((piece) => deltaOf(0, piece));
      const events = [START, callOf(0, "f"), ...deltas, endOf(0), END];
      const restored = runStage(restoreTools(aliases), events);
      const [block] = foldAnswer(runStage(createGrammar(), restored)).blocks;
      assert.ok(block?.kind === "function_call");
      assert.equal(block.arguments, call);
    }
  });
}

Deno.test("an illegal name in a branch at the root is renamed too", () => {
  const { names } = sentTool({
    anyOf: [{ properties: { "filter[id]": {} } }, { properties: { a: {} } }],
  });
  assert.equal(names.every((name) => LEGAL_REGEXP.test(name)), true);
  assert.equal(names.length, 2);
});

Deno.test("the model reads the caller's name in the title", () => {
  const { schema } = sentTool({ properties: { "$top": { type: "number" } } });
  assert.match(JSON.stringify(schema), /\{"title":"\$top","type":"number"\}/);
});

Deno.test("legal names, names below the root and names for other models do not change", () => {
  const properties = {
    "a.b-c_1": { type: "object", properties: { "$top": {} } },
  };
  assert.deepEqual(sentTool({ properties }).schema.properties, properties);
  const { aliases, names } = sentTool({
    properties: { "$top": {} },
  }, { target: "zai glm-5" });
  assert.deepEqual([names, aliases.size], [["$top"], 0]);
});

Deno.test("a call that was cut off keeps the arguments that arrived", () => {
  const { aliases } = sentTool({ properties: { "$top": {} } });
  const events = [START, callOf(0, "f"), deltaOf(0, '{"to'), endOf(0), END];
  const [block] = foldAnswer(runStage(restoreTools(aliases), events)).blocks;
  assert.ok(block?.kind === "function_call");
  assert.equal(block.arguments, '{"to');
});

const WORDS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

const TARGETS = [
  "chat custom m",
  "chat groq openai/gpt-oss-120b",
  "chat gemini gemini-3.8-flash",
  "chat mistral mistral-medium-3-5",
  "chat zai glm-5.2",
  "chat kimi kimi-k3",
  "chat azure-chat gpt-5.1",
  "chat azure-chat gpt-6-astra",
  "responses openai gpt-5.1",
  "responses openai gpt-6.2-sol",
  "responses codex gpt-5.5",
  "messages anthropic claude-opus-5",
];

function effortIn(body: JsonObject): unknown {
  const { reasoning, output_config: output } = body;
  if (isJsonObject(reasoning)) return reasoning.effort;
  return isJsonObject(output) ? output.effort : body.reasoning_effort;
}

for (const target of TARGETS) {
  Deno.test(`each changed effort for ${target} is named`, () => {
    const changed = WORDS.filter((effort) => {
      const { body, dropped } = received("responses", target, {
        reasoning: { effort },
      });
      const sent = effortIn(body);
      const isOff = effort === "none" && sent === undefined;
      if (sent === effort || isOff) return false;
      assert.deepEqual(dropped, ["reasoning"], `${effort} as ${sent}`);
      return true;
    });
    assert.ok(changed.length > 0, "the case shows nothing");
  });
}

// "accepts `max` only on the Responses API": https://github.com/BerriAI/litellm-docs/pull/1173, and
// https://github.com/mnfst/modelparams.dev/pull/236
Deno.test("OpenAI's models get the effort `max` only in Responses", () => {
  for (const model of ["gpt-5.6", "gpt-6-astra", "gpt-6.2-sol"]) {
    const at = (to: Protocol, service: string) => {
      const { body, dropped } = received(
        "messages",
        `${to} ${service} ${model}`,
        { thinking: { type: "adaptive" }, output_config: { effort: "max" } },
      );
      return [effortIn(body), dropped];
    };
    assert.deepEqual(at("responses", "openai"), ["max", []]);
    assert.deepEqual(at("chat", "azure-chat"), ["xhigh", ["thinking"]]);
  }
});

// https://developers.openai.com/api/docs/guides/async-tool-calling
for (const type of ["function", "custom"]) {
  Deno.test(`a running call of an async ${type} tool gets no error, and a late result moves to the call`, () => {
    const history = (late: readonly JsonObject[]): JsonObject => ({
      tools: [{ type, name: "f", async: true }],
      input: [
        { role: "user", content: "Hello" },
        {
          type: type === "custom" ? "custom_tool_call" : "function_call",
          call_id: "c1",
          name: "f",
          ...(type === "custom" ? { input: "x" } : { arguments: "{}" }),
          async: true,
        },
        { role: "assistant", content: "Meanwhile." },
        ...late,
        { role: "user", content: "And now?" },
      ],
    });
    const result = {
      type: "function_call_output",
      call_id: "c1",
      output: "Done",
    };
    for (
      const target of [
        "chat groq openai/gpt-oss-120b",
        "messages anthropic claude-opus-5",
      ]
    ) {
      const at = (late: readonly JsonObject[]) =>
        received("responses", target, history(late));
      const { body, dropped } = at([]);
      const text = JSON.stringify(body);
      assert.match(text, /no result yet: the tool is still running/);
      assert.doesNotMatch(text, /interrupted|"is_error":true|Error: /);
      assert.deepEqual(dropped, ["tools.async"]);
      assert.doesNotMatch(JSON.stringify(at([result]).body), /no result/);
    }
  });
}
