import type {
  AnswerBlock,
  Citation,
  CustomCallBlock,
  FunctionCallBlock,
  MessageHead,
  OpaqueBlock,
  ReasoningForm,
  TokenLogprob,
} from "../content/block.ts";
import type { ProviderMetadata, Raw } from "../content/extras.ts";
import {
  brokenAnswer,
  type Failure,
  oversizedAnswer,
} from "../failure/failure.ts";
import type { Sealed } from "../content/sealed.ts";
import type { Stop, Usage } from "../answer/answer.ts";

/**
 * One step of an answer. A stream is
 * `start (block-start (block-part | block-delta | block-citation | block-seal)* block-end)* end`, where blocks
 * may overlap, or any beginning of that followed by `failure`, even nothing. `end` and `failure` are
 * terminal; every block is closed before `end`.
 */
export type AnswerEvent =
  | StartEvent
  | BlockStartEvent
  | BlockPartEvent
  | BlockDeltaEvent
  | BlockCitationEvent
  | BlockSealEvent
  | BlockEndEvent
  | EndEvent
  | FailureEvent;

/** The upstream took the request. */
export interface StartEvent {
  readonly type: "start";
  /** As in an answer: the upstream's id, empty where it gave none. */
  readonly id: string;
  readonly model: string;
  readonly createdAtMs?: number | undefined;
  /** What the upstream has counted so far, where it says. */
  readonly usage?: Usage | undefined;
  /** Why the upstream left out earlier reasoning of the request, in its words; absent where it left out none. */
  readonly reasoningDropped?: readonly string[] | undefined;
}

/** A block begins. */
export interface BlockStartEvent {
  readonly type: "block-start";
  /** 0 for the first block of the answer, then one more each. */
  readonly index: number;
  readonly block: BlockHead;
}

/** What is known of a block when it begins; an opaque block is whole from the start. */
export type BlockHead =
  | {
    readonly kind: "text" | "refusal";
    readonly message?: MessageHead | undefined;
    readonly providerMetadata?: ProviderMetadata | undefined;
  }
  | {
    readonly kind: "reasoning";
    readonly providerMetadata?: ProviderMetadata | undefined;
  }
  | Omit<FunctionCallBlock, "arguments" | "cache" | "sealed">
  | Omit<CustomCallBlock, "input" | "cache" | "sealed">
  | OpaqueBlock;

/** A new part of a reasoning block begins; comes before the first delta of such a block. */
export interface BlockPartEvent {
  readonly type: "block-part";
  readonly index: number;
  readonly form: ReasoningForm;
}

/**
 * More of what the block consists of: text of a text, refusal or reasoning block (its last part), JSON
 * text of a function call's arguments, a custom call's input. Never empty.
 */
export interface BlockDeltaEvent {
  readonly type: "block-delta";
  readonly index: number;
  readonly text: string;
  /** Of the tokens of a text block, where the caller asked for them. */
  readonly logprobs?: readonly TokenLogprob[] | undefined;
}

/** What backs the text of a text block. */
export interface BlockCitationEvent {
  readonly type: "block-citation";
  readonly index: number;
  readonly citation: Citation;
}

/** The sealed part of a reasoning block or a call; at most one for each block. */
export interface BlockSealEvent {
  readonly type: "block-seal";
  readonly index: number;
  readonly sealed: Sealed;
}

/** Nothing more comes of the block. */
export interface BlockEndEvent {
  readonly type: "block-end";
  readonly index: number;
}

/** The answer is whole. */
export interface EndEvent {
  readonly type: "end";
  readonly stop: Stop;
  /** Final counts; absent when the upstream did not count. */
  readonly usage?: Usage | undefined;
  readonly serviceTier?: Raw | undefined;
  /** As in the start event, where it is known only now. */
  readonly reasoningDropped?: readonly string[] | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** The answer broke; nothing more comes. */
export interface FailureEvent {
  readonly type: "failure";
  readonly failure: Failure;
}

/**
 * The event that breaks an answer off whose upstream does not keep to its protocol, with a {@linkcode brokenAnswer}.
 */
export function brokenEvent(fault: string): FailureEvent {
  return { type: "failure", failure: brokenAnswer(fault) };
}

/** The event that breaks an answer off which passes one of the gateway's bounds. */
export function oversizedEvent(message: string): FailureEvent {
  return { type: "failure", failure: oversizedAnswer(message) };
}

/** Whether the event shows the caller something of the answer, so that no other upstream may be asked any more. */
export function isOutput(event: AnswerEvent): boolean {
  return event.type === "block-delta" || event.type === "end" ||
    event.type === "block-start" && isOutputHead(event.block.kind);
}

function isOutputHead(kind: AnswerBlock["kind"]): boolean {
  return kind === "function_call" || kind === "custom_call" ||
    kind === "opaque";
}
