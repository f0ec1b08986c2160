import type { Ids } from "../../../../src/base/ids.ts";
import {
  isJsonObject,
  type JsonValue,
  listOf,
  objectOf,
} from "../../../../src/base/json.ts";
import { OVERLOADED } from "../../../../src/tools/demo/providers.ts";
import type { Usage } from "../../../../src/codecs/canonical/answer/answer.ts";
import {
  fragmentsOf,
  type ScriptBlock,
  type StrictScript,
  wordsOf,
} from "./ask.ts";
import type { Step } from "../../../../src/tools/demo/speak.ts";
import {
  type StrictContext,
  type StrictRendering,
  writeEvent,
} from "./rendering.ts";
import { seal } from "./seal.ts";

/** Renders `script` as a Responses answer and as its events. */
export function renderResponses(
  script: StrictScript,
  context: StrictContext,
): StrictRendering {
  const id = context.ids.next("resp");
  const items = outputItems(script, context);
  const whole = answerOf(script, context, { id, items });
  return {
    whole,
    stream: {
      steps: () => streamResponses(whole, items),
      failure: (stepCount) => [failedEvent(whole, stepCount)],
    },
  };
}

function answerOf(
  script: StrictScript,
  context: StrictContext,
  { id, items }: { readonly id: string; readonly items: readonly OutputItem[] },
): ResponsesAnswer {
  const isCut = script.stop.reason === "max_tokens";
  return {
    id,
    object: "response",
    created_at: context.createdAt,
    status: isCut ? "incomplete" : "completed",
    background: false,
    completed_at: isCut ? null : context.createdAt,
    error: null,
    incomplete_details: isCut ? { reason: "max_output_tokens" } : null,
    ...echoes(context),
    output: items.map(({ item }) => item),
    usage: responsesUsage(script.usage),
  };
}

/** Renders `script` as the answer to a compaction request: the user's messages and one sealed item. */
export function renderCompactedResponse(
  script: StrictScript,
  context: StrictContext,
): StrictRendering {
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
      ...outputItems(script, context).map(({ item }) => item),
    ],
    usage: responsesUsage(script.usage),
  };
  return { whole, stream: undefined };
}

/** Returns the fields of the answer that repeat the request's settings or their defaults. */
function echoes({ ask, body }: StrictContext): Record<string, JsonValue> {
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

/** Adds the default values of the protocol to a function. */
function wholeTool(tool: JsonValue): JsonValue {
  return isJsonObject(tool) && tool.type === "function"
    ? { description: null, parameters: null, strict: true, ...tool }
    : tool;
}

function outputItems(
  script: StrictScript,
  context: StrictContext,
): OutputItem[] {
  const isSealed = listOf(context.body.include)
    .includes("reasoning.encrypted_content");
  const last = script.blocks.length - 1;
  return script.blocks.map((block, index) =>
    outputItem(block, context.ids, {
      isSealed,
      status: script.stop.reason === "max_tokens" && index === last
        ? "incomplete"
        : "completed",
    })
  );
}

function outputItem(
  block: ScriptBlock,
  ids: Ids,
  options: { readonly isSealed: boolean; readonly status: string },
): OutputItem {
  switch (block.kind) {
    case "reasoning": {
      const id = ids.next("rs");
      const summary = block.isShown
        ? [{ type: "summary_text", text: block.text }]
        : [];
      const item = {
        id,
        type: "reasoning",
        summary,
        ...(options.isSealed ? { encrypted_content: seal(block.text) } : {}),
      };
      return {
        id,
        item,
        opening: { ...item, summary: [] },
        events: () => block.isShown ? summaryEvents(block.text) : [],
      };
    }
    case "text": {
      const id = ids.next("msg");
      const item = {
        id,
        type: "message",
        status: options.status,
        role: "assistant",
        content: [outputText(block.text)],
      };
      return {
        id,
        item,
        opening: { ...item, status: "in_progress", content: [] },
        events: () => textEvents(block.text),
      };
    }
    case "call":
      return callItem(block, ids);
    case "compaction": {
      const id = ids.next("cmp");
      const item = {
        id,
        type: "compaction",
        encrypted_content: seal(block.text),
      };
      return { id, item, opening: item, events: () => [] };
    }
  }
}

function callItem(
  { tool, input }: ScriptBlock & { readonly kind: "call" },
  ids: Ids,
): OutputItem {
  const call = {
    status: "completed",
    call_id: ids.next("call"),
    name: tool.name,
    ...(tool.namespace === undefined ? {} : { namespace: tool.namespace }),
  };
  const isCustom = tool.kind === "custom";
  const id = ids.next(isCustom ? "ctc" : "fc");
  const type = isCustom ? "custom_tool_call" : "function_call";
  const field = isCustom ? "input" : "arguments";
  const eventName = isCustom ? type + "_input" : type + "_arguments";
  const item = { id, type, ...call, [field]: input };
  return {
    id,
    item,
    opening: { ...item, status: "in_progress", [field]: "" },
    events: () => [
      ...fragmentsOf(input).map((delta) => ({
        type: `response.${eventName}.delta`,
        delta,
        wordCount: 1,
      })),
      { type: `response.${eventName}.done`, [field]: input },
    ],
  };
}

/** Returns usage in the Responses shape: totals include their details, and each key is required. */
function responsesUsage(usage: Usage): object {
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: usage.cachedInputTokens ?? 0 },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
    total_tokens: usage.inputTokens + usage.outputTokens,
  };
}

/** A Responses answer; the repeated fields of the request are unchanged. */
interface ResponsesAnswer {
  readonly status: string;
  readonly [field: string]: unknown;
}

/** One item of an answer. */
interface OutputItem {
  readonly id: string;
  readonly item: object;
  /** The empty item at its start. */
  readonly opening: object;
  /** Returns the events between start and end, without the item's index. */
  events(): readonly Event[];
}

/** Returns a part with `text`. */
function outputText(text: string): object {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

/** An event without its sequence number. */
interface Event {
  readonly type: string;
  readonly wordCount?: number;
  readonly [field: string]: unknown;
}

/** Returns the events of a Responses stream, numbered from 0, with one open item at a time. */
function* streamResponses(
  answer: ResponsesAnswer,
  items: readonly OutputItem[],
): Generator<Step> {
  let number = 0;
  for (const { type, wordCount, ...fields } of eventsOf(answer, items)) {
    const event = { type, sequence_number: number++, ...fields };
    yield writeEvent(event, wordCount ?? 0);
  }
}

/** Returns the event that ends a stream with a failure after `eventCount` events. */
function failedEvent(answer: ResponsesAnswer, eventCount: number): Step {
  const { code, message } = OVERLOADED;
  return writeEvent({
    type: "response.failed",
    sequence_number: eventCount,
    response: { ...begun(answer), status: "failed", error: { code, message } },
  });
}

function* eventsOf(
  answer: ResponsesAnswer,
  items: readonly OutputItem[],
): Generator<Event> {
  yield { type: "response.created", response: begun(answer) };
  yield { type: "response.in_progress", response: begun(answer) };
  for (const [index, item] of items.entries()) {
    yield* itemEvents(item, index);
  }
  yield { type: `response.${answer.status}`, response: answer };
}

/** Returns the empty answer at the start of a stream. */
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
  { id, item, opening, events }: OutputItem,
  output_index: number,
): Generator<Event> {
  yield { type: "response.output_item.added", output_index, item: opening };
  for (const { type, ...fields } of events()) {
    yield { type, item_id: id, output_index, ...fields };
  }
  yield { type: "response.output_item.done", output_index, item };
}

function textEvents(text: string): Event[] {
  const at = { content_index: 0 };
  return [
    { type: "response.content_part.added", ...at, part: outputText("") },
    ...wordsOf(text).map((delta) => ({
      type: "response.output_text.delta",
      ...at,
      delta,
      logprobs: [],
      wordCount: 1,
    })),
    { type: "response.output_text.done", ...at, text, logprobs: [] },
    { type: "response.content_part.done", ...at, part: outputText(text) },
  ];
}

function summaryEvents(text: string): Event[] {
  const at = { summary_index: 0 };
  const part = (text: string) => ({ type: "summary_text", text });
  return [
    { type: "response.reasoning_summary_part.added", ...at, part: part("") },
    ...wordsOf(text).map((delta) => ({
      type: "response.reasoning_summary_text.delta",
      ...at,
      delta,
      wordCount: 1,
    })),
    { type: "response.reasoning_summary_text.done", ...at, text },
    { type: "response.reasoning_summary_part.done", ...at, part: part(text) },
  ];
}
