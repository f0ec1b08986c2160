import type { JsonObject } from "@gateway/base/json";
import type { ToolCallBlock } from "../../canonical/content/block.ts";
import type { CanonicalRequest } from "../../canonical/request/request.ts";
import { parseArguments } from "../../canonical/tools/tool.ts";
import { callItem, typedCallItem } from "../tools/call_item.ts";
import {
  idleWriter,
  type ItemStatus,
  type ItemWriter,
  placeText,
  type WriterScope,
} from "./item_writer.ts";
import { metadataObject, textOf } from "../fields.ts";
import {
  encodeTypedTool,
  type TypedTool,
  typedTool,
} from "../tools/typed_tools.ts";

/** A call without its input. */
type CallHead =
  | Omit<Extract<ToolCallBlock, { kind: "function_call" }>, "arguments">
  | Omit<Extract<ToolCallBlock, { kind: "custom_call" }>, "input">;

/** Creates a writer for a call. The call has the shape that belongs to the caller's tool. */
export function createCallWriter(
  head: CallHead,
  scope: WriterScope,
): ItemWriter {
  const tool = typedToolOf(head, scope.context.request);
  return tool === undefined
    ? createPlainWriter(head, scope)
    : createTypedWriter(head, tool, scope);
}

/** Returns the caller's typed tool if the called function replaces such a tool. Otherwise returns `undefined`. */
function typedToolOf(
  { kind, name, namespace }: CallHead,
  { tools }: CanonicalRequest,
): TypedTool | undefined {
  if (kind !== "function_call" || namespace !== undefined) return undefined;
  const tool = typedTool(name);
  const isDeclared = tools.some((one) =>
    one.kind === "function" && one.name === name &&
    encodeTypedTool(one) !== undefined
  );
  return isDeclared ? tool : undefined;
}

function createPlainWriter(
  head: CallHead,
  { events, context, outputIndex }: WriterScope,
): ItemWriter {
  const isCustom = head.kind === "custom_call";
  const id = textOf(metadataObject(head, "item")?.id) ??
    context.ids.next(isCustom ? "ctc" : "fc");
  const place = { item_id: id, output_index: outputIndex };
  const deltaPlace = placeText(place);
  const event = isCustom
    ? "response.custom_tool_call_input"
    : "response.function_call_arguments";
  const plain = unencryptedMark(head, context.request);
  let input = "";

  events.write("response.output_item.added", {
    output_index: outputIndex,
    item: whole("in_progress"),
  });

  function whole(status: ItemStatus | "in_progress"): JsonObject {
    const facts = { id, callId: head.id, status };
    const isEmpty = status === "in_progress";
    return isCustom ? callItem({ ...head, input }, facts) : {
      ...callItem({ ...head, arguments: input }, facts),
      ...plain,
      ...(isEmpty ? { arguments: "" } : {}),
    };
  }

  function writeInput(text: string): void {
    input += text;
    events.writeDelta(`${event}.delta`, deltaPlace, text);
  }

  return {
    ...idleWriter,
    delta: writeInput,
    endBlock() {
      // A call without arguments gets an empty object, since clients parse the arguments.
      if (!isCustom && input === "") writeInput("{}");
      events.write(`${event}.done`, {
        ...place,
        ...(isCustom ? { input } : { name: head.name, arguments: input }),
      });
    },
    close(status) {
      const done = whole(status);
      events.write("response.output_item.done", {
        output_index: outputIndex,
        item: done,
      });
      return done;
    },
  };
}

/**
 * Returns the field that declares a call's arguments as unencrypted. The field is needed if the caller's tool has
 * encrypted parameters: without it, Codex treats the plain text as encrypted, and OpenAI's models cannot read the
 * arguments later.
 *
 * Source: `ToolCall::direct_source`, quoted in https://github.com/openai/codex/issues/37858
 */
function unencryptedMark(
  { kind, name, namespace }: CallHead,
  { tools }: CanonicalRequest,
): JsonObject {
  if (kind !== "function_call") return {};
  const siblings = namespace === undefined
    ? tools
    : tools.flatMap((tool) =>
      tool.kind === "namespace" && tool.name === namespace ? tool.tools : []
    );
  const isDeclared = siblings.some((tool) =>
    tool.kind === "function" && tool.name === name &&
    metadataObject(tool, "parameters") !== undefined
  );
  return isDeclared ? { encrypted_function_args: [] } : {};
}

/**
 * Creates a writer for a typed call. The call is written when all of it has arrived, because the protocol has no events
 * for the input of typed calls.
 */
function createTypedWriter(
  head: CallHead,
  tool: TypedTool,
  { events, context, outputIndex }: WriterScope,
): ItemWriter {
  const id = context.ids.next(tool.idPrefix);
  let input = "";
  return {
    ...idleWriter,
    delta(text) {
      input += text;
    },
    close(status) {
      // A call with incomplete arguments would differ from the call that the model meant.
      if (parseArguments(input) === undefined) {
        context.drop(tool.callType);
        return undefined;
      }
      const facts = { id, callId: head.id };
      const item = typedCallItem(tool, input, { ...facts, status });
      events.write("response.output_item.added", {
        output_index: outputIndex,
        item: { ...item, status: "in_progress" },
      });
      events.write("response.output_item.done", {
        output_index: outputIndex,
        item,
      });
      return item;
    },
  };
}
