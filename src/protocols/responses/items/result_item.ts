import type { JsonObject } from "../../../core/json.ts";
import type {
  ResultContent,
  ToolResultBlock,
} from "../../canonical/answer/block.ts";
import { invalidField } from "../../canonical/request/invalid_request.ts";
import { fitId } from "../../canonical/tools/tool_call_id.ts";
import { ID_RULE } from "./call_item.ts";
import type { Scope } from "../dialect.ts";
import { otherFields, textOf } from "../fields.ts";
import { markOwn, notedObject } from "../marks.ts";
import {
  decodeParts,
  opaquePart,
  type PartBlock,
} from "../request/part_decode.ts";
import { encodeInputParts } from "../request/part_encode.ts";
import { toolOfResult } from "../tools/typed_tools.ts";

const RESULT_FIELDS = ["type", "call_id", "output"];

/**
 * Reads an item as the result of a call that the caller ran.
 *
 * @param place The item's path, for error messages, and the ids of the calls before it.
 * @returns `undefined` for every other item.
 * @throws {GatewayError} `invalid_request` when it does not say which call it answers.
 */
export function decodeResult(
  item: JsonObject,
  place: { readonly param: string; readonly calls: ReadonlySet<string> },
): ToolResultBlock | undefined {
  const isCustom = item.type === "custom_tool_call_output";
  if (!isCustom && item.type !== "function_call_output") {
    return decodeTypedResult(item, place.calls);
  }
  const callId = textOf(item.call_id) ?? "";
  if (callId === "") {
    throw invalidField(`${place.param}.call_id`, "is missing");
  }
  const rest = otherFields(item, RESULT_FIELDS);
  return {
    kind: "tool_result",
    callId,
    callKind: isCustom ? "custom" : "function",
    content: decodeParts(item.output, `${place.param}.output`).map(asContent),
    isError: false,
    marks: markOwn(rest === undefined ? undefined : { item: rest }),
  };
}

/** What only messages hold elsewhere: words stay words, sound is nothing that another protocol takes here. */
function asContent(block: PartBlock): ResultContent {
  switch (block.kind) {
    case "refusal":
      return { kind: "text", text: block.text };
    case "audio": {
      const { format, data } = block;
      return opaquePart({ type: "input_audio", input_audio: { format, data } });
    }
    default:
      return block;
  }
}

function decodeTypedResult(
  item: JsonObject,
  calls: ReadonlySet<string>,
): ToolResultBlock | undefined {
  const tool = toolOfResult(item);
  const callId = [item.call_id, item.id].map(textOf).find((id) =>
    id !== undefined && calls.has(id)
  );
  if (tool === undefined || callId === undefined) return undefined;
  return {
    kind: "tool_result",
    callId,
    callKind: "function",
    content: [{ kind: "text", text: tool.textOf(item) }],
    isError: item.status === "failed",
    marks: markOwn({ typed: item }),
  };
}

/** Writes the result of a call. */
export function resultItem(result: ToolResultBlock, scope: Scope): JsonObject {
  const typed = notedObject(result, "typed");
  if (typed !== undefined) return typed;
  return {
    type: result.callKind === "custom"
      ? "custom_tool_call_output"
      : "function_call_output",
    ...notedObject(result, "item"),
    call_id: fitId(result.callId, ID_RULE),
    output: encodeOutput(result, scope),
  };
}

/** One text as a string, which every provider takes; anything more as parts. */
function encodeOutput(
  { content, isError, cache }: ToolResultBlock,
  scope: Scope,
): string | JsonObject[] {
  const marked = content.map((block, index) =>
    index === content.length - 1 && block.kind !== "opaque"
      ? { ...block, cache: block.cache ?? cache }
      : block
  );
  const parts = markError(encodeInputParts(marked, scope), isError);
  const [first, ...others] = parts;
  if (first === undefined) return "";
  const isPlain = others.length === 0 && first.type === "input_text" &&
    first.prompt_cache_breakpoint === undefined;
  return isPlain && typeof first.text === "string" ? first.text : parts;
}

/** The protocol has no flag for it, so that only words can tell the model. */
function markError(parts: JsonObject[], isError: boolean): JsonObject[] {
  if (!isError) return parts;
  const [first, ...others] = parts;
  if (first === undefined || typeof first.text !== "string") {
    return [{ type: "input_text", text: "Error" }, ...parts];
  }
  return /^\s*error/i.test(first.text)
    ? parts
    : [{ ...first, text: `Error: ${first.text}` }, ...others];
}
