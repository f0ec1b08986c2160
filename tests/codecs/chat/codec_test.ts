import assert from "node:assert/strict";
import { chatCodec } from "../../../src/codecs/chat/mod.ts";
import { codecContract, respellings } from "../../contract/codec_contract.ts";
import { loadRecordings } from "../../support/recorded/recordings.ts";
import { CHAT_CASES } from "./cases.ts";
import { chatWatch } from "../../../src/codecs/chat/watch.ts";

/** Services with their own dialect. */
const SERVICES = ["openai", "openrouter", "zai", "deepseek", "moonshot"];

codecContract({
  codec: chatCodec,
  request: {
    model: "m",
    messages: [{ role: "user", content: "hi" }],
    stream_options: { include_usage: true },
  },
  cases: CHAT_CASES,
  recordings: loadRecordings("chat")
    .filter(({ tags }) => !tags.has("endpoint:models"))
    .map((recording) => ({
      ...recording,
      service: SERVICES.find((service) => recording.name.startsWith(service)) ??
        "custom",
    })),
  differences: [
    {
      rule: "request round trip",
      names: [
        "azure-deepseek-v3-1-tool-round-trip-1",
        "azure-gpt-4o-azurestructuredplanning.test-research-workflow-generates-steps-i3",
        "azure-gpt-4o-mini-agent-kickoff-structured-output-with-tools-i2",
        "azure-o4-mini-object-streaming",
      ],
      reason:
        "the deployment stands in the path there, and the gateway demands a model",
    },
    {
      rule: "stream and answer agree",
      names: [
        "avian-kimi-k2.5-openaicompatiblecommon-kimi-multi-tool-streaming",
        "cerebras-zai-glm-4.7-cererebras-structured-output-tools.1",
        "vercel-gateway-vercelthinking-gemini-3-pro-preview-thinking-streaming-i2",
        "zai-glm-4-6-object-streaming",
      ],
      reason:
        "a message has one text and one reasoning before its calls, whatever order they came in",
    },
  ],
  respellings: respellings(`
^response_format.json_schema.schema.$schema$ → every schema is written in draft 2020-12
^stream$ → \`stream: false\` is the default
^stream_options$ → usage is always asked for
.file.filename$ → a file without a name is refused
^(functions|function_call)$ → tools take their place
^lost reasoning$ → older models of Z.ai take no effort beside the switch
^max_(completion_)?tokens$ → one of the two names, as the service knows it
^messages[].content$ → text alone is a string, and no text beside calls is null
^messages[].content[].image_url$ → a bare address stands for the object
^messages[].(tool_calls|name)$ → null is none; a tool message has no name
^messages[].tool_calls[].index$ → a call in the history has no index
^messages[].prefix$ → an assistant message at the end is a beginning by itself
^messages[].role$ → \`developer\` is \`system\` where the service knows no other
^messages$ → leading system messages are joined where the service takes one
^messages[].reasoning(_content|_details)?$ → one field, the service's own
^(reasoning|reasoning_effort|thinking)$ → one switch, the service's own
^tool_choice(.(type|name|function))?$ → \`any\` and short forms are respelled
^(tools|tool_choice|parallel_tool_calls)$ → nothing is said of tools when there are none
^tools[].type$ → a tool without a type is a function
^response_format.json_schema.strict$ → a closed schema can be held strictly
^(lost serviceTier|service_tier)$ → the service is not known to have tiers
^(response_format|stop|temperature|top_p|top_k|min_p|n|logprobs|logit_bias|echo|safety_model|(repetition|presence|frequency)_penalty)$ → null is the default
`),
});

Deno.test("chatWatch.usageOf() reads the usage of a chunk or an answer", () => {
  const usage = {
    prompt_tokens: 10,
    completion_tokens: 5,
    prompt_tokens_details: { cached_tokens: 4 },
    completion_tokens_details: { reasoning_tokens: 3 },
  };
  const expected = {
    inputTokens: 10,
    cachedInputTokens: 4,
    cacheWriteTokens: undefined,
    cacheWrite1hTokens: undefined,
    outputTokens: 5,
    reasoningTokens: 3,
    speed: undefined,
    serviceTier: undefined,
  };
  assert.deepEqual(chatWatch.usageOf({ usage, choices: [] }), expected);
  assert.deepEqual(
    chatWatch.usageOf({ usage: null, choices: [{ delta: {}, usage }] }),
    expected,
    "as Moonshot sends it",
  );
  assert.deepEqual(
    chatWatch.usageOf({ choices: [], x_groq: { id: "r", usage } }),
    expected,
    "as Groq sends it",
  );
});

Deno.test("chatWatch.usageOf() keeps counts when a later usage has zeros", () => {
  const before = { inputTokens: 10, cachedInputTokens: 4, outputTokens: 5 };
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  const later = chatWatch.usageOf({ usage, choices: [] }, before);
  assert.equal(later?.inputTokens, 10);
  assert.equal(later.cachedInputTokens, 4);
  assert.equal(later.outputTokens, 5);
});
