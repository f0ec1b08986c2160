import { wordSet } from "@gateway/base/collections";
import { isJsonObject, type JsonObject, objectsOf } from "@gateway/base/json";
import type {
  Block,
  FileBlock,
  FunctionCallBlock,
  ImageBlock,
  MediaSource,
  OpaqueBlock,
  ResultContent,
  TextBlock,
  ToolResultBlock,
} from "../../canonical/content/block.ts";
import { innerSettings } from "../../canonical/content/extras.ts";
import { invalidField } from "../../canonical/request/invalid_request.ts";
import { normalMediaType } from "../../canonical/request/media.ts";
import { givenArguments } from "../../canonical/tools/tool.ts";
import { decodeCache } from "./cache.ts";
import {
  metadataOf,
  optionalText,
  requireName,
  requireText,
} from "./fields.ts";
import {
  decodeCitation,
  decodeThinking,
  historyBlock,
  isBillingNote,
  opaqueBlock,
  searchResultBlock,
  toolReferenceBlock,
} from "./blocks.ts";

const TEXT_FIELDS = wordSet("type text citations cache_control");
const CALL_FIELDS = wordSet("type id name input cache_control");
const RESULT_FIELDS = wordSet(
  "type tool_use_id content is_error cache_control",
);

/**
 * Parses a block of a system text. The note for Anthropic's billing is kept only for providers of this protocol.
 *
 * @throws {GatewayError} `invalid_request` with the path of the field. All functions of this file throw this error.
 */
export function decodeSystemBlock(block: JsonObject, param: string): Block {
  if (block.type !== "text") {
    requireName(block.type, `${param}.type`);
    return opaqueBlock(block, "report");
  }
  if (isBillingNote(block)) return opaqueBlock(block, "ignore");
  return decodeText(block, param);
}

/** Parses a block of a user message other than a tool result. */
export function decodeUserBlock(block: JsonObject, param: string): Block {
  switch (block.type) {
    case "text":
      return decodeText(block, param);
    case "image":
      return decodeImage(block, param);
    case "document":
      return decodeDocument(block, param);
    case "search_result":
      return searchResultBlock(block);
    default:
      requireName(block.type, `${param}.type`);
      return opaqueBlock(block, "reject");
  }
}

/** Parses a block of an assistant message. */
export function decodeAssistantBlock(block: JsonObject, param: string): Block {
  switch (block.type) {
    case "text":
      return decodeText(block, param);
    case "thinking":
    case "redacted_thinking":
      return decodeThinking(block);
    case "tool_use":
      return decodeCall(block, param);
    default:
      requireName(block.type, `${param}.type`);
      return historyBlock(block);
  }
}

/** Parses a `tool_result` block. */
export function decodeResult(
  block: JsonObject,
  param: string,
): ToolResultBlock {
  return {
    kind: "tool_result",
    callId: requireName(block.tool_use_id, `${param}.tool_use_id`),
    callKind: "function",
    content: decodeResultContent(block, `${param}.content`),
    isError: block.is_error === true,
    cache: decodeCache(block),
    providerMetadata: metadataOf(block, RESULT_FIELDS),
  };
}

function decodeText(block: JsonObject, param: string): TextBlock {
  const citations = objectsOf(block.citations).map(decodeCitation);
  return {
    kind: "text",
    text: requireText(block.text, `${param}.text`),
    citations: citations.length > 0 ? citations : undefined,
    cache: decodeCache(block),
    providerMetadata: metadataOf(block, TEXT_FIELDS),
  };
}

function decodeCall(block: JsonObject, param: string): FunctionCallBlock {
  return {
    kind: "function_call",
    id: requireName(block.id, `${param}.id`),
    name: requireName(block.name, `${param}.name`),
    arguments: givenArguments(block.input),
    cache: decodeCache(block),
    providerMetadata: metadataOf(block, CALL_FIELDS),
  };
}

function decodeResultContent(
  block: JsonObject,
  param: string,
): readonly ResultContent[] {
  const { content } = block;
  if (content === undefined || content === null) return [];
  if (typeof content === "string") return [{ kind: "text", text: content }];
  if (!Array.isArray(content)) {
    throw invalidField(param, "must be a string or a list of blocks");
  }
  return content.map((part, index) => {
    const place = `${param}[${index}]`;
    if (!isJsonObject(part)) throw invalidField(place, "must be an object");
    return decodeResultPart(part, place);
  });
}

function decodeResultPart(part: JsonObject, param: string): ResultContent {
  switch (part.type) {
    case "text":
      return decodeText(part, param);
    case "image":
      return decodeImage(part, param);
    case "document":
      return decodeDocument(part, param);
    case "search_result":
      return searchResultBlock(part);
    case "tool_reference":
      return toolReferenceBlock(part);
    default:
      requireName(part.type, `${param}.type`);
      return opaqueBlock(part, "report");
  }
}

const IMAGE_FIELDS = wordSet("type source cache_control");
const DOCUMENT_FIELDS = wordSet("type source title cache_control");

/** Parses an `image` block. Throws `invalid_request` with the path of an invalid field. */
function decodeImage(block: JsonObject, param: string): ImageBlock {
  return {
    kind: "image",
    source: decodeSource(block.source, `${param}.source`),
    cache: decodeCache(block),
    settings: innerSettings("messages", {
      "messages.image.transformations": rejectsOversize(block),
    }),
    providerMetadata: metadataOf(block, IMAGE_FIELDS),
  };
}

/** Returns true when the provider must reject an image that is too large, instead of scaling it down. */
function rejectsOversize({ transformations }: JsonObject): boolean {
  return isJsonObject(transformations) &&
    transformations.oversized_image === "error";
}

/**
 * Parses a `document` block. A document whose source is a list of blocks is kept unchanged, since no other protocol has
 * such a source. Other models can read its text.
 *
 * @throws {GatewayError} `invalid_request`, which names the field.
 */
function decodeDocument(
  block: JsonObject,
  param: string,
): FileBlock | OpaqueBlock {
  const source = isJsonObject(block.source) ? block.source : {};
  if (source.type === "content") {
    return decodeContentDocument(block, source, param);
  }
  return {
    kind: "file",
    source: source.type === "text"
      ? { type: "text", text: requireText(source.data, `${param}.source.data`) }
      : decodeSource(block.source, `${param}.source`),
    name: optionalText(block.title),
    context: optionalText(block.context),
    isCited: isCited(block),
    cache: decodeCache(block),
    providerMetadata: metadataOf(block, DOCUMENT_FIELDS),
  };
}

function isCited({ citations }: JsonObject): boolean | undefined {
  return isJsonObject(citations) && citations.enabled === true
    ? true
    : undefined;
}

function decodeSource(value: JsonObject["source"], param: string): MediaSource {
  const source = isJsonObject(value) ? value : {};
  switch (source.type) {
    case "base64":
      return {
        type: "base64",
        mediaType: normalMediaType(
          requireText(source.media_type, `${param}.media_type`),
        ),
        data: requireText(source.data, `${param}.data`),
      };
    case "url":
      return { type: "url", url: requireText(source.url, `${param}.url`) };
    case "file":
      return {
        type: "id",
        store: "anthropic",
        id: requireText(source.file_id, `${param}.file_id`),
      };
    default:
      throw invalidField(
        `${param}.type`,
        "must be base64, url, file, text or content",
      );
  }
}

function decodeContentDocument(
  block: JsonObject,
  source: JsonObject,
  param: string,
): OpaqueBlock {
  const heads = [block.title, block.context].filter((text) =>
    typeof text === "string"
  );
  const parts = typeof source.content === "string"
    ? [{ type: "text", text: source.content }]
    : objectsOf(source.content);
  const content = [
    ...heads.map((text): TextBlock => ({ kind: "text", text })),
    ...parts.map((part, index) =>
      decodeContentPart(part, `${param}.source.content[${index}]`)
    ),
  ];
  return {
    kind: "opaque",
    protocol: "messages",
    type: "document",
    value: block,
    text: content.every(isText)
      ? content.map(({ text }) => text).join("\n\n")
      : undefined,
    content: content.every(isText) ? undefined : content,
    weight: "reject",
  };
}

function decodeContentPart(
  part: JsonObject,
  param: string,
): TextBlock | ImageBlock {
  switch (part.type) {
    case "text":
      return { kind: "text", text: requireText(part.text, `${param}.text`) };
    case "image":
      return decodeImage(part, param);
    default:
      throw invalidField(`${param}.type`, "must be text or image");
  }
}

function isText(block: TextBlock | ImageBlock): block is TextBlock {
  return block.kind === "text";
}
