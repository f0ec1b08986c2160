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
import type { ProviderMetadata } from "../content/extras.ts";
import {
  brokenAnswer,
  type Failure,
  oversizedAnswer,
} from "../failure/failure.ts";
import type { Sealed } from "../content/sealed.ts";
import type { Answer } from "../answer/answer.ts";

/**
 * One event of an answer. A stream is
 * `start (block-start (block-part | block-delta | block-citation | block-seal)* block-end)* end`. Blocks may
 * overlap. At any point, even at the start, `failure` may end the stream. `end` and `failure` are terminal. Every block
 * ends before `end`.
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

/** The upstream accepted the request. `usage` has the token counts so far, if the upstream sent counts. */
export interface StartEvent extends
  Pick<
    Answer,
    "id" | "model" | "createdAtMs" | "usage" | "reasoningDropped"
  > {
  readonly type: "start";
}

export interface BlockStartEvent {
  readonly type: "block-start";
  /** The number of the block in the answer, from 0. */
  readonly index: number;
  readonly block: BlockHead;
}

/** The fields of a block that are known at its start. An opaque block is complete from the start. */
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

/** A new part of a reasoning block begins. This event precedes the first delta of a reasoning block. */
interface BlockPartEvent {
  readonly type: "block-part";
  readonly index: number;
  readonly form: ReasoningForm;
}

/**
 * The next text of a block, never empty. In a reasoning block, the text belongs to the last part. In a function call,
 * the text is a piece of the arguments' JSON. In a custom call, the text is a piece of the input.
 */
interface BlockDeltaEvent {
  readonly type: "block-delta";
  readonly index: number;
  readonly text: string;
  /** The log probabilities of a text block's tokens, when the caller requested them. */
  readonly logprobs?: readonly TokenLogprob[] | undefined;
}

interface BlockCitationEvent {
  readonly type: "block-citation";
  readonly index: number;
  readonly citation: Citation;
}

/** The sealed part of a reasoning block or a call; at most one for each block. */
interface BlockSealEvent {
  readonly type: "block-seal";
  readonly index: number;
  readonly sealed: Sealed;
}

export interface BlockEndEvent {
  readonly type: "block-end";
  readonly index: number;
}

/** The answer is complete. `reasoningDropped` is set when the upstream sends its reasons only at the end. */
export interface EndEvent
  extends Omit<Answer, "id" | "model" | "createdAtMs" | "blocks"> {
  readonly type: "end";
}

/** The answer failed, and no event follows. */
interface FailureEvent {
  readonly type: "failure";
  readonly failure: Failure;
}

/** Returns the event that ends an answer whose upstream violates its protocol, with a {@linkcode brokenAnswer}. */
export function brokenEvent(fault: string): FailureEvent {
  return { type: "failure", failure: brokenAnswer(fault) };
}

/** The fault of an answer with a call that has no name. */
export const NAMELESS_CALL = "The provider called a tool without a name";

/** Returns the event that ends an answer above one of the gateway's limits, with an {@linkcode oversizedAnswer}. */
export function oversizedEvent(fault: string): FailureEvent {
  return { type: "failure", failure: oversizedAnswer(fault) };
}

/** Returns true when an event shows output to the caller. After such an event, no other attempt is possible. */
export function isOutput(event: AnswerEvent): boolean {
  return event.type === "block-delta" || event.type === "end" ||
    event.type === "block-start" && isOutputHead(event.block.kind);
}

function isOutputHead(kind: AnswerBlock["kind"]): boolean {
  return kind === "function_call" || kind === "custom_call" ||
    kind === "opaque";
}
