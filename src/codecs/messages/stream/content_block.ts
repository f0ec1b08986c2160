import type { SseFrame } from "@gateway/base/frame";
import type { JsonObject } from "@gateway/base/json";
import type { Emit } from "@gateway/base/stage";
import { parseArguments } from "../../canonical/tools/tool.ts";

/** A block of the content in its wire form. A block that never begins is not written. */
export interface ContentBlock {
  /** Begins the block, once. */
  begin(block: JsonObject, emit: Emit<SseFrame>): void;
  /** Adds text, thinking, or JSON of a call's input. */
  add(kind: keyof typeof DELTA_HEADS, text: string, emit: Emit<SseFrame>): void;
  cite(citation: JsonObject, emit: Emit<SseFrame>): void;
  sign(signature: string, emit: Emit<SseFrame>): void;
  /** Ends the block, if it began. */
  end(emit: Emit<SseFrame>): void;
}

/** The beginnings of deltas with text, as JSON text. Most events of a stream are such deltas. */
const DELTA_HEADS = {
  text: '{"type":"text_delta","text":',
  thinking: '{"type":"thinking_delta","thinking":',
  input: '{"type":"input_json_delta","partial_json":',
};

/** Creates a block that is written as the events of a stream, at the index that `takeIndex` returns. */
export function createStreamedBlock(takeIndex: () => number): ContentBlock {
  let index = -1;
  /** The text before each delta. */
  let head = "";

  function writeDelta(delta: string, emit: Emit<SseFrame>): void {
    emit({ event: "content_block_delta", data: `${head}${delta}}` });
  }

  return {
    begin(block, emit) {
      if (index >= 0) return;
      index = takeIndex();
      head = `{"type":"content_block_delta","index":${index},"delta":`;
      const type = "content_block_start";
      const data = JSON.stringify({ type, index, content_block: block });
      emit({ event: type, data });
    },
    add(kind, text, emit) {
      writeDelta(`${DELTA_HEADS[kind]}${JSON.stringify(text)}}`, emit);
    },
    cite: (citation, emit) =>
      writeDelta(JSON.stringify({ type: "citations_delta", citation }), emit),
    sign: (signature, emit) =>
      writeDelta(JSON.stringify({ type: "signature_delta", signature }), emit),
    end(emit) {
      if (index < 0) return;
      const type = "content_block_stop";
      emit({ event: type, data: `{"type":"${type}","index":${index}}` });
    },
  };
}

/**
 * Creates a block that goes into the content of a JSON answer when it ends. A call whose input was cut off is dropped,
 * because it would differ from the call that the model meant.
 */
export function createWholeBlock(
  content: JsonObject[],
  drop: (part: string) => void,
): ContentBlock {
  let block: JsonObject | undefined;
  let input: string | undefined;
  const citations: JsonObject[] = [];
  return {
    begin(head) {
      block ??= { ...head };
      if (block.type === "tool_use") input = "";
    },
    add(kind, text) {
      if (kind === "input") input = `${input ?? ""}${text}`;
      else if (block !== undefined) block[kind] = `${block[kind]}${text}`;
    },
    cite(citation) {
      citations.push(citation);
      if (block !== undefined) block.citations = citations;
    },
    sign(signature) {
      if (block !== undefined) block.signature = signature;
    },
    end() {
      if (block === undefined) return;
      const parsed = input === undefined ? undefined : parseArguments(input);
      if (input !== undefined && parsed === undefined) return drop("tool_use");
      content.push(parsed === undefined ? block : { ...block, input: parsed });
    },
  };
}
