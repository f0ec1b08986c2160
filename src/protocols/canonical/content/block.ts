import type { JsonObject, JsonValue } from "../../../core/json.ts";
import type { Protocol } from "../../../core/protocol.ts";
import type { InnerSettings, ProviderMetadata, Raw, Weight } from "./extras.ts";
import type { Sealed } from "./sealed.ts";

/**
 * One piece of a turn or an answer. The union of what the protocols have; what none but one protocol
 * understands is `opaque`.
 */
export type Block =
  | TextBlock
  | ImageBlock
  | FileBlock
  | AudioBlock
  | ReasoningBlock
  | FunctionCallBlock
  | CustomCallBlock
  | ToolResultBlock
  | RefusalBlock
  | OpaqueBlock;

/** What a model answers with. */
export type AnswerBlock =
  | TextBlock
  | ReasoningBlock
  | FunctionCallBlock
  | CustomCallBlock
  | RefusalBlock
  | OpaqueBlock;

/** A call of a tool that the caller runs. */
export type ToolCallBlock = FunctionCallBlock | CustomCallBlock;

/** Whether the block is a call of a tool that the caller runs. */
export function isToolCall(
  block: { readonly kind: string },
): block is ToolCallBlock {
  return block.kind === "function_call" || block.kind === "custom_call";
}

/** What a tool gave back. */
export type ResultContent = TextBlock | ImageBlock | FileBlock | OpaqueBlock;

/** Asks the upstream to keep the prompt up to and including what carries the mark in its cache. */
export interface CacheMark {
  /** How long to keep it; absent means the upstream's default. */
  readonly ttlSeconds?: number | undefined;
}

/**
 * Says that a message of its own begins with a block, apart from what the model said before it; Responses models say
 * several things in one answer.
 */
export interface MessageHead {
  /** Whether it is a `commentary` on the work or the `final_answer`, where the upstream says. */
  readonly phase?: string | undefined;
}

/** Text; in an answer, with what backs it. May be empty: an encoder whose protocol forbids that leaves it out. */
export interface TextBlock {
  readonly kind: "text";
  readonly text: string;
  readonly citations?: readonly Citation[] | undefined;
  readonly message?: MessageHead | undefined;
  /** Of an answer's text, where the caller asked for them. */
  readonly logprobs?: readonly TokenLogprob[] | undefined;
  readonly cache?: CacheMark | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** Where the bytes of an image or a file are. */
export type MediaSource =
  | {
    readonly type: "base64";
    /** Such as `image/png`, in lower case; `image/jpg` is already `image/jpeg`. */
    readonly mediaType: string;
    /** Standard base64 without a `data:` prefix. */
    readonly data: string;
  }
  | { readonly type: "url"; readonly url: string }
  /** An id that only `store` understands. */
  | { readonly type: "id"; readonly store: FileStore; readonly id: string };

/** Who keeps uploaded files: the one that Chat and Responses share, or the one of Messages. */
export type FileStore = "openai" | "anthropic";

/** A picture. */
export interface ImageBlock {
  readonly kind: "image";
  readonly source: MediaSource;
  /** Wanted resolution as the chat and Responses protocols spell it: `auto`, `low`, `high`, `original`. */
  readonly detail?: string | undefined;
  readonly cache?: CacheMark | undefined;
  readonly settings?: InnerSettings | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** A document: its bytes, or its text. */
export interface FileBlock {
  readonly kind: "file";
  readonly source: MediaSource | {
    readonly type: "text";
    readonly text: string;
  };
  /** File name or title. */
  readonly name?: string | undefined;
  /** What the caller says about it, which is no part of it. */
  readonly context?: string | undefined;
  /** Whether the answer shall name the places in it that back its text. */
  readonly isCited?: boolean | undefined;
  readonly cache?: CacheMark | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** Sound that the caller sent. */
export interface AudioBlock {
  readonly kind: "audio";
  /** Such as `wav` or `mp3`. */
  readonly format: string;
  /** Standard base64. */
  readonly data: string;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/**
 * What the model thought. `parts` are the readable pieces in order: usually one; several when a
 * Responses model sums up in paragraphs (a protocol with one text joins them by a blank line); none when
 * nothing is shown. `sealed` is what the upstream wants back unchanged.
 */
export interface ReasoningBlock {
  readonly kind: "reasoning";
  readonly parts: readonly ReasoningPart[];
  readonly sealed?: Sealed | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** A readable piece of reasoning. */
export interface ReasoningPart {
  /** Whether it retells the thinking or is the thinking itself. */
  readonly form: ReasoningForm;
  readonly text: string;
}

/** `summary`: told by the upstream about hidden thinking; `raw`: the tokens themselves. */
export type ReasoningForm = "summary" | "raw";

/** A call of a function tool. */
export interface FunctionCallBlock {
  readonly kind: "function_call";
  /** What its result refers to; never empty, of any length and alphabet. */
  readonly id: string;
  readonly name: string;
  /** The namespace tool that holds the function. */
  readonly namespace?: string | undefined;
  /** JSON text as the model wrote it: not promised to be valid; empty means no arguments. */
  readonly arguments: string;
  /** What the upstream wants back with the call, unchanged. */
  readonly sealed?: Sealed | undefined;
  readonly cache?: CacheMark | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** A call of a custom tool, whose input is free text. */
export interface CustomCallBlock {
  readonly kind: "custom_call";
  /** What its result refers to; never empty, of any length and alphabet. */
  readonly id: string;
  readonly name: string;
  /** The namespace tool that holds the tool. */
  readonly namespace?: string | undefined;
  readonly input: string;
  /** What the upstream wants back with the call, unchanged. */
  readonly sealed?: Sealed | undefined;
  readonly cache?: CacheMark | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** What came of a call; stands only in a `tool` turn. */
export interface ToolResultBlock {
  readonly kind: "tool_result";
  /** The `id` of the call. */
  readonly callId: string;
  /** Which kind of call it answers; `function` where the protocol does not say and the call is not in the history. */
  readonly callKind: "function" | "custom";
  readonly content: readonly ResultContent[];
  readonly isError: boolean;
  readonly cache?: CacheMark | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** The model's words for why it will not answer. */
export interface RefusalBlock {
  readonly kind: "refusal";
  readonly text: string;
  readonly message?: MessageHead | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/**
 * Something only one protocol has: a server tool's call or result, an item of a kind unknown here. Its own
 * codec writes `value` again; every other encoder shows `text` where there is one, and else reports its
 * loss by `weight`.
 */
export interface OpaqueBlock {
  readonly kind: "opaque";
  readonly protocol: Protocol;
  /** The wire's own `type`, for reports. */
  readonly type: string;
  readonly value: JsonValue;
  /** A reading of it for models that know no such block. */
  readonly text?: string | undefined;
  /** A reading of it in other blocks, where text alone does not do. */
  readonly content?: readonly (TextBlock | ImageBlock)[] | undefined;
  /** Of a reading; `value` has the mark itself. */
  readonly cache?: CacheMark | undefined;
  readonly weight: Weight;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** What backs a piece of text. */
export interface Citation {
  /** The page, where it is one: only these cross to another protocol. */
  readonly url?: string | undefined;
  readonly title?: string | undefined;
  /** The words of the source. */
  readonly quote?: string | undefined;
  /** Where the backed text begins in its block, in UTF-16 code units, where the protocol says so. */
  readonly startIndex?: number | undefined;
  /** One past its end. */
  readonly endIndex?: number | undefined;
  /** The whole citation in its own protocol's spelling. */
  readonly raw?: Raw<JsonObject> | undefined;
}

/** How probable a token was, and which others were, as both of OpenAI's protocols spell it. */
export interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  /** The token's own UTF-8 bytes, where the upstream says. */
  readonly bytes: JsonValue;
  readonly top_logprobs: readonly JsonObject[];
}
