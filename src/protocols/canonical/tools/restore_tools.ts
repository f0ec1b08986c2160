import type { Emit, Stage } from "../../../core/stage.ts";
import type { Answer } from "../answer/answer.ts";
import type { AnswerBlock } from "../answer/block.ts";
import { type ToolAliases, toolKey } from "./bridge_tools.ts";
import {
  createCustomInput,
  type CustomInput,
  customInputOf,
} from "./custom_input.ts";
import type { AnswerEvent, BlockStartEvent } from "../stream/event.ts";

/** Gives the calls of a bridged request's answer the caller's own tools back; undoes `bridgeTools`. */
export function restoreTools(
  aliases: ToolAliases,
): Stage<AnswerEvent, AnswerEvent> {
  const inputs = new Map<number, CustomInput>();

  function start(event: BlockStartEvent, emit: Emit<AnswerEvent>): void {
    const { index, block } = event;
    const tool = block.kind === "function_call" || block.kind === "custom_call"
      ? aliases.get(toolKey(block))
      : undefined;
    if (tool === undefined || !("id" in block)) return emit(event);
    const { name, namespace } = tool;
    if (tool.kind === "custom" && block.kind === "function_call") {
      inputs.set(index, createCustomInput());
      const { id, marks } = block;
      emit({
        type: "block-start",
        index,
        block: { kind: "custom_call", id, name, namespace, marks },
      });
    } else {
      emit({
        type: "block-start",
        index,
        block: { ...block, name, namespace },
      });
    }
  }

  function give(index: number, text: string, emit: Emit<AnswerEvent>): void {
    if (text !== "") emit({ type: "block-delta", index, text });
  }

  return {
    push(event, emit) {
      if (event.type === "block-start") return start(event, emit);
      const input = "index" in event && inputs.size > 0
        ? inputs.get(event.index)
        : undefined;
      if (input === undefined) return emit(event);
      if (event.type === "block-delta") {
        return give(event.index, input.push(event.text), emit);
      }
      if (event.type === "block-end") give(event.index, input.end(), emit);
      emit(event);
    },
    end() {},
  };
}

/** The same for a whole answer. */
export function restoreAnswer(answer: Answer, aliases: ToolAliases): Answer {
  if (aliases.size === 0) return answer;
  return {
    ...answer,
    blocks: answer.blocks.map((block) => restoreBlock(block, aliases)),
  };
}

function restoreBlock(block: AnswerBlock, aliases: ToolAliases): AnswerBlock {
  if (block.kind !== "function_call" && block.kind !== "custom_call") {
    return block;
  }
  const tool = aliases.get(toolKey(block));
  if (tool === undefined) return block;
  const { name, namespace } = tool;
  if (tool.kind === "function" || block.kind === "custom_call") {
    return { ...block, name, namespace };
  }
  return {
    kind: "custom_call",
    id: block.id,
    name,
    namespace,
    input: customInputOf(block.arguments),
    sealed: block.sealed,
    marks: block.marks,
  };
}
