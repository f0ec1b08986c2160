import {
  type OutputItem,
  type OutputText,
  outputText,
  type ResponsesAnswer,
  type SummaryText,
} from "./responses.ts";
import type { Refusal } from "../refusal.ts";
import { type Step, writeEvent } from "../speak.ts";
import { fragmentsOf, wordsOf } from "../script.ts";

/** An event before it gets its number. */
interface Event {
  readonly type: string;
  readonly wordCount?: number;
  readonly [field: string]: unknown;
}

/** `answer` as the events of a Responses stream, numbered from 0, one item open at a time. */
export function* streamResponses(answer: ResponsesAnswer): Generator<Step> {
  let number = 0;
  for (const { type, wordCount, ...fields } of eventsOf(answer)) {
    const event = { type, sequence_number: number++, ...fields };
    yield writeEvent(event, wordCount ?? 0);
  }
}

/** The event that ends a stream which `refusal` breaks into, after its event number `lastNumber`. */
export function failedEvent(
  answer: ResponsesAnswer,
  options: { readonly lastNumber: number; readonly refusal: Refusal },
): Step {
  const { code, message } = options.refusal;
  return writeEvent({
    type: "response.failed",
    sequence_number: options.lastNumber + 1,
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
