import { type JsonObject, present } from "../../../core/json.ts";
import type { ToolCallBlock } from "../../canonical/answer/block.ts";
import {
  argumentsObject,
  givenArguments,
} from "../../canonical/tools/tool_arguments.ts";
import { otherFields, textOf } from "../fields.ts";
import { markOwn, notedObject } from "../marks.ts";
import { toolOfCall, type TypedTool } from "../tools/typed_tools.ts";

/** OpenAI limits the length; some models count on their own characters, such as `functions.name:0`. */
export const ID_RULE = { maxLength: 64, anyCharacter: true };

/**
 * Reads an item as the call of a tool that the caller runs.
 *
 * @returns The call, its id and name empty where the item has none; `undefined` for every other item.
 */
export function decodeCall(item: JsonObject): ToolCallBlock | undefined {
  switch (item.type) {
    case "function_call":
      return {
        kind: "function_call",
        ...identityOf(item),
        arguments: givenArguments(item.arguments),
        marks: markRest(item, "arguments"),
      };
    case "custom_tool_call":
      return {
        kind: "custom_call",
        ...identityOf(item),
        input: textOf(item.input) ?? "",
        marks: markRest(item, "input"),
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
    marks: markOwn({ typed: item }),
  };
}

function identityOf(
  { call_id, name, namespace }: JsonObject,
): Pick<ToolCallBlock, "id" | "name" | "namespace"> {
  return {
    id: textOf(call_id) ?? "",
    name: textOf(name) ?? "",
    namespace: textOf(namespace),
  };
}

function markRest(item: JsonObject, own: string): ToolCallBlock["marks"] {
  const rest = otherFields(item, ["type", "call_id", "name", "namespace", own]);
  return markOwn(rest === undefined ? undefined : { item: rest });
}

/** Which facts of a call's item its block does not know. */
export interface CallFacts {
  /** Of the item, not of the call; absent in requests, where providers refuse ids that they did not issue. */
  readonly id?: string;
  readonly callId: string;
  readonly status?: "in_progress" | "completed" | "incomplete";
}

/** Writes a call of a function or custom tool. Empty arguments become an empty object, as clients parse them. */
export function callItem(call: ToolCallBlock, facts: CallFacts): JsonObject {
  const { name, namespace } = call;
  const rest = notedObject(call, "item");
  const head = { ...rest, ...placed(facts), name, ...present({ namespace }) };
  return call.kind === "custom_call"
    ? { type: "custom_tool_call", ...head, input: call.input }
    : {
      type: "function_call",
      ...head,
      arguments: call.arguments === "" ? "{}" : call.arguments,
    };
}

/** Writes a function call as the call of the typed tool for which the function stands. */
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
