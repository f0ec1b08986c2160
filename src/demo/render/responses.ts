import type { Ids } from "../../core/ids.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../core/json.ts";
import { listOf, objectOf } from "../ask/ask.ts";
import {
  type Block,
  type RenderContext,
  type Script,
  seal,
  type Usage,
} from "../script.ts";

/** `script` as a whole Responses answer. */
export function renderResponses(
  script: Script,
  context: RenderContext,
): ResponsesAnswer {
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
): object {
  const kept = context.ask.turns.filter((turn) => turn.role === "user");
  return {
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
}

/** The fields of the answer that repeat the request's settings, or tell their defaults. */
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

function responsesUsage(usage: Usage): ResponsesUsage {
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.inputTokens + usage.outputTokens,
  };
}

/** A Responses answer; the fields that repeat the request stand in it as they came. */
export interface ResponsesAnswer {
  readonly id: string;
  readonly object: "response";
  readonly created_at: number;
  readonly status: "completed" | "incomplete" | "in_progress" | "failed";
  readonly error: JsonObject | null;
  readonly incomplete_details: { readonly reason: string } | null;
  readonly output: readonly OutputItem[];
  readonly usage: ResponsesUsage | null;
  readonly [echoed: string]: unknown;
}

/** One item of an answer. */
export type OutputItem =
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
export interface OutputText {
  readonly type: "output_text";
  readonly text: string;
  readonly annotations: readonly [];
  readonly logprobs: readonly [];
}

/** A part of the summary of a reasoning item. */
export interface SummaryText {
  readonly type: "summary_text";
  readonly text: string;
}

/** Usage in the Responses shape: totals include their details, and every key is required. */
interface ResponsesUsage {
  readonly input_tokens: number;
  readonly input_tokens_details: { readonly cached_tokens: number };
  readonly output_tokens: number;
  readonly output_tokens_details: { readonly reasoning_tokens: number };
  readonly total_tokens: number;
}

/** A text part that holds `text`. */
export function outputText(text: string): OutputText {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}
