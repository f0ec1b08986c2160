import type { JsonObject, JsonValue } from "@gateway/base/json";
import type { Protocol } from "@gateway/base/protocol";
import type { InnerSettings, ProviderMetadata, Raw, Weight } from "./extras.ts";
import type { Sealed } from "./sealed.ts";

/** One part of a turn or an answer. If only one protocol has such a part, the block is an `OpaqueBlock`. */
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

export type AnswerBlock =
  | TextBlock
  | ReasoningBlock
  | FunctionCallBlock
  | CustomCallBlock
  | RefusalBlock
  | OpaqueBlock;

/** A call of a tool that the caller runs. */
export type ToolCallBlock = FunctionCallBlock | CustomCallBlock;

/** Returns true when the block is a call of a tool that the caller runs. */
export function isToolCall(
  block: { readonly kind: string },
): block is ToolCallBlock {
  return block.kind === "function_call" || block.kind === "custom_call";
}

/** A part of a tool's result. */
export type ResultContent = TextBlock | ImageBlock | FileBlock | OpaqueBlock;

/** A mark that makes the upstream cache the prompt up to and including the marked part. */
export interface CacheMark {
  /** The time to keep the prompt in the cache; absent means the upstream's default. */
  readonly ttlSeconds?: number | undefined;
}

/** Marks a block as the start of a message. A Responses answer may have several messages. */
export interface MessageHead {
  /** The phase of the message, when the upstream states it: `commentary` on the work, or `final_answer`. */
  readonly phase?: string | undefined;
}

/**
 * A text. In an answer, the text may have citations. The text may be empty: an encoder omits empty text if its protocol
 * forbids it.
 */
export interface TextBlock {
  readonly kind: "text";
  readonly text: string;
  readonly citations?: readonly Citation[] | undefined;
  readonly message?: MessageHead | undefined;
  /** The log probabilities of an answer's text, when the caller requested them. */
  readonly logprobs?: readonly TokenLogprob[] | undefined;
  readonly cache?: CacheMark | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** The bytes of an image or a file, or the place to read them from. */
export type MediaSource =
  | {
    readonly type: "base64";
    /** The media type in lower case, such as `image/png`. For JPEG, it is always `image/jpeg`. */
    readonly mediaType: string;
    /** Standard base64 without a `data:` prefix. */
    readonly data: string;
  }
  | { readonly type: "url"; readonly url: string }
  /** An id that only `store` understands. */
  | { readonly type: "id"; readonly store: FileStore; readonly id: string };

/** The store of uploaded files: one for Chat and Responses, and one for Messages. */
type FileStore = "openai" | "anthropic";

export interface ImageBlock {
  readonly kind: "image";
  readonly source: MediaSource;
  /** The requested resolution, in the spelling of Chat and Responses: `auto`, `low`, `high`, `original`. */
  readonly detail?: string | undefined;
  readonly cache?: CacheMark | undefined;
  readonly settings?: InnerSettings | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** A document, as bytes or as text. */
export interface FileBlock {
  readonly kind: "file";
  readonly source: MediaSource | {
    readonly type: "text";
    readonly text: string;
  };
  /** File name or title. */
  readonly name?: string | undefined;
  /** The caller's notes about the document. The notes are not part of the document. */
  readonly context?: string | undefined;
  /** True when the answer must cite the document. */
  readonly isCited?: boolean | undefined;
  readonly cache?: CacheMark | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

export interface AudioBlock {
  readonly kind: "audio";
  /** The format of the audio, such as `wav` or `mp3`. */
  readonly format: string;
  /** The audio in standard base64. */
  readonly data: string;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/**
 * The model's reasoning. `parts` are the readable parts in order. Usually there is one part. There are several when a
 * Responses model writes a summary in paragraphs, and none when the reasoning is hidden. If a protocol has only one
 * text for reasoning, a blank line separates the parts. `sealed` must go back to the upstream unchanged.
 */
export interface ReasoningBlock {
  readonly kind: "reasoning";
  readonly parts: readonly ReasoningPart[];
  readonly sealed?: Sealed | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** A readable part of reasoning. */
export interface ReasoningPart {
  readonly form: ReasoningForm;
  readonly text: string;
}

/** `summary`: the upstream's summary of hidden reasoning; `raw`: the reasoning itself. */
export type ReasoningForm = "summary" | "raw";

interface CallBlock {
  /** The id by which the result refers to the call. The id is never empty, but may have any length and characters. */
  readonly id: string;
  readonly name: string;
  /** The name of the namespace that contains the tool. */
  readonly namespace?: string | undefined;
  /** True when the model does not wait for the result; absent: false. */
  readonly isAsync?: boolean | undefined;
  /** The sealed part that must go back to the upstream with the call. */
  readonly sealed?: Sealed | undefined;
  readonly cache?: CacheMark | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** A call of a function tool. */
export interface FunctionCallBlock extends CallBlock {
  readonly kind: "function_call";
  /** The JSON text as the model wrote it. The text may be invalid; an empty text means no arguments. */
  readonly arguments: string;
}

/** A call of a custom tool. The input of the call is free text. */
export interface CustomCallBlock extends CallBlock {
  readonly kind: "custom_call";
  readonly input: string;
}

/** The result of a call; occurs only in a `tool` turn. */
export interface ToolResultBlock {
  readonly kind: "tool_result";
  /** The `id` of the call. */
  readonly callId: string;
  /** The kind of the call; `function` when the protocol states no kind and the call is not in the history. */
  readonly callKind: "function" | "custom";
  readonly content: readonly ResultContent[];
  readonly isError: boolean;
  readonly cache?: CacheMark | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** The model's explanation for its refusal to answer. */
export interface RefusalBlock {
  readonly kind: "refusal";
  readonly text: string;
  readonly message?: MessageHead | undefined;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/**
 * A block that only one protocol has: a server tool's call or result, or an item of an unknown kind. The codec of
 * that protocol writes `value` again. Other encoders write `text`. Without `text`, they report the loss by `weight`.
 */
export interface OpaqueBlock {
  readonly kind: "opaque";
  readonly protocol: Protocol;
  /** The original `type`, for reports. */
  readonly type: string;
  readonly value: JsonValue;
  /** A text form for models that do not know the block. */
  readonly text?: string | undefined;
  /** Set when the block is a web search that the upstream ran for an answer. */
  readonly search?: SearchRun | undefined;
  /** The content as blocks that every protocol has, when `text` alone is not enough. */
  readonly content?: readonly (TextBlock | ImageBlock)[] | undefined;
  /** The cache mark for encoders that write `text` or `content`. In `value`, the mark is already contained. */
  readonly cache?: CacheMark | undefined;
  readonly weight: Weight;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** A web search that the upstream ran for an answer. */
export interface SearchRun {
  readonly query: string;
  /** The addresses of the found pages, as far as the upstream names them. */
  readonly pages: readonly string[];
}

/** The source of a part of a text. */
export interface Citation {
  /** The URL of the source, if the source is a web page. Only citations of pages are translated to another protocol. */
  readonly url?: string | undefined;
  readonly title?: string | undefined;
  /** The quoted text of the source. */
  readonly quote?: string | undefined;
  /** The start of the cited text in its block, in UTF-16 code units, when the protocol states it. */
  readonly startIndex?: number | undefined;
  /** The end of the cited text, exclusive. */
  readonly endIndex?: number | undefined;
  /** The whole citation in the spelling of the protocol that it came from. */
  readonly raw?: Raw<JsonObject> | undefined;
}

/** The log probability of a token and of its alternatives, in the spelling of both OpenAI protocols. */
export interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  /** The token's UTF-8 bytes, when the upstream sends them. */
  readonly bytes: JsonValue;
  readonly top_logprobs: readonly JsonObject[];
}
