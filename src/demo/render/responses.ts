import type { Ids } from "../../core/ids.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../core/json.ts";
import { listOf, objectOf } from "../ask/ask.ts";
import { overloaded } from "../providers.ts";
import {
  type Block,
  fragmentsOf,
  type RenderContext,
  type Rendering,
  type Script,
  seal,
  type Usage,
  wordsOf,
} from "../script.ts";
import { type Step, writeEvent } from "../speak.ts";

/** `script` as a Responses answer and as its events. */
export function renderResponses(
  script: Script,
  context: RenderContext,
): Rendering {
  const whole = answerOf(script, context);
  return {
    whole,
    stream: {
      steps: () => streamResponses(whole),
      failure: (stepCount) => [failedEvent(whole, stepCount)],
    },
  };
}

function answerOf(script: Script, context: RenderContext): ResponsesAnswer {
  const isCut = script.stop === "length";
  return {
    id: context.ids.next("resp"),
    object: "response",
    created_at: context.createdAt,
    status: isCut ? "incomplete" : "completed",
    background: false,
    completed_at: isCut ? null : context.createdAt,
    error: null,
    incomplete_details: isCut ? { reason: "max_output_tokens" } : null,
    ...echoes(context),
    output: outputItems(script, context),
    usage: responsesUsage(script.usage),
  };
}

/** `script` as the answer to a compaction request: the user's messages and one sealed item. */
export function renderCompactedResponse(
  script: Script,
  context: RenderContext,
): Rendering {
  const kept = context.ask.turns.filter((turn) => turn.role === "user");
  const whole = {
    id: context.ids.next("resp"),
    object: "response.compaction",
    created_at: context.createdAt,
    output: [
      ...kept.map((turn) => ({
        id: context.ids.next("msg"),
        type: "message",
        role: "user",
        status: "completed",
        content: turn.texts.map((text) => ({ type: "input_text", text })),
      })),
      ...outputItems(script, context),
    ],
    usage: responsesUsage(script.usage),
  };
  return { whole, stream: undefined };
}

/** The fields of the answer that repeat the request's settings, or say their defaults. */
function echoes({ ask, body }: RenderContext): Record<string, JsonValue> {
  const reasoning = objectOf(body.reasoning);
  const text = objectOf(body.text);
  return {
    frequency_penalty: body.frequency_penalty ?? 0,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    model: ask.model,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    presence_penalty: body.presence_penalty ?? 0,
    previous_response_id: null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    reasoning: {
      effort: reasoning.effort ?? null,
      summary: reasoning.summary ?? null,
    },
    safety_identifier: body.safety_identifier ?? null,
    service_tier: "default",
    store: body.store ?? true,
    temperature: body.temperature ?? 1,
    text: { ...text, format: text.format ?? { type: "text" } },
    tool_choice: body.tool_choice ?? "auto",
    tools: listOf(body.tools).map(wholeTool),
    top_logprobs: body.top_logprobs ?? 0,
    top_p: body.top_p ?? 1,
    truncation: body.truncation ?? "disabled",
    user: body.user ?? null,
    metadata: body.metadata ?? {},
  };
}

/** A function with all of its fields, as the protocol has them where they were not given. */
function wholeTool(tool: JsonValue): JsonValue {
  return isJsonObject(tool) && tool.type === "function"
    ? { description: null, parameters: null, strict: true, ...tool }
    : tool;
}

function outputItems(script: Script, context: RenderContext): OutputItem[] {
  const isSealed = listOf(context.body.include)
    .includes("reasoning.encrypted_content");
  const last = script.blocks.length - 1;
  return script.blocks.map((block, index) =>
    outputItem(block, context.ids, {
      isSealed,
      status: script.stop === "length" && index === last
        ? "incomplete"
        : "completed",
    })
  );
}

function outputItem(
  block: Block,
  ids: Ids,
  options: { readonly isSealed: boolean; readonly status: ItemStatus },
): OutputItem {
  const { status, isSealed } = options;
  switch (block.kind) {
    case "reasoning":
      return {
        id: ids.next("rs"),
        type: "reasoning",
        summary: block.isShown
          ? [{ type: "summary_text", text: block.text }]
          : [],
        ...(isSealed ? { encrypted_content: seal(block.text) } : {}),
      };
    case "text":
      return {
        id: ids.next("msg"),
        type: "message",
        status,
        role: "assistant",
        content: [outputText(block.text)],
      };
    case "call":
      return callItem(block, ids);
    case "compaction":
      return {
        id: ids.next("cmp"),
        type: "compaction",
        encrypted_content: seal(block.text),
      };
  }
}

function callItem(
  { tool, input }: Block & { readonly kind: "call" },
  ids: Ids,
): OutputItem {
  const call = {
    status: "completed" as const,
    call_id: ids.next("call"),
    name: tool.name,
    ...(tool.namespace === undefined ? {} : { namespace: tool.namespace }),
  };
  return tool.kind === "custom"
    ? { id: ids.next("ctc"), type: "custom_tool_call", ...call, input }
    : { id: ids.next("fc"), type: "function_call", ...call, arguments: input };
}

/** Usage in the Responses shape: totals include their details, and every key is required. */
function responsesUsage(usage: Usage): object {
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.inputTokens + usage.outputTokens,
  };
}

/** A Responses answer; the fields that repeat the request stand in it as they came. */
interface ResponsesAnswer {
  readonly id: string;
  readonly object: "response";
  readonly created_at: number;
  readonly status: "completed" | "incomplete" | "in_progress" | "failed";
  readonly error: JsonObject | null;
  readonly incomplete_details: { readonly reason: string } | null;
  readonly output: readonly OutputItem[];
  readonly usage: object | null;
  readonly [echoed: string]: unknown;
}

/** One item of an answer. */
type OutputItem =
  | {
    readonly id: string;
    readonly type: "message";
    readonly status: ItemStatus;
    readonly role: "assistant";
    readonly content: readonly OutputText[];
  }
  | {
    readonly id: string;
    readonly type: "reasoning";
    readonly summary: readonly SummaryText[];
    readonly encrypted_content?: string;
  }
  | {
    readonly id: string;
    readonly type: "function_call";
    readonly status: ItemStatus;
    readonly call_id: string;
    readonly name: string;
    readonly namespace?: string;
    readonly arguments: string;
  }
  | {
    readonly id: string;
    readonly type: "custom_tool_call";
    readonly status: ItemStatus;
    readonly call_id: string;
    readonly name: string;
    readonly namespace?: string;
    readonly input: string;
  }
  | {
    readonly id: string;
    readonly type: "compaction";
    readonly encrypted_content: string;
  };

/** How far an item has come. */
type ItemStatus = "in_progress" | "completed" | "incomplete";

/** A text part of a message item. */
interface OutputText {
  readonly type: "output_text";
  readonly text: string;
  readonly annotations: readonly [];
  readonly logprobs: readonly [];
}

/** A part of the summary of a reasoning item. */
interface SummaryText {
  readonly type: "summary_text";
  readonly text: string;
}

/** A text part that holds `text`. */
function outputText(text: string): OutputText {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

/** An event before it gets its number. */
interface Event {
  readonly type: string;
  readonly wordCount?: number;
  readonly [field: string]: unknown;
}

/** `answer` as the events of a Responses stream, numbered from 0, one item open at a time. */
function* streamResponses(answer: ResponsesAnswer): Generator<Step> {
  let number = 0;
  for (const { type, wordCount, ...fields } of eventsOf(answer)) {
    const event = { type, sequence_number: number++, ...fields };
    yield writeEvent(event, wordCount ?? 0);
  }
}

/** The event that ends a stream which a failure breaks into after so many events. */
function failedEvent(answer: ResponsesAnswer, eventCount: number): Step {
  const { code, message } = overloaded();
  return writeEvent({
    type: "response.failed",
    sequence_number: eventCount,
    response: { ...begun(answer), status: "failed", error: { code, message } },
  });
}

function* eventsOf(answer: ResponsesAnswer): Generator<Event> {
  yield { type: "response.created", response: begun(answer) };
  yield { type: "response.in_progress", response: begun(answer) };
  for (const [index, item] of answer.output.entries()) {
    yield* itemEvents(item, index);
  }
  yield { type: `response.${answer.status}`, response: answer };
}

/** The answer as it stands before anything was said. */
function begun(answer: ResponsesAnswer): ResponsesAnswer {
  return {
    ...answer,
    status: "in_progress",
    completed_at: null,
    incomplete_details: null,
    output: [],
    usage: null,
  };
}

function* itemEvents(
  item: OutputItem,
  output_index: number,
): Generator<Event> {
  yield {
    type: "response.output_item.added",
    output_index,
    item: openingOf(item),
  };
  for (const event of contentEvents(item)) {
    const { type, ...fields } = event;
    yield { type, item_id: item.id, output_index, ...fields };
  }
  yield { type: "response.output_item.done", output_index, item };
}

function openingOf(item: OutputItem): OutputItem {
  switch (item.type) {
    case "message":
      return { ...item, status: "in_progress", content: [] };
    case "reasoning":
      return { ...item, summary: [] };
    case "function_call":
      return { ...item, status: "in_progress", arguments: "" };
    case "custom_tool_call":
      return { ...item, status: "in_progress", input: "" };
    case "compaction":
      return item;
  }
}

function* contentEvents(item: OutputItem): Generator<Event> {
  switch (item.type) {
    case "message":
      for (const [content_index, part] of item.content.entries()) {
        yield* textEvents(part, content_index);
      }
      return;
    case "reasoning":
      for (const [summary_index, part] of item.summary.entries()) {
        yield* summaryEvents(part, summary_index);
      }
      return;
    case "function_call":
      yield* inputEvents("response.function_call_arguments", item.arguments);
      yield {
        type: "response.function_call_arguments.done",
        arguments: item.arguments,
      };
      return;
    case "custom_tool_call":
      yield* inputEvents("response.custom_tool_call_input", item.input);
      yield { type: "response.custom_tool_call_input.done", input: item.input };
      return;
    case "compaction":
  }
}

function* textEvents(
  part: OutputText,
  content_index: number,
): Generator<Event> {
  const at = { content_index };
  yield { type: "response.content_part.added", ...at, part: outputText("") };
  for (const delta of wordsOf(part.text)) {
    yield {
      type: "response.output_text.delta",
      ...at,
      delta,
      logprobs: [],
      wordCount: 1,
    };
  }
  yield {
    type: "response.output_text.done",
    ...at,
    text: part.text,
    logprobs: [],
  };
  yield { type: "response.content_part.done", ...at, part };
}

function* summaryEvents(
  part: SummaryText,
  summary_index: number,
): Generator<Event> {
  const at = { summary_index };
  yield {
    type: "response.reasoning_summary_part.added",
    ...at,
    part: { ...part, text: "" },
  };
  for (const delta of wordsOf(part.text)) {
    yield {
      type: "response.reasoning_summary_text.delta",
      ...at,
      delta,
      wordCount: 1,
    };
  }
  yield {
    type: "response.reasoning_summary_text.done",
    ...at,
    text: part.text,
  };
  yield { type: "response.reasoning_summary_part.done", ...at, part };
}

function* inputEvents(prefix: string, input: string): Generator<Event> {
  for (const delta of fragmentsOf(input)) {
    yield { type: `${prefix}.delta`, delta, wordCount: 1 };
  }
}
