import type { Protocol } from "../../../src/base/protocol.ts";
import type { SseFrame } from "../../../src/base/frame.ts";
import { parseJson } from "../../../src/base/json.ts";
import { formatFrame } from "../../../src/base/streams/sse.ts";
import { Anthropic, OpenAI } from "./sdks.ts";

/** The facts that a caller reads in an answer of any protocol. */
export interface AnswerFacts {
  /** All text without white space, since protocols join texts differently. */
  readonly text: string;
  readonly refusal: boolean;
  /** Calls of functions and custom tools; the input of a custom tool is `{"input": text}`. */
  readonly calls: readonly { readonly name: string; readonly input: unknown }[];
  readonly stop: string;
  /** `undefined` when the answer counts nothing. */
  readonly tokens:
    | { readonly input: number; readonly output: number }
    | undefined;
}

/** Reads a stream with the official SDK of the protocol. */
export function factsBySdk(
  protocol: Protocol,
  frames: readonly SseFrame[],
): Promise<AnswerFacts> {
  return READERS[protocol](frames.map(formatFrame).join(""));
}

/** Removes white space. */
export function squeeze(text: string): string {
  return text.replaceAll(/\s+/g, "");
}

/**
 * Parses the arguments of a call. Empty arguments become an empty object, and invalid JSON stays
 * text.
 */
export function inputOf(text: string): unknown {
  return text === "" ? {} : parseJson(text) ?? text;
}

const READERS: Readonly<
  Record<Protocol, (text: string) => Promise<AnswerFacts>>
> = { chat: readChat, messages: readMessages, responses: readResponses };

/** Returns a `fetch` that answers every request with the stream `text`. */
function answering(text: string): typeof fetch {
  const headers = { "content-type": "text/event-stream" };
  return () => Promise.resolve(new Response(text, { headers }));
}

async function readChat(text: string): Promise<AnswerFacts> {
  const sdk = new OpenAI({
    apiKey: "k",
    fetch: answering(text),
    maxRetries: 0,
  });
  const completion = await sdk.chat.completions.stream({
    model: "m",
    messages: [{ role: "user", content: "Hi" }],
    stream_options: { include_usage: true },
  }).finalChatCompletion();
  const [choice] = completion.choices;
  const { content, refusal, tool_calls } = choice?.message ?? {};
  const { usage } = completion;
  return {
    text: squeeze(content ?? ""),
    refusal: typeof refusal === "string" && refusal !== "",
    calls: (tool_calls ?? []).map(chatCall),
    stop: choice?.finish_reason ?? "",
    tokens: usage === undefined || usage === null
      ? undefined
      : { input: usage.prompt_tokens, output: usage.completion_tokens },
  };
}

/** Returns the message that Anthropic's SDK assembles from the text of a stream. */
export function messageOfSdk(text: string): Promise<Anthropic.Message> {
  const sdk = new Anthropic({
    apiKey: "k",
    fetch: answering(text),
    maxRetries: 0,
  });
  return sdk.messages.stream({
    model: "m",
    max_tokens: 100,
    messages: [{ role: "user", content: "Hi" }],
  }).finalMessage();
}

async function readMessages(text: string): Promise<AnswerFacts> {
  const message = await messageOfSdk(text);
  const { usage, content } = message;
  return {
    text: squeeze(
      content.map((block) => block.type === "text" ? block.text : "").join(""),
    ),
    refusal: message.stop_reason === "refusal",
    calls: content.flatMap((block) =>
      block.type === "tool_use"
        ? [{ name: block.name, input: block.input }]
        : []
    ),
    stop: message.stop_reason ?? "",
    tokens: {
      input: usage.input_tokens + (usage.cache_read_input_tokens ?? 0) +
        (usage.cache_creation_input_tokens ?? 0),
      output: usage.output_tokens,
    },
  };
}

/** Returns the response that OpenAI's SDK assembles from the text of a stream. */
export function responseOfSdk(
  text: string,
): Promise<OpenAI.Responses.Response> {
  const sdk = new OpenAI({
    apiKey: "k",
    fetch: answering(text),
    maxRetries: 0,
  });
  return sdk.responses.stream({ model: "m", input: "Hi" }).finalResponse();
}

async function readResponses(text: string): Promise<AnswerFacts> {
  const response = await responseOfSdk(text);
  const parts = response.output.flatMap((item) =>
    item.type === "message" ? item.content : []
  );
  const { usage, incomplete_details } = response;
  return {
    text: squeeze(
      parts.map((part) => part.type === "output_text" ? part.text : "").join(
        "",
      ),
    ),
    refusal: parts.some((part) => part.type === "refusal"),
    calls: response.output.flatMap(responsesCall),
    stop: incomplete_details?.reason ?? response.status ?? "",
    tokens: usage === undefined || usage === null
      ? undefined
      : { input: usage.input_tokens, output: usage.output_tokens },
  };
}

type Call = AnswerFacts["calls"][number];

/**
 * Converts a call. The SDK's stream types have function calls only, but its accumulator keeps the
 * other calls.
 */
function chatCall(call: OpenAI.ChatCompletionMessageToolCall): Call {
  return call.type === "function"
    ? { name: call.function.name, input: inputOf(call.function.arguments) }
    : { name: call.custom.name, input: { input: call.custom.input } };
}

function responsesCall(item: OpenAI.Responses.ResponseOutputItem): Call[] {
  if (item.type === "function_call") {
    return [{ name: item.name, input: inputOf(item.arguments) }];
  }
  return item.type === "custom_tool_call"
    ? [{ name: item.name, input: { input: item.input } }]
    : [];
}
