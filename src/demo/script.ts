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
