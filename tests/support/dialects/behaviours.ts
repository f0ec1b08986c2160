import type { JsonObject } from "../../../src/core/json.ts";
import type { Protocol } from "../../../src/core/protocol.ts";
import type { FailureKind } from "../../../src/protocols/canonical/failure/failure.ts";
import type { StopReason } from "../../../src/protocols/canonical/answer/answer.ts";

/**
 * How a provider answers where it deviates from its protocol, in our own words: the shape is the provider's, what it
 * says is not. A new deviation is a new row, and runs through every pair of protocols with the official SDKs as judges.
 */
export interface Behaviour {
  readonly provider: string;
  /** What it does, as the end of a sentence about the provider. */
  readonly does: string;
  /** A page that shows it, or `recordings` for the ones of this project. */
  readonly source: string;
  readonly speaks: Protocol;
  /** A stream's bytes as text, or an answer in one piece. */
  readonly tells: string | JsonObject;
  readonly means: AnswerMeaning | FailureMeaning;
}

/** What every caller must read. */
export interface AnswerMeaning {
  /** White space does not count. */
  readonly text?: string;
  readonly calls?: readonly {
    readonly name: string;
    readonly input: unknown;
  }[];
  readonly stop: StopReason;
  /** Left out where nothing is counted. */
  readonly tokens?: { readonly input: number; readonly output: number };
}

/** What every caller must read as an error. */
export interface FailureMeaning {
  readonly failure: FailureKind;
}

const HEAD = { id: "c-1", created: 1_700_000_000, model: "m" };

/** A Chat stream of these deltas, and how its last choice ends. */
function chatStream(
  deltas: readonly JsonObject[],
  end: JsonObject,
  rest: JsonObject = {},
): string {
  const chunks = [
    ...deltas.map((delta) => ({
      ...HEAD,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, finish_reason: null }],
    })),
    {
      ...HEAD,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta: {}, ...end }],
      ...rest,
    },
  ];
  return [...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"]
    .map((data) => `data: ${data}\n\n`).join("");
}

/** A Chat answer in one piece. */
function chatAnswer(
  message: JsonObject,
  end: JsonObject,
  rest: JsonObject = {},
): JsonObject {
  return {
    ...HEAD,
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", ...message }, ...end }],
    ...rest,
  };
}

/** A Messages stream of one text. */
function messagesStream(text: string, stop_reason: string): string {
  const events: JsonObject[] = [
    {
      type: "message_start",
      message: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "m",
        content: [],
        usage: { input_tokens: 3, output_tokens: 0 },
      },
    },
    ...(text === "" ? [] : [
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "text", text: "" },
      },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "text_delta", text },
      },
      { type: "content_block_stop", index: 0 },
    ]),
    {
      type: "message_delta",
      delta: { stop_reason },
      usage: { output_tokens: 2 },
    },
    { type: "message_stop" },
  ];
  return events.map((event) =>
    `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
  ).join("");
}

/** A Responses stream of one text, whose last event is of this type and holds these fields. */
function responsesStream(type: string, response: JsonObject): string {
  const events: JsonObject[] = [
    {
      type: "response.created",
      response: { id: "resp_1", model: "m", status: "in_progress", output: [] },
    },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { id: "msg_1", type: "message", role: "assistant", content: [] },
    },
    {
      type: "response.output_text.delta",
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      delta: "so",
    },
    { type, response: { id: "resp_1", model: "m", ...response } },
  ];
  return events.map((event) =>
    `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
  ).join("");
}

const CUT_OFF = {
  status: "incomplete",
  incomplete_details: { reason: "max_output_tokens" },
};

const STOP = { finish_reason: "stop" };
const CALLS = { finish_reason: "tool_calls" };
const SO: AnswerMeaning = { text: "so", stop: "end" };

function call(text: unknown): JsonObject {
  return JSON.parse(JSON.stringify({
    index: 0,
    id: "call_1",
    type: "function",
    function: { name: "f", arguments: text },
  }));
}

/** The table. How streamed calls are cut has a table of its own, `call_schemes.ts`. */
export const BEHAVIOURS: readonly Behaviour[] = [
  {
    provider: "OpenRouter",
    does: "says `tool_calls` for an answer that the token limit cut off",
    source: "https://openrouter.ai/docs/api-reference/overview",
    speaks: "chat",
    tells: chatStream([{ tool_calls: [call('{"a":1}')] }], {
      ...CALLS,
      native_finish_reason: "length",
    }),
    means: { calls: [{ name: "f", input: { a: 1 } }], stop: "max_tokens" },
  },
  {
    provider: "OpenRouter",
    does: "sends comments, and words in place of an event",
    source: "https://openrouter.ai/docs/api-reference/streaming",
    speaks: "chat",
    tells: `: OPENROUTER PROCESSING\n\ndata:\n\n${
      chatStream([{ content: "so" }], STOP)
    }`,
    means: SO,
  },
  {
    provider: "z.ai",
    does: "ends with `network_error`",
    source: "https://docs.z.ai/api-reference/llm/chat-completion",
    speaks: "chat",
    tells: chatStream([{ content: "so" }], { finish_reason: "network_error" }),
    means: { failure: "server" },
  },
  {
    provider: "z.ai",
    does: "ends with a full context before it says anything",
    source: "https://github.com/anomalyco/opencode/issues/18813",
    speaks: "chat",
    tells: chatStream([{ role: "assistant", content: "" }], {
      finish_reason: "model_context_window_exceeded",
    }),
    means: { failure: "context_too_long" },
  },
  {
    provider: "z.ai",
    does: "ends with a full context in the middle",
    source: "https://github.com/anomalyco/opencode/issues/18813",
    speaks: "chat",
    tells: chatStream([{ content: "so" }], {
      finish_reason: "model_context_window_exceeded",
    }),
    means: { text: "so", stop: "context_full" },
  },
  {
    provider: "z.ai, Messages",
    does: "ends with `network_error` there, too",
    source: "https://docs.z.ai/api-reference/llm/chat-completion",
    speaks: "messages",
    tells: messagesStream("so", "network_error"),
    means: { failure: "server" },
  },
  {
    provider: "a Messages server",
    does: "ends with a word that nobody knows",
    source: "the next version of any provider",
    speaks: "messages",
    tells: messagesStream("so", "unheard_of"),
    means: { text: "so", stop: "other", tokens: { input: 3, output: 2 } },
  },
  {
    provider: "DeepSeek",
    does: "ends with `insufficient_system_resource`",
    source: "https://api-docs.deepseek.com/api/create-chat-completion",
    speaks: "chat",
    tells: chatAnswer({ content: "so" }, {
      finish_reason: "insufficient_system_resource",
    }),
    means: { failure: "overloaded" },
  },
  {
    provider: "Gemini",
    does: "ends with details behind a colon",
    source: "https://github.com/googleapis/python-genai/issues/1836",
    speaks: "chat",
    tells: chatAnswer({ content: null }, {
      finish_reason: "function_call_filter: MALFORMED_FUNCTION_CALL",
    }),
    means: { failure: "broken" },
  },
  {
    provider: "Gemini",
    does: "signs the text in a chunk without any",
    source: "https://github.com/mozilla-ai/any-llm/pull/1320",
    speaks: "chat",
    tells: chatStream([{ content: "so" }, {
      content: "",
      extra_content: { google: { thought_signature: "s" } },
    }], STOP),
    means: SO,
  },
  {
    provider: "Gemini",
    does: "marks thoughts beside the text",
    source: "https://github.com/maximhq/bifrost/pull/4569",
    speaks: "chat",
    tells: chatStream([
      { content: "hm", extra_content: { google: { thought: true } } },
      { content: "so" },
    ], STOP),
    means: SO,
  },
  {
    provider: "vLLM",
    does: "tells a truncated call as a call",
    source: "https://github.com/vllm-project/vllm/pull/46303",
    speaks: "chat",
    tells: chatStream([{ tool_calls: [call('{"a":')] }], CALLS),
    means: { failure: "broken" },
  },
  {
    provider: "vLLM",
    does: "writes arguments that are no JSON",
    source: "https://github.com/NousResearch/hermes-agent/pull/7693",
    speaks: "chat",
    tells: chatAnswer({ content: null, tool_calls: [call("a = 1")] }, CALLS),
    means: { failure: "broken" },
  },
  {
    provider: "vLLM",
    does: "names the stop string that was met",
    source: "https://docs.vllm.ai/en/latest/serving/openai_compatible_server",
    speaks: "chat",
    tells: chatStream([{ content: "so" }], { ...STOP, stop_reason: "END" }),
    means: { text: "so", stop: "stop_sequence" },
  },
  {
    provider: "an open model",
    does: "writes `null` for no arguments",
    source: "a corpus of recordings larger than that of this project",
    speaks: "chat",
    tells: chatStream([{ tool_calls: [call("null")] }], CALLS),
    means: { calls: [{ name: "f", input: {} }], stop: "tool_calls" },
  },
  {
    provider: "DashScope",
    does: "says `null` as a word until the end",
    source: "https://help.aliyun.com/zh/model-studio/use-qwen-by-calling-api",
    speaks: "chat",
    tells: chatStream([{ content: "so" }], { finish_reason: "null" }).replace(
      "data: [DONE]",
      `data: ${
        JSON.stringify({
          ...HEAD,
          choices: [{ index: 0, delta: {}, ...STOP }],
        })
      }\n\ndata: [DONE] `,
    ),
    means: SO,
  },
  {
    provider: "an OpenAI-style server",
    does: "tells the whole message again at the end",
    source:
      "https://github.com/abundantbeing/hermes-browser-extension/issues/11",
    speaks: "chat",
    tells: chatStream([{ content: "so" }], STOP).replace(
      "data: [DONE]",
      `data: ${
        JSON.stringify(chatAnswer({ content: "so" }, STOP))
      }\n\ndata: [DONE]`,
    ),
    means: SO,
  },
  {
    provider: "Groq",
    does: "counts in `x_groq` alone",
    source: "recordings",
    speaks: "chat",
    tells: chatStream([{ content: "so" }], STOP, {
      x_groq: {
        usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
      },
    }),
    means: { ...SO, tokens: { input: 3, output: 2 } },
  },
  {
    provider: "Mistral",
    does: "counts sound in seconds, and its tokens in the total",
    source: "https://docs.mistral.ai/capabilities/audio/",
    speaks: "chat",
    tells: chatAnswer({ content: "so" }, STOP, {
      usage: {
        prompt_audio_seconds: 8,
        prompt_tokens: 4,
        completion_tokens: 2,
        total_tokens: 106,
      },
    }),
    means: { ...SO, tokens: { input: 104, output: 2 } },
  },
  {
    provider: "xAI",
    does: "leaves reasoning out of the completion",
    source: "recordings",
    speaks: "chat",
    tells: chatAnswer({ content: "so" }, STOP, {
      usage: {
        prompt_tokens: 3,
        completion_tokens: 2,
        total_tokens: 15,
        completion_tokens_details: { reasoning_tokens: 10 },
      },
    }),
    means: { ...SO, tokens: { input: 3, output: 12 } },
  },
  {
    provider: "iFlytek Spark",
    does: "says success beside an answer, and never why it ends",
    source:
      "https://www.xfyun.cn/doc/spark/HTTP%E8%B0%83%E7%94%A8%E6%96%87%E6%A1%A3.html",
    speaks: "chat",
    tells: {
      code: 0,
      message: "Success",
      sid: "cha000b5de1@dx19e50e7c710b8f3812",
      choices: [{ index: 0, message: { role: "assistant", content: "so" } }],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    },
    means: { ...SO, tokens: { input: 3, output: 2 } },
  },
  {
    provider: "an OpenAI-style server",
    does: "has an empty error in every chunk",
    source: "https://github.com/BerriAI/litellm/issues/40578",
    speaks: "chat",
    tells: chatStream([{ content: "so" }], { ...STOP, error: "" }, {
      error: { code: 0, message: "" },
    }),
    means: SO,
  },
  {
    provider: "an OpenAI-style server",
    does: "counts zeros behind its counts",
    source: "https://github.com/router-for-me/CLIProxyAPI/pull/3077",
    speaks: "chat",
    tells: chatStream([{ content: "so" }], STOP, {
      usage: {
        prompt_tokens: 3,
        completion_tokens: 2,
        prompt_tokens_details: { cached_tokens: 1 },
      },
    }).replace(
      "data: [DONE]",
      `data: ${
        JSON.stringify({
          ...HEAD,
          choices: [],
          usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
        })
      }\n\ndata: [DONE]`,
    ),
    means: { ...SO, tokens: { input: 3, output: 2 } },
  },
  {
    provider: "a Responses server",
    does: "ends with `response.done`",
    source: "https://github.com/decolua/9router/pull/2142",
    speaks: "responses",
    tells: responsesStream("response.done", {
      status: "completed",
      usage: { input_tokens: 3, output_tokens: 2 },
    }),
    means: { ...SO, tokens: { input: 3, output: 2 } },
  },
  {
    provider: "a Responses server",
    does: "ends an answer that was cut off with `response.done`",
    source: "https://github.com/can1357/oh-my-pi/pull/4692",
    speaks: "responses",
    tells: responsesStream("response.done", CUT_OFF),
    means: { text: "so", stop: "max_tokens" },
  },
  {
    provider: "a Responses server",
    does: "says `response.completed` of an answer that was cut off",
    source: "https://github.com/Intrect-io/OpenSwarm/pull/557",
    speaks: "responses",
    tells: responsesStream("response.completed", CUT_OFF),
    means: { text: "so", stop: "max_tokens" },
  },
  {
    provider: "a Responses server",
    does: "says why an answer is incomplete, and no status",
    source: "https://github.com/Intrect-io/OpenSwarm/pull/557",
    speaks: "responses",
    tells: responsesStream("response.completed", {
      incomplete_details: { reason: "content_filter" },
    }),
    means: { text: "so", stop: "filtered" },
  },
  {
    provider: "a Responses server",
    does: "says `response.completed` of an answer that failed",
    source: "https://github.com/openai/openai-agents-python/issues/3106",
    speaks: "responses",
    tells: responsesStream("response.completed", {
      status: "failed",
      error: { code: "rate_limit_exceeded", message: "Too fast" },
    }),
    means: { failure: "rate_limited" },
  },
  {
    provider: "a Responses server",
    does: "says `response.completed` of an answer that it gave up",
    source: "https://github.com/Intrect-io/OpenSwarm/pull/557",
    speaks: "responses",
    tells: responsesStream("response.completed", { status: "cancelled" }),
    means: { failure: "server" },
  },
  {
    provider: "a Responses server",
    does: "has the content of a message as text, as its input may",
    source: "https://developers.openai.com/api/reference/resources/responses",
    speaks: "responses",
    tells: {
      id: "resp_1",
      object: "response",
      model: "m",
      status: "completed",
      output: [{ type: "message", role: "assistant", content: "so" }],
    },
    means: SO,
  },
  {
    provider: "a Messages server",
    does: "has the content of an answer as text, as its input may",
    source: "https://platform.claude.com/docs/en/api/messages",
    speaks: "messages",
    tells: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content: "so",
      stop_reason: "end_turn",
    },
    means: SO,
  },
];
