import type { Ids } from "../../core/ids.ts";
import {
  type Block,
  fragmentsOf,
  type RenderContext,
  type Script,
  type StopReason,
  type Usage,
  wordsOf,
} from "../script.ts";
import { type Step, write, writeData } from "../speak.ts";

/** A Chat Completions answer. */
export interface ChatAnswer {
  readonly id: string;
  readonly object: "chat.completion";
  readonly created: number;
  readonly model: string;
  readonly choices: readonly [ChatChoice];
  readonly usage: ChatUsage;
  readonly system_fingerprint: string;
}

interface ChatChoice {
  readonly index: 0;
  readonly message: {
    readonly role: "assistant";
    readonly content: string | null;
    readonly refusal: null;
    readonly reasoning_content?: string;
    readonly tool_calls?: readonly ChatToolCall[];
  };
  readonly logprobs: null;
  readonly finish_reason: FinishReason;
}

type ChatToolCall =
  | {
    readonly id: string;
    readonly type: "function";
    readonly function: { readonly name: string; readonly arguments: string };
  }
  | {
    readonly id: string;
    readonly type: "custom";
    readonly custom: { readonly name: string; readonly input: string };
  };

type FinishReason = "stop" | "length" | "tool_calls";

/** Usage in the Chat shape: totals include their details. */
interface ChatUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
  readonly completion_tokens_details: { readonly reasoning_tokens: number };
}

const FINISH_REASONS: Readonly<Record<StopReason, FinishReason>> = {
  end: "stop",
  sequence: "stop",
  length: "length",
  call: "tool_calls",
};

/** `script` as a whole Chat Completions answer. */
export function renderChat(
  script: Script,
  { ids, createdAt, ask }: RenderContext,
): ChatAnswer {
  return {
    id: ids.next("chatcmpl"),
    object: "chat.completion",
    created: createdAt,
    model: ask.model,
    choices: [{
      index: 0,
      message: message(script.blocks, ids),
      logprobs: null,
      finish_reason: FINISH_REASONS[script.stop],
    }],
    usage: chatUsage(script.usage),
    system_fingerprint: "fp_demo",
  };
}

function message(
  blocks: readonly Block[],
  ids: Ids,
): ChatChoice["message"] {
  const calls = blocks.flatMap((block) =>
    block.kind === "call" ? [toolCall(block, ids)] : []
  );
  const texts = textsOf(blocks, "text");
  const reasoning = textsOf(blocks, "reasoning").join("");
  return {
    role: "assistant",
    content: texts.length === 0 && calls.length > 0 ? null : texts.join(""),
    refusal: null,
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function textsOf(
  blocks: readonly Block[],
  kind: "text" | "reasoning",
): string[] {
  return blocks.flatMap((block) => block.kind === kind ? [block.text] : []);
}

function toolCall(
  { tool, input }: Block & { readonly kind: "call" },
  ids: Ids,
): ChatToolCall {
  const id = ids.next("call");
  return tool.kind === "custom"
    ? { id, type: "custom", custom: { name: tool.name, input } }
    : { id, type: "function", function: { name: tool.name, arguments: input } };
}

/** `usage` in the Chat shape. */
function chatUsage(usage: Usage): ChatUsage {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}

/**
 * `answer` as the chunks of a stream. With `includeUsage` a last chunk without choices carries the usage,
 * and the earlier ones say `usage: null`.
 */
export function* streamChat(
  answer: ChatAnswer,
  options: { readonly includeUsage: boolean },
): Generator<Step> {
  const { choices: [choice], usage, object: _, ...frame } = answer;
  const chunk = (choices: readonly object[], counted: ChatUsage | null) => ({
    ...frame,
    object: "chat.completion.chunk",
    choices,
    ...(options.includeUsage ? { usage: counted } : {}),
  });
  const delta = (fields: object, finish: FinishReason | null = null) =>
    chunk([{
      index: 0,
      delta: fields,
      logprobs: null,
      finish_reason: finish,
    }], null);

  const content = choice.message.content === null ? null : "";
  yield writeData(delta({ role: "assistant", content, refusal: null }));
  for (const fields of deltas(choice.message)) {
    yield writeData(delta(fields), 1);
  }
  yield writeData(delta({}, choice.finish_reason));
  if (options.includeUsage) yield writeData(chunk([], usage));
  yield write("data: [DONE]\n\n");
}

function* deltas(message: ChatChoice["message"]): Generator<object> {
  for (const word of wordsOf(message.reasoning_content ?? "")) {
    yield { reasoning_content: word };
  }
  for (const word of wordsOf(message.content ?? "")) yield { content: word };
  for (const [index, call] of (message.tool_calls ?? []).entries()) {
    yield* callDeltas(call, index);
  }
}

function* callDeltas(call: ChatToolCall, index: number): Generator<object> {
  const isCustom = call.type === "custom";
  const opening = isCustom
    ? { ...call, custom: { ...call.custom, input: "" } }
    : { ...call, function: { ...call.function, arguments: "" } };
  yield { tool_calls: [{ index, ...opening }] };
  const input = isCustom ? call.custom.input : call.function.arguments;
  for (const fragment of fragmentsOf(input)) {
    yield {
      tool_calls: [
        isCustom
          ? { index, custom: { input: fragment } }
          : { index, function: { arguments: fragment } },
      ],
    };
  }
}

/** An answer of the legacy text completions. */
interface CompletionAnswer {
  readonly id: string;
  readonly object: "text_completion";
  readonly created: number;
  readonly model: string;
  readonly choices: readonly [{
    readonly text: string;
    readonly index: 0;
    readonly logprobs: null;
    readonly finish_reason: "stop" | "length";
  }];
  readonly usage: ChatUsage;
}

/** The text of `script` as a legacy completion; it has neither tools nor reasoning. */
export function renderCompletion(
  script: Script,
  { ids, createdAt, ask }: RenderContext,
): CompletionAnswer {
  const texts = script.blocks.flatMap((block) =>
    block.kind === "text" ? [block.text] : []
  );
  return {
    id: ids.next("cmpl"),
    object: "text_completion",
    created: createdAt,
    model: ask.model,
    choices: [{
      text: texts.join(""),
      index: 0,
      logprobs: null,
      finish_reason: script.stop === "length" ? "length" : "stop",
    }],
    usage: chatUsage(script.usage),
  };
}

/** `answer` as the chunks of a stream; `includeUsage` as in Chat Completions. */
export function* streamCompletion(
  answer: CompletionAnswer,
  options: { readonly includeUsage: boolean },
): Generator<Step> {
  const { choices: [choice], usage, ...frame } = answer;
  const chunk = (choices: readonly object[], counted: ChatUsage | null) => ({
    ...frame,
    choices,
    ...(options.includeUsage ? { usage: counted } : {}),
  });
  for (const text of wordsOf(choice.text)) {
    yield writeData(
      chunk([{ ...choice, text, finish_reason: null }], null),
      1,
    );
  }
  yield writeData(chunk([{ ...choice, text: "" }], null));
  if (options.includeUsage) yield writeData(chunk([], usage));
  yield write("data: [DONE]\n\n");
}
