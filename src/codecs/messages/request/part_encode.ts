import { wordSet } from "@gateway/base/collections";
import { isJsonObject, type JsonObject } from "@gateway/base/json";
import type {
  Block,
  FileBlock,
  ImageBlock,
  MediaSource,
  OpaqueBlock,
  ReasoningBlock,
  TextBlock,
  ToolCallBlock,
  ToolResultBlock,
} from "../../canonical/content/block.ts";
import { maySend } from "../../canonical/content/sealed.ts";
import { dropBlock, dropSealed } from "../../canonical/request/loss.ts";
import { argumentsObject } from "../../canonical/tools/tool.ts";
import { CALLER_RULE, fitId } from "../../canonical/tools/tool_call_id.ts";
import type { Scope } from "../dialect.ts";
import { encodeSealedThinking, thinkingText } from "./blocks.ts";

/** The content for an error result that has none. Providers reject an error result without content. */
const NO_OUTPUT: JsonObject = { type: "text", text: "(no output)" };

/** Encodes a block of a user message, or returns `undefined` for a block that is left out. */
export function encodeUserBlock(
  block: Block,
  scope: Scope,
): JsonObject | undefined {
  switch (block.kind) {
    case "image":
      return encodeImage(block, scope);
    case "file":
      return encodeFile(block, scope);
    case "tool_result":
      return encodeResult(block, scope);
    default:
      return encodeTextualBlock(block, scope);
  }
}

/** Encodes a block of an assistant message, or returns `undefined` for a block that is left out. */
export function encodeAssistantBlock(
  block: Block,
  scope: Scope,
): JsonObject | undefined {
  switch (block.kind) {
    case "reasoning":
      return encodeReasoning(block, scope);
    case "function_call":
    case "custom_call":
      return encodeCall(block, scope);
    case "image":
    case "file":
    case "audio":
      return dropBlock(block, "Messages", scope.context, "report");
    default:
      return encodeTextualBlock(block, scope);
  }
}

/** Encodes a block that any message or system text may hold. Returns `undefined` for a block that is left out. */
export function encodeTextualBlock(
  block: Block,
  scope: Scope,
): JsonObject | undefined {
  switch (block.kind) {
    case "text":
      return encodeText(block, scope);
    case "refusal":
      return encodeText({ kind: "text", text: block.text }, scope);
    case "opaque":
      return encodeOpaque(block, scope);
    default:
      return dropBlock(block, "Messages", scope.context);
  }
}

/** Encodes a text. A blank text is left out, because providers reject it. */
function encodeText(block: TextBlock, scope: Scope): JsonObject | undefined {
  const cache = scope.cache.write(block.cache);
  if (block.text.trim() === "") return undefined;
  const citations = (block.citations ?? []).flatMap(({ raw }) =>
    raw?.protocol === "messages" ? [raw.value] : []
  );
  return {
    ...(block.providerMetadata?.messages ?? {}),
    type: "text",
    text: block.text,
    ...(citations.length === 0 ? {} : { citations }),
    ...cache,
  };
}

/** Encodes earlier thinking if the target accepts it. Reports sealed thinking that is lost. */
function encodeReasoning(
  block: ReasoningBlock,
  scope: Scope,
): JsonObject | undefined {
  const thinking = thinkingFor(block, scope);
  const isLost = block.sealed !== undefined && !thinking?.isSealed;
  if (isLost) dropSealed(scope.context);
  return thinking?.block;
}

/**
 * Returns earlier thinking for the target. If the target issued the thinking, the block is returned with its signature.
 * Otherwise, an open model receives only the text. A provider that verifies signatures would reject the thinking, so
 * `undefined` is returned for it.
 */
export function thinkingFor(
  block: ReasoningBlock,
  { dialect, context }: Pick<Scope, "dialect" | "context">,
): { readonly block: JsonObject; readonly isSealed: boolean } | undefined {
  const { sealed } = block;
  const { connectionId } = context.target;
  if (sealed && maySend(sealed, { protocol: "messages", connectionId })) {
    return { block: encodeSealedThinking(block, sealed), isSealed: true };
  }
  const thinking = thinkingText(block.parts);
  if (!dialect.ability.turns.unsignedReasoning || thinking === "") {
    return undefined;
  }
  return {
    block: { type: "thinking", thinking, signature: "" },
    isSealed: false,
  };
}

function encodeCall(call: ToolCallBlock, scope: Scope): JsonObject {
  return {
    ...(call.providerMetadata?.messages ?? {}),
    type: "tool_use",
    id: fitId(call.id, CALLER_RULE),
    name: call.name,
    input: call.kind === "custom_call"
      ? { input: call.input }
      : argumentsObject(call.arguments),
    ...scope.cache.write(call.cache),
  };
}

function encodeResult(result: ToolResultBlock, scope: Scope): JsonObject {
  const content = result.content.map((part) => encodeUserBlock(part, scope))
    .filter((part) => part !== undefined);
  const isEmptyError = result.isError && content.length === 0;
  return {
    ...(result.providerMetadata?.messages ?? {}),
    type: "tool_result",
    tool_use_id: fitId(result.callId, CALLER_RULE),
    content: isEmptyError ? [NO_OUTPUT] : content,
    ...(result.isError ? { is_error: true } : {}),
    ...scope.cache.write(result.cache),
  };
}

function encodeOpaque(
  block: OpaqueBlock,
  scope: Scope,
): JsonObject | undefined {
  const { protocol, value, text, weight, type } = block;
  if (protocol === "messages" && isJsonObject(value)) return value;
  if (text !== undefined) return encodeText({ kind: "text", text }, scope);
  if (weight !== "ignore") {
    scope.context.reportDropped(
      "messages",
      `this model's provider does not support \`${type}\``,
      weight,
    );
  }
  return undefined;
}

const IMAGE_TYPES = wordSet("image/jpeg image/png image/gif image/webp");
const PDF_TYPE = "application/pdf";

/** Encodes an image. If providers do not support the image, reports it as lost and returns `undefined`. */
function encodeImage(block: ImageBlock, scope: Scope): JsonObject | undefined {
  const { source, detail } = block;
  const cache = scope.cache.write(block.cache);
  if (detail !== undefined && detail !== "auto") dropDetail(scope);
  if (source.type === "base64" && !IMAGE_TYPES.has(source.mediaType)) {
    return reject(`an image of the type ${source.mediaType}`, scope);
  }
  const wire = encodeSource(source, "an image", scope);
  if (wire === undefined) return undefined;
  return {
    ...(block.providerMetadata?.messages ?? {}),
    type: "image",
    source: wire,
    ...cache,
  };
}

/** Encodes a PDF or text document. Reports any other kind of file as lost and returns `undefined`. */
function encodeFile(block: FileBlock, scope: Scope): JsonObject | undefined {
  const cache = scope.cache.write(block.cache);
  const source = encodeDocumentSource(block.source, scope);
  if (source === undefined) return undefined;
  return {
    ...(block.providerMetadata?.messages ?? {}),
    type: "document",
    source,
    ...(block.name === undefined ? {} : { title: block.name }),
    ...cache,
  };
}

function encodeDocumentSource(
  source: FileBlock["source"],
  scope: Scope,
): JsonObject | undefined {
  if (source.type === "text") return textSource(source.text);
  if (source.type === "base64" && source.mediaType !== PDF_TYPE) {
    const text = isTextType(source.mediaType)
      ? decodeBase64Text(source.data)
      : undefined;
    return text === undefined
      ? reject(`a file of the type ${source.mediaType}`, scope)
      : textSource(text);
  }
  return encodeSource(source, "a file", scope);
}

function encodeSource(
  source: MediaSource,
  what: "an image" | "a file",
  scope: Scope,
): JsonObject | undefined {
  switch (source.type) {
    case "base64":
      return {
        type: "base64",
        media_type: source.mediaType,
        data: source.data,
      };
    case "url":
      return { type: "url", url: source.url };
    case "id":
      return source.store === "anthropic"
        ? { type: "file", file_id: source.id }
        : reject(
          `the content of ${what} from another provider's store`,
          scope,
        );
  }
}

function textSource(text: string): JsonObject {
  return { type: "text", media_type: "text/plain", data: text };
}

function isTextType(mediaType: string): boolean {
  return mediaType.startsWith("text/") || mediaType === "application/json";
}

function decodeBase64Text(data: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(data), (byte) => byte.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function dropDetail({ context }: Scope): void {
  context.reportDropped(
    { extra: "detail" },
    "this model's provider sets the resolution",
  );
}

function reject(what: string, { context }: Scope): undefined {
  context.reportDropped(
    "messages",
    `this model's provider does not accept ${what}`,
    "reject",
  );
}
