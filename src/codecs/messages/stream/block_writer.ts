import type { SseFrame } from "@gateway/base/frame";
import { isJsonObject, type JsonObject } from "@gateway/base/json";
import type { Emit } from "@gateway/base/stage";
import { Paragraphs } from "../../canonical/answer/readable.ts";
import type { SearchRun } from "../../canonical/content/block.ts";
import type { Sealed } from "../../canonical/content/sealed.ts";
import type { AnswerContext } from "../../canonical/codec.ts";
import type { AnswerEvent, BlockHead } from "../../canonical/stream/event.ts";
import {
  encodeCitation,
  isRedacted,
  signatureForCaller,
} from "../request/blocks.ts";
import { searchBlocks } from "../tools/web_search.ts";
import type { ContentBlock } from "./content_block.ts";

/** Writes one block of an answer. */
export interface BlockWriter {
  /** Writes an event of the block after its start. No event may follow a `block-end`. */
  push(event: AnswerEvent, emit: Emit<SseFrame>): void;
}

/** The dependencies of a writer. */
export interface BlockWriterOptions {
  readonly context: AnswerContext;
  /** Creates a block that has not begun. */
  createBlock(): ContentBlock;
  /** Returns the id of a call for the caller, as `createAnswerIds` makes it. */
  idFor(id: string): string;
}

type CallHead = Extract<BlockHead, { kind: "function_call" | "custom_call" }>;

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
    case "custom_call":
      return writeCall(head, options, emit);
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

/** Writes a text, unless it is empty. Callers send the answer back, and providers reject an empty text. */
function writeText({ context, createBlock }: BlockWriterOptions): BlockWriter {
  const block = createBlock();
  return {
    push(event, emit) {
      switch (event.type) {
        case "block-delta":
          block.begin(EMPTY_TEXT, emit);
          return block.add("text", event.text, emit);
        case "block-citation": {
          const citation = encodeCitation(event.citation);
          if (citation === undefined) return context.drop("citation");
          block.begin(EMPTY_TEXT, emit);
          return block.cite(citation, emit);
        }
        case "block-end":
          return block.end(emit);
      }
    },
  };
}

/** Writes thinking. The signature comes once, at the end. Redacted thinking has its own type of block. */
function writeThinking(
  { context, createBlock }: BlockWriterOptions,
): BlockWriter {
  const block = createBlock();
  let sealed: Sealed | undefined;
  const paragraphs = new Paragraphs();
  let hasText = false;
  let isRaw = false;
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
          block.begin(EMPTY_THINKING, emit);
          block.add("thinking", text, emit);
          break;
        }
        case "block-seal":
          sealed = event.sealed;
          break;
        case "block-end":
          if (!hasText && isRedacted(sealed)) {
            const data = sealed?.value;
            block.begin({ type: "redacted_thinking", data }, emit);
          } else if (hasText || sealed !== undefined) {
            const { connectionId } = context;
            block.begin(EMPTY_THINKING, emit);
            block.sign(signatureForCaller(sealed, connectionId, isRaw), emit);
          }
          block.end(emit);
      }
    },
  };
}

/**
 * Writes a call. The text of a custom call becomes an object with one argument, because the protocol has only
 * functions.
 */
function writeCall(
  { kind, id, name, providerMetadata }: CallHead,
  { idFor, createBlock }: BlockWriterOptions,
  emit: Emit<SseFrame>,
): BlockWriter {
  const isText = kind === "custom_call";
  const block = createBlock();
  block.begin({
    type: "tool_use",
    id: idFor(id),
    name,
    input: {},
    // The caller is always the model, never a program.
    caller: { type: "direct" },
    ...(providerMetadata?.messages ?? {}),
  }, emit);
  if (isText) block.add("input", '{"input":"', emit);
  return {
    push(event, emit) {
      if (event.type === "block-delta") {
        const { text } = event;
        block.add(
          "input",
          isText ? JSON.stringify(text).slice(1, -1) : text,
          emit,
        );
      }
      if (event.type === "block-end") {
        if (isText) block.add("input", '"}', emit);
        block.end(emit);
      }
    },
  };
}

function writeOpaque(
  { protocol, value, text, type }: Extract<BlockHead, { kind: "opaque" }>,
  { context, createBlock }: BlockWriterOptions,
  emit: Emit<SseFrame>,
): BlockWriter {
  const block = createBlock();
  if (protocol === "messages" && isJsonObject(value)) {
    block.begin(value, emit);
  } else if (text !== undefined && text !== "") {
    block.begin(EMPTY_TEXT, emit);
    block.add("text", text, emit);
  } else {
    context.drop(type);
  }
  return {
    push(event, emit) {
      if (event.type === "block-end") block.end(emit);
    },
  };
}

/** Writes another provider's web search as a call and its result. */
function writeSearch(
  search: SearchRun,
  { context, createBlock }: BlockWriterOptions,
  emit: Emit<SseFrame>,
): BlockWriter {
  const { call, input, result } = searchBlocks(search, context.ids);
  const callBlock = createBlock();
  callBlock.begin(call, emit);
  callBlock.add("input", JSON.stringify(input), emit);
  callBlock.end(emit);
  const resultBlock = createBlock();
  resultBlock.begin(result, emit);
  resultBlock.end(emit);
  return { push() {} };
}
