import type { Ids } from "../../../../src/base/ids.ts";
import { type JsonObject, objectOf } from "../../../../src/base/json.ts";
import { OVERLOADED } from "../../../../src/tools/demo/providers.ts";
import { openaiError } from "./error_shapes.ts";
import type { Usage } from "../../../../src/codecs/canonical/answer/answer.ts";
import {
  fragmentsOf,
  type ScriptBlock,
  type StrictScript,
  wordsOf,
} from "./ask.ts";
import { type Step, write } from "../../../../src/tools/demo/speak.ts";
import {
  type StrictContext,
  type StrictRendering,
  writeData,
} from "./rendering.ts";

const FINISH_REASONS: Readonly<Record<string, string>> = {
  end: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  tool_calls: "tool_calls",
};

/** Renders `script` as a Chat Completions answer and as its chunks. */
export function renderChat(
  script: StrictScript,
  { ids, createdAt, ask, body }: StrictContext,
): StrictRendering {
  const id = ids.next("chatcmpl");
  const common = { created: createdAt, model: ask.model };
  const answer = message(script.blocks, ids);
  const finish = FINISH_REASONS[script.stop.reason] ?? null;
  const usage = chatUsage(script.usage);
  const system_fingerprint = "fp_demo";
  const choice = (content: object, finish_reason: string | null) => ({
    index: 0,
    ...content,
    logprobs: null,
    finish_reason,
  });
  const chunk = (choices: readonly object[]) => ({
    id,
    ...common,
    system_fingerprint,
    object: "chat.completion.chunk",
    choices,
  });
  const delta = (fields: object, finish: string | null = null) =>
    chunk([choice({ delta: fields }, finish)]);
  const content = answer.content === null ? null : "";
  const chunks = () => [
    { data: delta({ role: "assistant", content, refusal: null }) },
    ...deltas(answer).map((fields) => ({ data: delta(fields), wordCount: 1 })),
    { data: delta({}, finish) },
  ];
  return {
    whole: {
      id,
      object: "chat.completion",
      ...common,
      choices: [choice({ message: answer }, finish)],
      usage,
      system_fingerprint,
    },
    stream: {
      steps: () => chunkSteps(chunks(), { body, end: { ...chunk([]), usage } }),
      failure,
    },
  };
}

/** A chunk of a stream; `wordCount` words of delay precede it, by default none. */
interface Chunk {
  readonly data: object;
  readonly wordCount?: number;
}

/**
 * Returns the steps of a stream. When the request wants usage, the chunks have `usage: null`, and `end` follows them
 * with the usage.
 */
function chunkSteps(
  chunks: readonly Chunk[],
  { body, end }: { readonly body: JsonObject; readonly end: object },
): Step[] {
  const isUsageWanted = objectOf(body.stream_options).include_usage === true;
  const usage = isUsageWanted ? { usage: null } : {};
  return [
    ...chunks.map(({ data, wordCount }) =>
      writeData({ ...data, ...usage }, wordCount)
    ),
    ...(isUsageWanted ? [writeData(end)] : []),
    write("data: [DONE]\n\n"),
  ];
}

function failure(): Step[] {
  return [writeData({ error: openaiError(OVERLOADED) })];
}

interface Message {
  readonly role: "assistant";
  readonly content: string | null;
  readonly refusal: null;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly ToolCall[];
}

type ToolCall =
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

function message(blocks: readonly ScriptBlock[], ids: Ids): Message {
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
  blocks: readonly ScriptBlock[],
  kind: "text" | "reasoning",
): string[] {
  return blocks.flatMap((block) => block.kind === kind ? [block.text] : []);
}

function toolCall(
  { tool, input }: ScriptBlock & { readonly kind: "call" },
  ids: Ids,
): ToolCall {
  const id = ids.next("call");
  return tool.kind === "custom"
    ? { id, type: "custom", custom: { name: tool.name, input } }
    : { id, type: "function", function: { name: tool.name, arguments: input } };
}

/** Returns usage in the Chat shape: totals include their details. */
function chatUsage(usage: Usage): object {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedInputTokens ?? 0 },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
  };
}

function deltas(message: Message): object[] {
  return [
    ...wordsOf(message.reasoning_content ?? "")
      .map((word) => ({ reasoning_content: word })),
    ...wordsOf(message.content ?? "").map((word) => ({ content: word })),
    ...(message.tool_calls ?? []).flatMap(callDeltas),
  ];
}

function callDeltas(call: ToolCall, index: number): object[] {
  const isCustom = call.type === "custom";
  const opening = isCustom
    ? { ...call, custom: { ...call.custom, input: "" } }
    : { ...call, function: { ...call.function, arguments: "" } };
  const input = isCustom ? call.custom.input : call.function.arguments;
  const fragments = fragmentsOf(input).map((fragment) =>
    isCustom
      ? { index, custom: { input: fragment } }
      : { index, function: { arguments: fragment } }
  );
  return [{ index, ...opening }, ...fragments]
    .map((delta) => ({ tool_calls: [delta] }));
}

/** Renders the text of `script` as a legacy completion and as its chunks, without tools and reasoning. */
export function renderCompletion(
  script: StrictScript,
  { ids, createdAt, ask, body }: StrictContext,
): StrictRendering {
  const frame = {
    id: ids.next("cmpl"),
    object: "text_completion",
    created: createdAt,
    model: ask.model,
  };
  const usage = chatUsage(script.usage);
  const finish = script.stop.reason === "max_tokens" ? "length" : "stop";
  const withText = (text: string, finish_reason: string | null) => ({
    ...frame,
    choices: [{ text, index: 0, logprobs: null, finish_reason }],
  });
  const text = textsOf(script.blocks, "text").join("");
  const chunks = () => [
    ...wordsOf(text).map((word) => ({
      data: withText(word, null),
      wordCount: 1,
    })),
    { data: withText("", finish) },
  ];
  return {
    whole: { ...withText(text, finish), usage },
    stream: {
      steps: () =>
        chunkSteps(chunks(), { body, end: { ...frame, choices: [], usage } }),
      failure,
    },
  };
}
