import { type JsonObject, present } from "@gateway/base/json";
import type {
  ResultContent,
  ToolCallBlock,
  ToolResultBlock,
} from "../../canonical/content/block.ts";
import { invalidField } from "../../canonical/request/invalid_request.ts";
import { argumentsObject, givenArguments } from "../../canonical/tools/tool.ts";
import { fitId } from "../../canonical/tools/tool_call_id.ts";
import type { Scope } from "../dialect.ts";
import { metadataObject, otherFields, ownMetadata, textOf } from "../fields.ts";
import {
  decodeParts,
  opaquePart,
  type PartBlock,
} from "../request/part_decode.ts";
import { encodeInputParts } from "../request/part_encode.ts";
import { toolOfCall, toolOfResult, type TypedTool } from "./typed_tools.ts";

/**
 * The rule for call ids. OpenAI limits the length of an id. Some models need the ids that they chose, such as
 * `functions.name:0`.
 */
export const ID_RULE = { maxLength: 64, anyCharacter: true };

/**
 * Parses a call of a tool that the caller runs. If the id or the name is missing, it becomes empty. Returns `undefined`
 * for any other item.
 */
export function decodeCall(item: JsonObject): ToolCallBlock | undefined {
  switch (item.type) {
    case "function_call":
      return {
        kind: "function_call",
        ...identityOf(item),
        arguments: givenArguments(item.arguments),
        providerMetadata: otherMetadata(item, "arguments"),
      };
    case "custom_tool_call":
      return {
        kind: "custom_call",
        ...identityOf(item),
        input: textOf(item.input) ?? "",
        providerMetadata: otherMetadata(item, "input"),
      };
    default:
      return decodeTypedCall(item);
  }
}

function decodeTypedCall(item: JsonObject): ToolCallBlock | undefined {
  const tool = toolOfCall(item);
  if (tool === undefined) return undefined;
  return {
    kind: "function_call",
    id: textOf(item.call_id) ?? textOf(item.id) ?? "",
    name: tool.type,
    arguments: givenArguments(tool.argumentsOf(item)),
    providerMetadata: ownMetadata({ typed: item }),
  };
}

function identityOf(
  { call_id, name, namespace, async }: JsonObject,
): Pick<ToolCallBlock, "id" | "name" | "namespace" | "isAsync"> {
  return {
    id: textOf(call_id) ?? "",
    name: textOf(name) ?? "",
    namespace: textOf(namespace),
    ...(async === true ? { isAsync: true } : {}),
  };
}

function otherMetadata(
  item: JsonObject,
  own: string,
): ToolCallBlock["providerMetadata"] {
  const rest = otherFields(item, ["type", "call_id", "name", "namespace", own]);
  return ownMetadata(rest === undefined ? undefined : { item: rest });
}

/** The facts of a call's item that are not in its block. */
interface CallFacts {
  /**
   * The id of the item, which is not the id of the call. Absent in requests, because providers reject item ids of other
   * providers.
   */
  readonly id?: string;
  readonly callId: string;
  readonly status?: "in_progress" | "completed" | "incomplete";
}

/**
 * Returns the item for a call of a function or custom tool. Empty arguments become an empty object, since clients parse
 * the arguments.
 */
export function callItem(call: ToolCallBlock, facts: CallFacts): JsonObject {
  const { name, namespace } = call;
  const rest = metadataObject(call, "item");
  const head = { ...rest, ...placed(facts), name, ...present({ namespace }) };
  return call.kind === "custom_call"
    ? { type: "custom_tool_call", ...head, input: call.input }
    : {
      type: "function_call",
      ...head,
      arguments: call.arguments === "" ? "{}" : call.arguments,
    };
}

/** Returns the item for a function call if the function replaces a typed tool. The item is a call of that tool. */
export function typedCallItem(
  tool: TypedTool,
  callArguments: string,
  facts: CallFacts,
): JsonObject {
  return {
    type: tool.callType,
    ...placed(facts),
    ...tool.fieldsOf(argumentsObject(callArguments)),
  };
}

function placed({ id, callId, status }: CallFacts): JsonObject {
  return present({ id, call_id: callId, status });
}

const RESULT_FIELDS = ["type", "call_id", "output"];

/**
 * Parses an item as the result of a call that the caller ran.
 *
 * @param place The path of the item, for error messages, and the ids of the calls before the item.
 * @returns `undefined` if the item is no such result.
 * @throws {GatewayError} `invalid_request`, when the result names no call.
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
    providerMetadata: ownMetadata(
      rest === undefined ? undefined : { item: rest },
    ),
  };
}

/**
 * Returns a part of the content of a result. A refusal becomes text. Audio becomes opaque, because no other protocol
 * accepts audio in a result.
 */
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
    providerMetadata: ownMetadata({ typed: item }),
  };
}

/** Encodes the result of a call. */
export function resultItem(result: ToolResultBlock, scope: Scope): JsonObject {
  const typed = metadataObject(result, "typed");
  const callId = fitId(result.callId, ID_RULE);
  if (typed !== undefined) {
    return typed.call_id === undefined ? typed : { ...typed, call_id: callId };
  }
  return {
    type: result.callKind === "custom"
      ? "custom_tool_call_output"
      : "function_call_output",
    ...metadataObject(result, "item"),
    call_id: callId,
    output: encodeOutput(result, scope),
  };
}

/**
 * Returns the content of a result as a list of parts. A single text is returned as a string, because every provider
 * accepts a string.
 */
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

/** Marks an error in the text of a result, because the protocol has no flag for errors. */
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
