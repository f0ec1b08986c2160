import type { JsonObject } from "../../../core/json.ts";
import type {
  Block,
  FunctionCallBlock,
  ResultContent,
  TextBlock,
  ToolResultBlock,
} from "../../canonical/answer/block.ts";
import { argumentsText } from "../../canonical/tools/tool_arguments.ts";
import { decodeCache } from "../request/cache.ts";
import { decodeCitation } from "./citation.ts";
import {
  demandName,
  demandText,
  marksOf,
  objectsIn,
} from "../request/fields.ts";
import { decodeDocument, decodeImage } from "./media_decode.ts";
import {
  historyBlock,
  isBillingNote,
  opaqueBlock,
  searchResultBlock,
  toolReferenceBlock,
} from "./opaque.ts";
import { decodeThinking } from "./thinking.ts";

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
    return opaqueBlock(block, "hint");
  }
  if (isBillingNote(block)) return opaqueBlock(block, "silent");
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
      return opaqueBlock(block, "answer");
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
    marks: marksOf(block, RESULT_FIELDS),
  };
}

function decodeText(block: JsonObject, param: string): TextBlock {
  const citations = objectsIn(block.citations).map(decodeCitation);
  return {
    kind: "text",
    text: demandText(block.text, `${param}.text`),
    citations: citations.length > 0 ? citations : undefined,
    cache: decodeCache(block),
    marks: marksOf(block, TEXT_FIELDS),
  };
}

function decodeCall(block: JsonObject, param: string): FunctionCallBlock {
  return {
    kind: "function_call",
    id: demandName(block.id, `${param}.id`),
    name: demandName(block.name, `${param}.name`),
    arguments: argumentsText(block.input),
    cache: decodeCache(block),
    marks: marksOf(block, CALL_FIELDS),
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
      return opaqueBlock(part, "hint");
  }
}
