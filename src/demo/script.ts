import type { Tool } from "./ask/ask.ts";

/** What the provider says, before any protocol spells it. */
export interface Script {
  readonly blocks: readonly Block[];
  readonly stop: StopReason;
  /** The sequence that ended the answer; only with the stop reason `sequence`. */
  readonly stopSequence: string | undefined;
  readonly usage: Usage;
}

/** A piece of an answer. */
export type Block =
  | {
    readonly kind: "reasoning";
    readonly text: string;
    readonly isShown: boolean;
  }
  | { readonly kind: "text"; readonly text: string }
  | {
    readonly kind: "call";
    readonly tool: Tool;
    /** JSON of the arguments, or the free text of a custom tool. */
    readonly input: string;
  }
  | { readonly kind: "compaction"; readonly text: string };

/** Why an answer ends: it is complete, a tool is called, the token limit, or a stop sequence. */
export type StopReason = "end" | "call" | "length" | "sequence";

/** Tokens of one exchange. */
export interface Usage {
  /** Includes the cached ones. */
  readonly inputTokens: number;
  readonly cachedTokens: number;
  /** Includes the reasoning ones. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

/** `text` cut behind every blank, so that the words joined are `text` again; none for the empty string. */
export function wordsOf(text: string): string[] {
  return text === "" ? [] : text.split(/(?<=\s)(?=\S)/);
}

/** How many characters one fragment of a tool call's input holds. */
const FRAGMENT_LENGTH = 12;

/** `input` cut into short fragments, never inside a character, as providers stream arguments. */
export function fragmentsOf(input: string): string[] {
  return input.match(new RegExp(`[\\s\\S]{1,${FRAGMENT_LENGTH}}`, "gu")) ?? [];
}
