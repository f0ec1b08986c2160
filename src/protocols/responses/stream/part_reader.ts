import type { JsonObject, JsonValue } from "../../../core/json.ts";
import { lookup } from "../../../core/collections/lookup.ts";
import type { MessageHead } from "../../canonical/answer/block.ts";
import { decodeLogprobs } from "../../canonical/answer/logprobs.ts";
import type { Marks } from "../../canonical/request/extras.ts";
import { decodeAnnotation, decodeAnnotations } from "../items/annotation.ts";
import type { BlockEmitter } from "./block_emitter.ts";
import { textOf } from "../fields.ts";
import { EmittedText } from "../items/emitted_text.ts";

/** The kinds of a message's content part that other protocols know. */
export type PartKind = "text" | "refusal";

const KIND_BY_TYPE: Readonly<Record<string, PartKind>> = {
  output_text: "text",
  text: "text",
  refusal: "refusal",
};

/** `undefined` for a part of a kind unknown here. */
export function partKind({ type }: JsonObject): PartKind | undefined {
  return lookup(KIND_BY_TYPE, textOf(type) ?? "");
}

/** What is known of a part when it begins. */
export interface PartHead {
  readonly kind: PartKind;
  /** Its `content_index`. */
  readonly key: JsonValue | undefined;
  /** Where a message begins with it. */
  readonly message: MessageHead | undefined;
  readonly marks: Marks | undefined;
}

/** Reads one content part of a message as a block, from the events about it, the finished part, or both. */
export class PartReader {
  readonly kind: PartKind;
  readonly key: JsonValue | undefined;
  readonly #blocks: BlockEmitter;
  readonly #block: number;
  readonly #emitted = new EmittedText();
  /** Citations given so far. */
  #cited = 0;
  #isOpen = true;
  #hasEmitted = false;

  constructor({ kind, key, message, marks }: PartHead, blocks: BlockEmitter) {
    this.kind = kind;
    this.key = key;
    this.#blocks = blocks;
    this.#block = blocks.open({ kind, message, marks });
  }

  /** Whether it takes more; a part that is closed has all. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Takes a piece of the text, with the log probabilities of its tokens where there are any. */
  emit(delta: JsonValue | undefined, logprobs?: JsonValue | undefined): void {
    if (typeof delta !== "string") return;
    this.#hasEmitted ||= delta !== "";
    this.#emitted.add(delta);
    this.#blocks.emitText(this.#block, delta, decodeLogprobs(logprobs));
  }

  /** Takes an annotation. */
  cite(annotation: JsonObject): void {
    this.#cited++;
    this.#blocks.cite(this.#block, decodeAnnotation(annotation));
  }

  /** Gives what of the whole text has not come in pieces. */
  complete(
    text: JsonValue | undefined,
    logprobs?: JsonValue | undefined,
  ): void {
    if (!this.#isOpen || typeof text !== "string") return;
    this.emit(
      this.#emitted.missingFrom(text),
      this.#hasEmitted ? undefined : logprobs,
    );
  }

  /** Gives what of the whole part has not come in pieces, and closes it. */
  finish(whole: JsonObject): void {
    if (!this.#isOpen) return;
    if (this.kind === "refusal") this.complete(whole.refusal);
    else this.complete(whole.text, whole.logprobs);
    const citations = decodeAnnotations(whole.annotations);
    for (const citation of citations.slice(this.#cited)) {
      this.#blocks.cite(this.#block, citation);
    }
    this.close();
  }

  close(): void {
    if (this.#isOpen) this.#blocks.close(this.#block);
    this.#isOpen = false;
  }
}
