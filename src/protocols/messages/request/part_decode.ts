import { isJsonObject, type JsonObject } from "../../../core/json.ts";
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
import { argumentsText } from "../../canonical/tools/tool.ts";
import { decodeCache } from "./cache.ts";
import {
  demandName,
  demandText,
  marksOf,
  objectsIn,
  optionalText,
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

const TEXT_FIELDS: ReadonlySet<string> = new Set([
  "type",
  "text",
  "citations",
  "cache_control",
]);
const CALL_FIELDS: ReadonlySet<string> = new Set([
  "type",
  "id",
  "name",
  "input",
  "cache_control",
]);
const RESULT_FIELDS: ReadonlySet<string> = new Set([
  "type",
  "tool_use_id",
  "content",
  "is_error",
  "cache_control",
]);

/**
 * Reads a block of a system text; the note to Anthropic's billing is kept for upstreams of this protocol alone.
 *
 * @throws {GatewayError} `invalid_request` naming the field, as all functions here do.
 */
export function decodeSystemBlock(block: JsonObject, param: string): Block {
  if (block.type !== "text") {
    demandName(block.type, `${param}.type`);
    return opaqueBlock(block, "report");
  }
  if (isBillingNote(block)) return opaqueBlock(block, "ignore");
  return decodeText(block, param);
}

/** Reads a block of a user message that is no tool result. */
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
      demandName(block.type, `${param}.type`);
      return opaqueBlock(block, "reject");
  }
}

/** Reads a block of an assistant message. */
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
      demandName(block.type, `${param}.type`);
      return historyBlock(block);
  }
}

/** Reads a `tool_result` block. */
export function decodeResult(
  block: JsonObject,
  param: string,
): ToolResultBlock {
  return {
    kind: "tool_result",
    callId: demandName(block.tool_use_id, `${param}.tool_use_id`),
    callKind: "function",
    content: decodeResultContent(block, `${param}.content`),
    isError: block.is_error === true,
    cache: decodeCache(block),
    providerMetadata: marksOf(block, RESULT_FIELDS),
  };
}

function decodeText(block: JsonObject, param: string): TextBlock {
  const citations = objectsIn(block.citations).map(decodeCitation);
  return {
    kind: "text",
    text: demandText(block.text, `${param}.text`),
    citations: citations.length > 0 ? citations : undefined,
    cache: decodeCache(block),
    providerMetadata: marksOf(block, TEXT_FIELDS),
  };
}

function decodeCall(block: JsonObject, param: string): FunctionCallBlock {
  return {
    kind: "function_call",
    id: demandName(block.id, `${param}.id`),
    name: demandName(block.name, `${param}.name`),
    arguments: argumentsText(block.input),
    cache: decodeCache(block),
    providerMetadata: marksOf(block, CALL_FIELDS),
  };
}

function decodeResultContent(
  block: JsonObject,
  param: string,
): readonly ResultContent[] {
  const { content } = block;
  if (typeof content === "string") return [{ kind: "text", text: content }];
  return objectsIn(content).map((part, index) =>
    decodeResultPart(part, `${param}[${index}]`)
  );
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
      demandName(part.type, `${param}.type`);
      return opaqueBlock(part, "report");
  }
}

const IMAGE_FIELDS: ReadonlySet<string> = new Set([
  "type",
  "source",
  "cache_control",
]);
const DOCUMENT_FIELDS: ReadonlySet<string> = new Set([
  "type",
  "source",
  "title",
  "cache_control",
]);

/**
 * Reads an `image` block.
 *
 * @throws {GatewayError} `invalid_request` naming the field.
 */
function decodeImage(block: JsonObject, param: string): ImageBlock {
  return {
    kind: "image",
    source: decodeSource(block.source, `${param}.source`),
    cache: decodeCache(block),
    settings: innerSettings("messages", {
      "messages.image.transformations": refusesOversize(block),
    }),
    providerMetadata: marksOf(block, IMAGE_FIELDS),
  };
}

/** Whether a picture that is too large shall be refused rather than scaled down. */
function refusesOversize({ transformations }: JsonObject): boolean {
  return isJsonObject(transformations) &&
    transformations.oversized_image === "error";
}

/**
 * Reads a `document` block. One whose source is a list of blocks is kept as it is, since no other protocol has
 * such a thing; its text can be read.
 *
 * @throws {GatewayError} `invalid_request` naming the field.
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
      ? { type: "text", text: demandText(source.data, `${param}.source.data`) }
      : decodeSource(block.source, `${param}.source`),
    name: optionalText(block.title),
    context: optionalText(block.context),
    isCited: isCited(block),
    cache: decodeCache(block),
    providerMetadata: marksOf(block, DOCUMENT_FIELDS),
  };
}

function isCited({ citations }: JsonObject): boolean | undefined {
  return isJsonObject(citations) && citations.enabled === true
    ? true
    : undefined;
}

function decodeSource(
  value: JsonObject["source"],
  param: string,
): MediaSource {
  const source = isJsonObject(value) ? value : {};
  switch (source.type) {
    case "base64":
      return {
        type: "base64",
        mediaType: normalMediaType(
          demandText(source.media_type, `${param}.media_type`),
        ),
        data: demandText(source.data, `${param}.data`),
      };
    case "url":
      return { type: "url", url: demandText(source.url, `${param}.url`) };
    case "file":
      return {
        type: "id",
        store: "anthropic",
        id: demandText(source.file_id, `${param}.file_id`),
      };
    default:
      throw invalidField(
        `${param}.type`,
        "is none of base64, url, file, text, content",
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
    : objectsIn(source.content);
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
      return { kind: "text", text: demandText(part.text, `${param}.text`) };
    case "image":
      return decodeImage(part, param);
    default:
      throw invalidField(`${param}.type`, "is none of text, image");
  }
}

function isText(block: TextBlock | ImageBlock): block is TextBlock {
  return block.kind === "text";
}
