import type { Ids } from "@gateway/base/ids";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  nonEmptyText,
} from "@gateway/base/json";
import type { Emit } from "@gateway/base/stage";
import type { StopReason } from "../../canonical/answer/answer.ts";
import type { Citation, OpaqueBlock } from "../../canonical/content/block.ts";
import type { Sealed } from "../../canonical/content/sealed.ts";
import { MAX_BLOCKS, MAX_HELD_CHARACTERS } from "../../canonical/max_sizes.ts";
import {
  type AnswerEvent,
  type BlockHead,
  oversizedEvent,
} from "../../canonical/stream/event.ts";
import { decodeCitation } from "../answer/citation.ts";
import {
  createDetailsGatherer,
  isThought,
  sealedOfMessage,
  textOfDetails,
} from "../answer/reasoning_details.ts";
import { thinkingText } from "../request/part_decode.ts";
import {
  createToolCallTracker,
  type ToolCallTracker,
} from "./tool_call_tracker.ts";

/** Reads the deltas of one answer. A delta does not mark where a block starts or ends. */
export class DeltaReader {
  readonly #details = createDetailsGatherer();
  readonly #blocks = createBlockEmitter({
    takeSealed: () => this.#details.take(),
  });
  readonly #calls: ToolCallTracker;
  /** Takes a piece of text from a chunk that adds nothing else. */
  readonly emitText: BlockEmitter["emitText"] = this.#blocks.emitText;
  #hasSources = false;
  #signature: Sealed | undefined;

  constructor(ids: Ids) {
    this.#calls = createToolCallTracker({
      ids,
      open: (head, emit) => this.#blocks.open(head, emit),
    });
  }

  get hasCalls(): boolean {
    return this.#calls.hasBegun;
  }

  get hasBlocks(): boolean {
    return this.#blocks.hasBlocks();
  }

  /** Reads a `delta`, or a `message`, which has the same fields. If `isWhole` is true, the calls are complete. */
  push(delta: JsonObject, isWhole: boolean, emit: Emit<AnswerEvent>): void {
    this.#readReasoning(delta, emit);
    this.#readContent(delta, emit);
    this.#blocks.emitText("refusal", delta.refusal, emit);
    for (const annotation of listOf(delta.annotations)) {
      if (isJsonObject(annotation)) {
        this.#hasSources = true;
        this.#blocks.cite(decodeCitation(annotation), emit);
      }
    }
    for (const image of listOf(delta.images)) {
      this.#blocks.emitBlock(opaque("image", image, linkTo(image)), emit);
    }
    this.#readCalls(delta, isWhole, emit);
    this.#checkHeld(emit);
  }

  /**
   * Ends the answer. If no citation arrived, the whole last text gets the `pages` as citations. The provider lists
   * these pages beside the answer.
   */
  finish(
    reason: StopReason,
    pages: readonly Citation[],
    emit: Emit<AnswerEvent>,
  ): void {
    if (!this.#hasSources) this.#blocks.citeWhole(pages, emit);
    this.#blocks.close(emit);
    this.#calls.finish(reason, this.hasBlocks, emit);
    for (const sealed of [this.#details.take(), this.#signature]) {
      if (sealed !== undefined) this.#blocks.emitSealed(sealed, emit);
    }
  }

  /**
   * Reads the content of a delta. The signature of a text arrives with the last piece of the text, or alone in a later
   * delta.
   */
  #readContent(delta: JsonObject, emit: Emit<AnswerEvent>): void {
    const { content, extra_content } = delta;
    this.#signature = sealedOfMessage(extra_content) ?? this.#signature;
    if (typeof content === "string" && isThought(extra_content)) {
      this.#blocks.emitText("reasoning", content, emit);
    } else readContent(content, this.#blocks, emit);
  }

  #readReasoning(delta: JsonObject, emit: Emit<AnswerEvent>): void {
    const { reasoning_content, reasoning, reasoning_text } = delta;
    const details = listOf(delta.reasoning_details);
    const text = nonEmptyText(reasoning_content) ?? nonEmptyText(reasoning) ??
      nonEmptyText(reasoning_text) ?? textOfDetails(details);
    this.#blocks.emitText("reasoning", text, emit);
    this.#details.push(details);
  }

  #readCalls(
    delta: JsonObject,
    areWhole: boolean,
    emit: Emit<AnswerEvent>,
  ): void {
    const calls = listOf(delta.tool_calls);
    if (calls.some(isJsonObject)) {
      this.#calls.push(calls.filter(isJsonObject), areWhole, emit);
    }
    const legacy = delta.function_call;
    if (isJsonObject(legacy)) {
      this.#calls.push([{ index: 0, function: legacy }], areWhole, emit);
    }
  }

  #checkHeld(emit: Emit<AnswerEvent>): void {
    const held = this.#calls.held + this.#details.held();
    if (held <= MAX_HELD_CHARACTERS && this.#calls.count <= MAX_BLOCKS) return;
    emit(
      oversizedEvent(
        "The provider's answer is longer than the gateway can hold",
      ),
    );
  }
}

/** Reads content that is a text, a list of parts (Mistral's thinking), or an object (Cloudflare's JSON mode). */
function readContent(
  content: JsonValue | undefined,
  blocks: BlockEmitter,
  emit: Emit<AnswerEvent>,
): void {
  if (typeof content === "string") {
    return blocks.emitText("text", content, emit);
  }
  if (isJsonObject(content)) {
    return blocks.emitText("text", JSON.stringify(content), emit);
  }
  for (const part of listOf(content)) {
    if (!isJsonObject(part)) continue;
    if (part.type === "thinking") {
      blocks.emitText("reasoning", thinkingText(part.thinking), emit);
    } else if (part.type === "refusal") {
      blocks.emitText("refusal", part.refusal, emit);
    } else if (typeof part.text === "string") {
      blocks.emitText("text", part.text, emit);
    } else if (typeof part.type === "string") {
      blocks.emitBlock(opaque(part.type, part), emit);
    }
  }
}

/** Returns a block that only Chat Completions can express. Other protocols get `text` in place of the block. */
function opaque(type: string, value: JsonValue, text?: string): OpaqueBlock {
  return {
    kind: "opaque",
    protocol: "chat",
    type,
    value,
    weight: "report",
    ...(text === undefined ? {} : { text }),
  };
}

/** Returns an image's URL as Markdown, or `undefined` for an image that is sent as bytes. */
function linkTo(image: JsonValue): string | undefined {
  const holder = isJsonObject(image) ? image.image_url : undefined;
  const url = isJsonObject(holder) ? holder.url : undefined;
  return typeof url === "string" && /^https?:/i.test(url)
    ? `![image](${url})`
    : undefined;
}

const NOTHING: readonly JsonValue[] = [];

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : NOTHING;
}

/**
 * The kinds of block that a chunk continues without naming the block. Only one block of these kinds is open at a time.
 */
type FlatKind = "text" | "reasoning" | "refusal";

/** Finds where blocks start and end, because the protocol does not mark this. Also numbers the blocks. */
interface BlockEmitter {
  /**
   * Appends text to the open block of this kind, or begins such a block. Ignores empty text and values that are not
   * text.
   */
  emitText(
    kind: FlatKind,
    text: JsonValue | undefined,
    emit: Emit<AnswerEvent>,
  ): void;
  /** Adds a citation to the open text. If no text is open, begins a text for the citation. */
  cite(citation: Citation, emit: Emit<AnswerEvent>): void;
  /**
   * Closes the open block and begins another block. Returns the index of the new block. If there are too many blocks,
   * ends the answer and returns `undefined`.
   */
  open(head: BlockHead, emit: Emit<AnswerEvent>): number | undefined;
  /** Emits a complete block. */
  emitBlock(head: OpaqueBlock, emit: Emit<AnswerEvent>): void;
  /** Adds citations that cover all of the open text. Adds nothing when no text is open. */
  citeWhole(citations: readonly Citation[], emit: Emit<AnswerEvent>): void;
  /** Emits reasoning that only its provider can read. */
  emitSealed(sealed: Sealed, emit: Emit<AnswerEvent>): void;
  /** Closes the open text, reasoning or refusal. */
  close(emit: Emit<AnswerEvent>): void;
  hasBlocks(): boolean;
}

interface BlockEmitterOptions {
  /** Returns the sealed part of the reasoning that is about to close. */
  takeSealed(): Sealed | undefined;
}

/** Creates an emitter for one answer. */
function createBlockEmitter(options: BlockEmitterOptions): BlockEmitter {
  let nextIndex = 0;
  /** The length of all text so far, and the start of the open text in it. */
  let textLength = 0;
  let textStart = 0;
  let flat: { readonly kind: FlatKind; readonly index: number } | undefined;

  function begin(
    block: BlockHead,
    emit: Emit<AnswerEvent>,
  ): number | undefined {
    if (nextIndex >= MAX_BLOCKS) {
      emit(oversizedEvent("The provider's answer has too many parts"));
      return undefined;
    }
    const index = nextIndex++;
    emit({ type: "block-start", index, block });
    return index;
  }

  function close(emit: Emit<AnswerEvent>): void {
    if (flat === undefined) return;
    const { kind, index } = flat;
    flat = undefined;
    const sealed = kind === "reasoning" ? options.takeSealed() : undefined;
    if (sealed !== undefined) emit({ type: "block-seal", index, sealed });
    emit({ type: "block-end", index });
  }

  function open(head: BlockHead, emit: Emit<AnswerEvent>): number | undefined {
    close(emit);
    return begin(head, emit);
  }

  function flatIndex(
    kind: FlatKind,
    emit: Emit<AnswerEvent>,
  ): number | undefined {
    if (flat?.kind === kind) return flat.index;
    const index = open({ kind }, emit);
    if (index === undefined) return undefined;
    flat = { kind, index };
    if (kind === "text") textStart = textLength;
    if (kind === "reasoning") emit({ type: "block-part", index, form: "raw" });
    return index;
  }

  return {
    open,
    close,
    hasBlocks: () => nextIndex > 0,
    emitText(kind, text, emit) {
      if (typeof text !== "string" || text === "") return;
      const index = flatIndex(kind, emit);
      if (index === undefined) return;
      if (kind === "text") textLength += text.length;
      emit({ type: "block-delta", index, text });
    },
    cite(citation, emit) {
      const index = flatIndex("text", emit);
      if (index === undefined) return;
      const placed = within(citation, textStart);
      emit({ type: "block-citation", index, citation: placed });
    },
    emitBlock(head, emit) {
      const index = open(head, emit);
      if (index !== undefined) emit({ type: "block-end", index });
    },
    citeWhole(citations, emit) {
      if (flat?.kind !== "text") return;
      const { index } = flat;
      const place = { startIndex: 0, endIndex: textLength - textStart };
      for (const one of citations) {
        emit({ type: "block-citation", index, citation: { ...one, ...place } });
      }
    },
    emitSealed(sealed, emit) {
      const index = open({ kind: "reasoning" }, emit);
      if (index === undefined) return;
      emit({ type: "block-seal", index, sealed });
      emit({ type: "block-end", index });
    },
  };
}

/**
 * Returns a citation with offsets that count from `start`. If the citation begins before `start`, the offsets are
 * removed.
 */
function within(citation: Citation, start: number): Citation {
  const { startIndex, endIndex } = citation;
  if (start === 0 || startIndex === undefined) return citation;
  return startIndex < start
    ? { ...citation, startIndex: undefined, endIndex: undefined }
    : {
      ...citation,
      startIndex: startIndex - start,
      endIndex: endIndex === undefined ? undefined : endIndex - start,
    };
}
