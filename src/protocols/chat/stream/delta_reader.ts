import type { Ids } from "../../../core/ids.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";
import type { Emit } from "../../../core/stage.ts";
import {
  type AnswerEvent,
  oversizedEvent,
} from "../../canonical/stream/event.ts";
import { MAX_BLOCKS, MAX_HELD_CHARACTERS } from "../../canonical/limits.ts";
import { type BlockEmitter, createBlockEmitter } from "./block_emitter.ts";
import type { Sealed } from "../../canonical/answer/sealed.ts";
import type { OpaqueBlock } from "../../canonical/answer/block.ts";
import type { Citation } from "../../canonical/answer/citation.ts";
import { decodeCitation } from "../answer/citation.ts";
import { isThought, sealedOfMessage } from "../tools/extra_content.ts";
import { thinkingText } from "../request/part_decode.ts";
import {
  createDetailsGatherer,
  textOfDetails,
} from "../answer/reasoning_details.ts";
import {
  createToolCallTracker,
  type ToolCallTracker,
} from "./tool_call_tracker.ts";

/** Reads the deltas of one answer, which do not say where its blocks begin and end. */
export class DeltaReader {
  readonly #details = createDetailsGatherer();
  readonly #blocks = createBlockEmitter({
    takeSealed: () => this.#details.take(),
  });
  readonly #calls: ToolCallTracker;
  #hasSources = false;
  #signature: Sealed | undefined;

  /** @param ids For calls that come without an id. */
  constructor(ids: Ids) {
    this.#calls = createToolCallTracker({
      ids,
      open: (head, emit) => this.#blocks.open(head, emit),
    });
  }

  /** Whether a tool call has become a block. */
  get hasCalls(): boolean {
    return this.#calls.hasBegun;
  }

  /** Whether anything has. */
  get hasBlocks(): boolean {
    return this.#blocks.hasBlocks();
  }

  /**
   * Takes a `delta`, or a `message`, which has the same fields.
   *
   * @param isWhole Whether it is a message, whose calls are whole.
   */
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
      this.#blocks.give(opaque("image", image, linkTo(image)), emit);
    }
    this.#readCalls(delta, isWhole, emit);
    this.#checkHeld(emit);
  }

  /**
   * Gives what was held back and closes what is open, as the answer ends.
   *
   * @param pages What the provider lists beside the answer: it backs all of the last text.
   */
  finish(pages: readonly Citation[], emit: Emit<AnswerEvent>): void {
    if (!this.#hasSources) this.#blocks.citeWhole(pages, emit);
    this.#blocks.close(emit);
    this.#calls.finish(emit);
    for (const sealed of [this.#details.take(), this.#signature]) {
      if (sealed !== undefined) this.#blocks.giveSealed(sealed, emit);
    }
  }

  /** The signature of a text comes with its last piece, or behind it with none. */
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
    const text = textIn(reasoning_content) ?? textIn(reasoning) ??
      textIn(reasoning_text) ?? textOfDetails(details);
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

/** Text; parts, as Mistral sends thoughts; an object where JSON was asked for (Cloudflare). */
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
      blocks.give(opaque(part.type, part), emit);
    }
  }
}

/** What only Chat Completions can show, with words for it where there are some. */
function opaque(type: string, value: JsonValue, text?: string): OpaqueBlock {
  return {
    kind: "opaque",
    protocol: "chat",
    type,
    value,
    weight: "hint",
    ...(text === undefined ? {} : { text }),
  };
}

/** A picture that has an address, as Markdown; one that comes as bytes cannot be shown in words. */
function linkTo(image: JsonValue): string | undefined {
  const holder = isJsonObject(image) ? image.image_url : undefined;
  const url = isJsonObject(holder) ? holder.url : undefined;
  return typeof url === "string" && /^https?:/i.test(url)
    ? `![image](${url})`
    : undefined;
}

function textIn(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

const NOTHING: readonly JsonValue[] = [];

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : NOTHING;
}
