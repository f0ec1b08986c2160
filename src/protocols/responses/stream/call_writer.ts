import type { JsonObject } from "../../../core/json.ts";
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
import { notedObject, textOf } from "../fields.ts";
import {
  encodeTypedTool,
  type TypedTool,
  typedTool,
} from "../tools/typed_tools.ts";

/** A call before its input. */
export type CallHead =
  | Omit<Extract<ToolCallBlock, { kind: "function_call" }>, "arguments">
  | Omit<Extract<ToolCallBlock, { kind: "custom_call" }>, "input">;

/** Writes a call in the shape of the caller's own tool. */
export function createCallWriter(
  head: CallHead,
  scope: WriterScope,
): ItemWriter {
  const tool = typedToolOf(head, scope.context.request);
  return tool === undefined
    ? createPlainWriter(head, scope)
    : createTypedWriter(head, tool, scope);
}

/** The typed tool of the caller for which the called function stands. */
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
  const id = textOf(notedObject(head, "item")?.id) ??
    context.ids.next(isCustom ? "ctc" : "fc");
  const place = { item_id: id, output_index: outputIndex };
  const deltaPlace = placeText(place);
  const event = isCustom
    ? "response.custom_tool_call_input"
    : "response.function_call_arguments";
  const plain = plainMark(head, context.request);
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
      // Clients parse the arguments of a call without any.
      if (!isCustom && input === "") writeInput("{}");
      events.write(`${event}.done`, {
        ...place,
        [isCustom ? "input" : "arguments"]: input,
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
 * Says of a call that none of its arguments is encrypted, where the caller's tool declares some as such. Codex would
 * take a task in plain words for ciphertext, which OpenAI's models could not read later on.
 *
 * Source: `ToolCall::direct_source`, quoted in https://github.com/openai/codex/issues/37858
 */
function plainMark(
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
    notedObject(tool, "parameters") !== undefined
  );
  return isDeclared ? { encrypted_function_args: [] } : {};
}

/** A typed call has no events for its arguments that would fit: it is told once it is whole. */
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
      // Cut off in the middle it would be another call than the model's.
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
