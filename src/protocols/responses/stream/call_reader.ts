import type { JsonObject, JsonValue } from "../../../core/json.ts";
import type { ToolCallBlock } from "../../canonical/answer/block.ts";
import type { BlockHead } from "../../canonical/stream/event.ts";
import { decodeCall } from "../items/call_item.ts";
import type { ItemReader, ReaderScope } from "./reader.ts";
import { EmittedText } from "../items/emitted_text.ts";

/** Whether the item calls a tool that the caller runs. */
export function isCallItem(item: JsonObject): boolean {
  return decodeCall(item) !== undefined;
}

/**
 * Reads a call. It begins once its id and name are known: with the first event as a rule, else with the
 * finished item. A call that never gets a name is left out.
 */
export function createCallReader(
  item: JsonObject,
  { blocks, ids }: ReaderScope,
): ItemReader {
  const isPlain = item.type === "function_call" ||
    item.type === "custom_tool_call";
  let block: number | undefined;
  const emitted = new EmittedText();
  if (isPlain) begin(decodeCall(item));

  function begin(call: ToolCallBlock | undefined): void {
    if (call === undefined || call.id === "" || call.name === "") return;
    block = blocks.open(headOf(call));
  }

  function emit(text: JsonValue | undefined): void {
    if (typeof text !== "string" || block === undefined) return;
    emitted.add(text);
    blocks.emitText(block, text);
  }

  function complete(whole: JsonValue | undefined): void {
    if (typeof whole === "string") emit(emitted.missingFrom(whole));
  }

  return {
    take(type, event) {
      switch (type) {
        case "response.function_call_arguments.delta":
        case "response.custom_tool_call_input.delta":
          return isPlain ? emit(event.delta) : undefined;
        case "response.function_call_arguments.done":
          return complete(event.arguments);
        case "response.custom_tool_call_input.done":
          return complete(event.input);
      }
    },
    finish(whole) {
      const call = decodeCall(whole ?? item);
      if (block === undefined && call !== undefined) {
        begin({ ...call, id: call.id || ids.next("call") });
      }
      if (whole !== undefined && call !== undefined) complete(textOf(call));
      if (block !== undefined) blocks.close(block);
    },
  };
}

function textOf(call: ToolCallBlock): string {
  return call.kind === "custom_call" ? call.input : call.arguments;
}

function headOf(call: ToolCallBlock): BlockHead {
  if (call.kind === "custom_call") {
    const { input: _input, sealed: _sealed, ...head } = call;
    return head;
  }
  const { arguments: _arguments, sealed: _sealed, ...head } = call;
  return head;
}
