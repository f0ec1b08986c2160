import type { JsonObject } from "../../core/json.ts";

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
export type ItemStatus = "in_progress" | "completed" | "incomplete";

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
export interface ResponsesUsage {
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
