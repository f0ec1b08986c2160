import type { SseFrame } from "../../../core/frame.ts";
import { isJsonObject, type JsonObject } from "../../../core/json.ts";
import type { Emit } from "../../../core/stage.ts";
import { Paragraphs } from "../../canonical/answer/readable.ts";
import type { SearchRun } from "../../canonical/content/block.ts";
import type { Sealed } from "../../canonical/content/sealed.ts";
import type { AnswerContext } from "../../canonical/codec.ts";
import type { AnswerEvent, BlockHead } from "../../canonical/stream/event.ts";
import { callHead } from "../answer/encode.ts";
import {
  encodeCitation,
  isRedacted,
  signatureForCaller,
} from "../request/blocks.ts";
import { searchBlocks } from "../tools/web_search.ts";

/** Writes one block of a stream. */
export interface BlockWriter {
  /** Writes an event of the block after its start. No event may follow a `block-end`. */
  push(event: AnswerEvent, emit: Emit<SseFrame>): void;
}

/** The dependencies of a writer. */
interface BlockWriterOptions {
  readonly context: AnswerContext;
  /** Returns the index of the next block. A writer calls it when it has content. */
  takeIndex(): number;
  /** Returns the id of a call, as `createAnswerIds` makes it. */
  idFor(id: string): string;
}

/** Creates a writer for the block that begins with `head`. */
export function createBlockWriter(
  head: BlockHead,
  options: BlockWriterOptions,
  emit: Emit<SseFrame>,
): BlockWriter {
  switch (head.kind) {
    case "text":
    case "refusal":
      return writeText(options);
    case "reasoning":
      return writeThinking(options);
    case "function_call":
      return writeFunctionCall(head, options, emit);
    case "custom_call":
      return writeCustomCall(head, options, emit);
    case "opaque":
      return head.search === undefined
        ? writeOpaque(head, options, emit)
        : writeSearch(head.search, options, emit);
  }
}

const EMPTY_TEXT: JsonObject = { type: "text", text: "" };
const EMPTY_THINKING: JsonObject = {
  type: "thinking",
  thinking: "",
  signature: "",
};

function writeText(options: BlockWriterOptions): BlockWriter {
  const wire = createContentBlock(options.takeIndex);
  return {
    push(event, emit) {
      switch (event.type) {
        case "block-delta":
          wire.begin(EMPTY_TEXT, emit);
          return wire.writeDelta(textDelta(event.text), emit);
        case "block-citation": {
          const citation = encodeCitation(event.citation);
          if (citation === undefined) return options.context.drop("citation");
          wire.begin(EMPTY_TEXT, emit);
          return wire.writeDelta(
            JSON.stringify({ type: "citations_delta", citation }),
            emit,
          );
        }
        case "block-end":
          return wire.end(emit);
      }
    },
  };
}

/** Writes thinking. The signature comes once, at the end. Redacted thinking has its own type of block. */
function writeThinking(options: BlockWriterOptions): BlockWriter {
  const wire = createContentBlock(options.takeIndex);
  let sealed: Sealed | undefined;
  const paragraphs = new Paragraphs();
  let hasText = false;
  let isRaw = false;

  function sign(emit: Emit<SseFrame>): void {
    const { connectionId } = options.context;
    const signature = signatureForCaller(sealed, connectionId, isRaw);
    wire.begin(EMPTY_THINKING, emit);
    wire.writeDelta(
      JSON.stringify({ type: "signature_delta", signature }),
      emit,
    );
  }

  return {
    push(event, emit) {
      switch (event.type) {
        case "block-part":
          isRaw ||= event.form === "raw";
          paragraphs.part();
          break;
        case "block-delta": {
          const text = paragraphs.join(event.text);
          hasText = true;
          wire.begin(EMPTY_THINKING, emit);
          wire.writeDelta(
            `{"type":"thinking_delta","thinking":${JSON.stringify(text)}}`,
            emit,
          );
          break;
        }
        case "block-seal":
          sealed = event.sealed;
          break;
        case "block-end":
          if (!hasText && isRedacted(sealed)) {
            wire.begin(
              { type: "redacted_thinking", data: sealed?.value },
              emit,
            );
          } else if (hasText || sealed !== undefined) sign(emit);
          wire.end(emit);
      }
    },
  };
}

function writeFunctionCall(
  head: Extract<BlockHead, { kind: "function_call" }>,
  options: BlockWriterOptions,
  emit: Emit<SseFrame>,
): BlockWriter {
  const wire = createContentBlock(options.takeIndex);
  wire.begin(callHead(head, options.idFor), emit);
  return {
    push(event, emit) {
      if (event.type === "block-delta") {
        wire.writeDelta(inputDelta(event.text), emit);
      }
      if (event.type === "block-end") wire.end(emit);
    },
  };
}

/** Writes a custom call. Its text is the only argument of an object, because the protocol has no text arguments. */
function writeCustomCall(
  head: Extract<BlockHead, { kind: "custom_call" }>,
  options: BlockWriterOptions,
  emit: Emit<SseFrame>,
): BlockWriter {
  const wire = createContentBlock(options.takeIndex);
  wire.begin(callHead(head, options.idFor), emit);
  wire.writeDelta(inputDelta('{"input":"'), emit);
  return {
    push(event, emit) {
      if (event.type === "block-delta") {
        wire.writeDelta(
          inputDelta(JSON.stringify(event.text).slice(1, -1)),
          emit,
        );
      }
      if (event.type === "block-end") {
        wire.writeDelta(inputDelta('"}'), emit);
        wire.end(emit);
      }
    },
  };
}

function writeOpaque(
  head: Extract<BlockHead, { kind: "opaque" }>,
  options: BlockWriterOptions,
  emit: Emit<SseFrame>,
): BlockWriter {
  const wire = createContentBlock(options.takeIndex);
  const { protocol, value, text, type } = head;
  if (protocol === "messages" && isJsonObject(value)) {
    wire.begin(value, emit);
  } else if (text !== undefined && text !== "") {
    wire.begin(EMPTY_TEXT, emit);
    wire.writeDelta(textDelta(text), emit);
  } else {
    options.context.drop(type);
  }
  return {
    push(event, emit) {
      if (event.type === "block-end") wire.end(emit);
    },
  };
}

/** Writes another provider's web search as a call and its result. */
function writeSearch(
  search: SearchRun,
  { context, takeIndex }: BlockWriterOptions,
  emit: Emit<SseFrame>,
): BlockWriter {
  const { call, input, result } = searchBlocks(search, context.ids);
  const callWire = createContentBlock(takeIndex);
  callWire.begin(call, emit);
  callWire.writeDelta(inputDelta(JSON.stringify(input)), emit);
  callWire.end(emit);
  const resultWire = createContentBlock(takeIndex);
  resultWire.begin(result, emit);
  resultWire.end(emit);
  return { push() {} };
}

function textDelta(text: string): string {
  return `{"type":"text_delta","text":${JSON.stringify(text)}}`;
}

function inputDelta(json: string): string {
  return `{"type":"input_json_delta","partial_json":${JSON.stringify(json)}}`;
}

/** A block of the stream. It begins with its first content. */
interface ContentBlock {
  /** Begins the block, once. */
  begin(block: JsonObject, emit: Emit<SseFrame>): void;
  /** Writes a delta, given as JSON text. Most events of a stream are deltas. */
  writeDelta(delta: string, emit: Emit<SseFrame>): void;
  /** Ends the block, if it began. */
  end(emit: Emit<SseFrame>): void;
}

/**
 * Creates a block that has not begun.
 *
 * @param takeIndex Returns the index of the next block.
 */
function createContentBlock(takeIndex: () => number): ContentBlock {
  let index = -1;
  /** The text before each delta. */
  let head = "";
  return {
    begin(block, emit) {
      if (index >= 0) return;
      index = takeIndex();
      head = `{"type":"content_block_delta","index":${index},"delta":`;
      const type = "content_block_start";
      const data = JSON.stringify({ type, index, content_block: block });
      emit({ event: type, data });
    },
    writeDelta(delta, emit) {
      emit({ event: "content_block_delta", data: `${head}${delta}}` });
    },
    end(emit) {
      if (index < 0) return;
      const type = "content_block_stop";
      emit({ event: type, data: `{"type":"${type}","index":${index}}` });
    },
  };
}
