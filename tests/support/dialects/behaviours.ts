import type { JsonObject } from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import type { FailureKind } from "../../../src/codecs/canonical/failure/failure.ts";
import type { StopReason } from "../../../src/codecs/canonical/answer/answer.ts";

/**
 * A departure of a provider from its protocol. The answers copy the provider's format, but not its
 * text. A new departure is a new row; a test runs each row through every pair of protocols, and
 * reads the results with the official SDKs.
 */
export interface Behaviour {
  /** The URL of a page that shows it, or `recordings` for a recording of this project. */
  readonly source: string;
  /** Absent for Chat Completions. */
  readonly speaks?: Protocol;
  /** A stream as text, or a whole JSON answer. */
  readonly sends: string | JsonObject;
  readonly means: AnswerMeaning | FailureMeaning;
}

/** The answer that every caller must read. */
export interface AnswerMeaning {
  /** The test ignores white space. */
  readonly text?: string;
  readonly calls?: readonly {
    readonly name: string;
    readonly input: unknown;
  }[];
  readonly stop: StopReason;
  /** Absent when the provider counts nothing. */
  readonly tokens?: { readonly input: number; readonly output: number };
}

/** The error that every caller must read. */
export interface FailureMeaning {
  readonly failure: FailureKind;
}

const HEAD = { id: "c-1", created: 1_700_000_000, model: "m" };

/** Returns a Chat Completions stream of these deltas, whose last choice has the fields `last`. */
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

/** Returns a whole Chat Completions answer. */
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

/** Returns a Messages stream with one text block. */
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

/** Returns a Responses stream with one text, whose last event has this type and these fields. */
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

/** Every known departure, by a sentence about the provider. `call_schemes.ts` has the ways to split streamed calls. */
export const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  "OpenRouter names `tool_calls` in an answer that the token limit cut off": {
    source: "https://openrouter.ai/docs/api-reference/overview",
    sends: chatStream([{ tool_calls: [call('{"a":1}')] }], {
      ...CALLS,
      native_finish_reason: "length",
    }),
    means: { calls: [{ name: "f", input: { a: 1 } }], stop: "max_tokens" },
  },
  "OpenRouter sends comments, and text in place of an event": {
    source: "https://openrouter.ai/docs/api-reference/streaming",
    sends: `: OPENROUTER PROCESSING\n\ndata:\n\n${
      chatStream([{ content: "so" }], STOP)
    }`,
    means: SO,
  },
  "z.ai ends with `network_error`": {
    source: "https://docs.z.ai/api-reference/llm/chat-completion",
    sends: chatStream([{ content: "so" }], { finish_reason: "network_error" }),
    means: { failure: "server" },
  },
  "z.ai ends with a full context before any output": {
    source: "https://github.com/anomalyco/opencode/issues/18813",
    sends: chatStream([{ role: "assistant", content: "" }], {
      finish_reason: "model_context_window_exceeded",
    }),
    means: { failure: "context_too_long" },
  },
  "z.ai ends with a full context in the middle": {
    source: "https://github.com/anomalyco/opencode/issues/18813",
    sends: chatStream([{ content: "so" }], {
      finish_reason: "model_context_window_exceeded",
    }),
    means: { text: "so", stop: "context_full" },
  },
  "z.ai, Messages ends with `network_error` in Messages": {
    source: "https://docs.z.ai/api-reference/llm/chat-completion",
    speaks: "messages",
    sends: messagesStream("so", "network_error"),
    means: { failure: "server" },
  },
  "a Messages server ends with an unknown stop reason": {
    source: "the next version of any provider",
    speaks: "messages",
    sends: messagesStream("so", "unheard_of"),
    means: { text: "so", stop: "other", tokens: { input: 3, output: 2 } },
  },
  "DeepSeek ends with `insufficient_system_resource`": {
    source: "https://api-docs.deepseek.com/api/create-chat-completion",
    sends: chatAnswer({ content: "so" }, {
      finish_reason: "insufficient_system_resource",
    }),
    means: { failure: "overloaded" },
  },
  "Gemini ends with details after a colon": {
    source: "https://github.com/googleapis/python-genai/issues/1836",
    sends: chatAnswer({ content: null }, {
      finish_reason: "function_call_filter: MALFORMED_FUNCTION_CALL",
    }),
    means: { failure: "broken" },
  },
  "Gemini signs the text in a chunk without text": {
    source: "https://github.com/mozilla-ai/any-llm/pull/1320",
    sends: chatStream([{ content: "so" }, {
      content: "",
      extra_content: { google: { thought_signature: "s" } },
    }], STOP),
    means: SO,
  },
  "Gemini marks reasoning beside the text": {
    source: "https://github.com/maximhq/bifrost/pull/4569",
    sends: chatStream([
      { content: "hm", extra_content: { google: { thought: true } } },
      { content: "so" },
    ], STOP),
    means: SO,
  },
  "vLLM sends a truncated call as a complete one": {
    source: "https://github.com/vllm-project/vllm/pull/46303",
    sends: chatStream([{ tool_calls: [call('{"a":')] }], CALLS),
    means: { failure: "broken" },
  },
  "vLLM writes arguments that are not JSON": {
    source: "https://github.com/NousResearch/hermes-agent/pull/7693",
    sends: chatAnswer({ content: null, tool_calls: [call("a = 1")] }, CALLS),
    means: { failure: "broken" },
  },
  "vLLM names the stop string that was met": {
    source: "https://docs.vllm.ai/en/latest/serving/openai_compatible_server",
    sends: chatStream([{ content: "so" }], { ...STOP, stop_reason: "END" }),
    means: { text: "so", stop: "stop_sequence" },
  },
  "an open model writes `null` for no arguments": {
    source: "a corpus of recordings larger than that of this project",
    sends: chatStream([{ tool_calls: [call("null")] }], CALLS),
    means: { calls: [{ name: "f", input: {} }], stop: "tool_calls" },
  },
  "DashScope writes `null` as text until the end": {
    source: "https://help.aliyun.com/zh/model-studio/use-qwen-by-calling-api",
    sends: chatStream([{ content: "so" }], { finish_reason: "null" }).replace(
      "data: [DONE]",
      `data: ${
        JSON.stringify({ ...HEAD, choices: [{ index: 0, delta: {}, ...STOP }] })
      }\n\ndata: [DONE] `,
    ),
    means: SO,
  },
  "an OpenAI-style server repeats the whole message at the end": {
    source:
      "https://github.com/abundantbeing/hermes-browser-extension/issues/11",
    sends: chatStream([{ content: "so" }], STOP).replace(
      "data: [DONE]",
      `data: ${
        JSON.stringify(chatAnswer({ content: "so" }, STOP))
      }\n\ndata: [DONE]`,
    ),
    means: SO,
  },
  "Groq sends usage in `x_groq` only": {
    source: "recordings",
    sends: chatStream([{ content: "so" }], STOP, {
      x_groq: {
        usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
      },
    }),
    means: { ...SO, tokens: { input: 3, output: 2 } },
  },
  "Mistral counts audio in seconds, and its tokens in the total": {
    source: "https://docs.mistral.ai/capabilities/audio/",
    sends: chatAnswer({ content: "so" }, STOP, {
      usage: {
        prompt_audio_seconds: 8,
        prompt_tokens: 4,
        completion_tokens: 2,
        total_tokens: 106,
      },
    }),
    means: { ...SO, tokens: { input: 104, output: 2 } },
  },
  "xAI leaves reasoning out of the completion tokens": {
    source: "recordings",
    sends: chatAnswer({ content: "so" }, STOP, {
      usage: {
        prompt_tokens: 3,
        completion_tokens: 2,
        total_tokens: 15,
        completion_tokens_details: { reasoning_tokens: 10 },
      },
    }),
    means: { ...SO, tokens: { input: 3, output: 12 } },
  },
  "iFlytek Spark reports success beside an answer, and no stop reason": {
    source:
      "https://www.xfyun.cn/doc/spark/HTTP%E8%B0%83%E7%94%A8%E6%96%87%E6%A1%A3.html",
    sends: {
      code: 0,
      message: "Success",
      sid: "cha000b5de1@dx19e50e7c710b8f3812",
      choices: [{ index: 0, message: { role: "assistant", content: "so" } }],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    },
    means: { ...SO, tokens: { input: 3, output: 2 } },
  },
  "an OpenAI-style server has an empty error in every chunk": {
    source: "https://github.com/BerriAI/litellm/issues/40578",
    sends: chatStream([{ content: "so" }], { ...STOP, error: "" }, {
      error: { code: 0, message: "" },
    }),
    means: SO,
  },
  "an OpenAI-style server sends zero counts after its counts": {
    source: "https://github.com/router-for-me/CLIProxyAPI/pull/3077",
    sends: chatStream([{ content: "so" }], STOP, {
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
  "a Responses server ends with `response.done`": {
    source: "https://github.com/decolua/9router/pull/2142",
    speaks: "responses",
    sends: responsesStream("response.done", {
      status: "completed",
      usage: { input_tokens: 3, output_tokens: 2 },
    }),
    means: { ...SO, tokens: { input: 3, output: 2 } },
  },
  "a Responses server ends an answer that was cut off with `response.done`": {
    source: "https://github.com/can1357/oh-my-pi/pull/4692",
    speaks: "responses",
    sends: responsesStream("response.done", CUT_OFF),
    means: { text: "so", stop: "max_tokens" },
  },
  "a Responses server sends `response.completed` for an answer that was cut off":
    {
      source: "https://github.com/Intrect-io/OpenSwarm/pull/557",
      speaks: "responses",
      sends: responsesStream("response.completed", CUT_OFF),
      means: { text: "so", stop: "max_tokens" },
    },
  "a Responses server sends the reason of an incomplete answer, and no status":
    {
      source: "https://github.com/Intrect-io/OpenSwarm/pull/557",
      speaks: "responses",
      sends: responsesStream("response.completed", {
        incomplete_details: { reason: "content_filter" },
      }),
      means: { text: "so", stop: "filtered" },
    },
  "a Responses server sends `response.completed` for an answer that failed": {
    source: "https://github.com/openai/openai-agents-python/issues/3106",
    speaks: "responses",
    sends: responsesStream("response.completed", {
      status: "failed",
      error: { code: "rate_limit_exceeded", message: "Too fast" },
    }),
    means: { failure: "rate_limited" },
  },
  "a Responses server sends `response.completed` for an answer that it cancelled":
    {
      source: "https://github.com/Intrect-io/OpenSwarm/pull/557",
      speaks: "responses",
      sends: responsesStream("response.completed", { status: "cancelled" }),
      means: { failure: "server" },
    },
  "a Responses server sends the content of a message as text, as in input": {
    source: "https://developers.openai.com/api/reference/resources/responses",
    speaks: "responses",
    sends: {
      id: "resp_1",
      object: "response",
      model: "m",
      status: "completed",
      output: [{ type: "message", role: "assistant", content: "so" }],
    },
    means: SO,
  },
  "a Messages server sends the content of an answer as text, as in input": {
    source: "https://platform.claude.com/docs/en/api/messages",
    speaks: "messages",
    sends: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content: "so",
      stop_reason: "end_turn",
    },
    means: SO,
  },
};
