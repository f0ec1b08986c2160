import type {
  Block,
  FunctionCallBlock,
  ReasoningBlock,
  ReasoningForm,
  TextBlock,
} from "../../../src/codecs/canonical/content/block.ts";
import type {
  Role,
  Turn,
} from "../../../src/codecs/canonical/request/request.ts";

// The canonical form of the simplest history.

/** Returns a turn of these blocks. */
export function turn(role: Role, ...blocks: readonly Block[]): Turn {
  return { role, blocks };
}

/** Returns a block of text. */
export function text(value: string): TextBlock {
  return { kind: "text", text: value };
}

/** Returns a call of a function. */
export function call(id: string, name = "f", json = "{}"): FunctionCallBlock {
  return { kind: "function_call", id, name, arguments: json };
}

/** Returns a readable block of reasoning. */
export function thought(
  text: string,
  form: ReasoningForm = "raw",
): ReasoningBlock {
  return { kind: "reasoning", parts: [{ form, text }] };
}
