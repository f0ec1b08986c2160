import { lookup } from "../../../core/collections.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../../core/json.ts";
import type {
  MessageHead,
  TokenLogprob,
} from "../../canonical/content/block.ts";
import type { ProviderMetadata } from "../../canonical/content/extras.ts";
import { markOwn, otherFields, textOf } from "../fields.ts";
import {
  decodeAnnotation,
  decodeAnnotations,
  messageHead,
  opaquePart,
} from "../request/part_decode.ts";
import type { BlockEmitter, ItemReader } from "./block_emitter.ts";

/** So much of what was said last is held against the whole text, in UTF-16 code units. */
const TAIL_LENGTH = 64;

/** Knows how much of a text has come in pieces, and keeps no more of it than its last words. */
export class EmittedText {
  #length = 0;
  #tail = "";

  /** Takes a piece that was passed on. */
  add(piece: string): void {
    this.#length += piece.length;
    this.#tail = (this.#tail + piece).slice(-TAIL_LENGTH);
  }

  /**
   * What of the whole text has not come in pieces.
   *
   * @returns Nothing where the whole is another text than that of the pieces: what was said stays said, and two
   * halves of different texts would be a third.
   */
  missingFrom(whole: string): string {
    const tailStart = this.#length - this.#tail.length;
    return whole.startsWith(this.#tail, tailStart)
      ? whole.slice(this.#length)
      : "";
  }
}

/**
 * Reads a message: each of its parts is a block.
 *
 * @param item As far as it is known when it begins.
 */
export function createMessageReader(
  item: JsonObject,
  blocks: BlockEmitter,
): ItemReader {
  const parts: PartReader[] = [];

  function begin(kind: PartKind, key: JsonValue | undefined): PartReader {
    const isFirst = parts.length === 0;
    const message = isFirst
      ? messageHead(item, !blocks.hasBlocks())
      : undefined;
    const providerMetadata = isFirst ? markMessage(item) : undefined;
    const part = new PartReader(
      { kind, key, message, providerMetadata },
      blocks,
    );
    parts.push(part);
    return part;
  }

  function add({ part, content_index }: JsonObject): void {
    const kind = isJsonObject(part) ? partKind(part) : undefined;
    if (kind !== undefined) begin(kind, content_index);
  }

  /** The part that an event is about, if its beginning was told. */
  function known({ content_index }: JsonObject): PartReader | undefined {
    return parts.findLast(({ key }) => key === content_index);
  }

  /** The part that an event is about; begun now where its beginning was not told. */
  function partOf(kind: PartKind, event: JsonObject): PartReader {
    return known(event) ?? begin(kind, event.content_index);
  }

  /** The part that an event adds to, which another kind of part or a closed one is not. */
  function openPart(kind: PartKind, event: JsonObject): PartReader {
    const part = known(event);
    return part?.kind === kind && part.isOpen
      ? part
      : begin(kind, event.content_index);
  }

  return {
    take(type, event) {
      switch (type) {
        case "response.output_text.delta":
          return openPart("text", event).emit(event.delta, event.logprobs);
        case "response.refusal.delta":
          return openPart("refusal", event).emit(event.delta);
        case "response.content_part.added":
          return add(event);
        case "response.output_text.done":
          return partOf("text", event).complete(event.text, event.logprobs);
        case "response.refusal.done":
          return partOf("refusal", event).complete(event.refusal);
        case "response.content_part.done":
          if (isJsonObject(event.part)) known(event)?.finish(event.part);
          return;
        case "response.output_text.annotation.added":
          if (isJsonObject(event.annotation)) {
            openPart("text", event).cite(event.annotation);
          }
          return;
      }
    },
    finish(whole) {
      let position = 0;
      for (const one of contentOf(whole)) {
        const kind = partKind(one);
        if (kind === undefined) {
          blocks.giveOpaque(opaquePart(one));
          continue;
        }
        const part = parts[position] ?? begin(kind, position);
        part.finish(one);
        position++;
      }
      for (const part of parts) part.close();
    },
  };
}

/** The parts of a finished message; some servers send its text in their place. */
function contentOf(whole: JsonObject | undefined): JsonObject[] {
  const content = whole?.content;
  if (typeof content === "string") {
    return content === "" ? [] : [{ type: "output_text", text: content }];
  }
  return Array.isArray(content) ? content.filter(isJsonObject) : [];
}

function markMessage(item: JsonObject): ReturnType<typeof markOwn> {
  return markOwn({
    message: otherFields(item, ["type", "role", "content", "status"]) ?? {},
  });
}

/** The kinds of a message's content part that other protocols know. */
type PartKind = "text" | "refusal";

const KIND_BY_TYPE: Readonly<Record<string, PartKind>> = {
  output_text: "text",
  text: "text",
  refusal: "refusal",
};

/** `undefined` for a part of a kind unknown here. */
function partKind({ type }: JsonObject): PartKind | undefined {
  return lookup(KIND_BY_TYPE, textOf(type) ?? "");
}

/** What is known of a part when it begins. */
interface PartHead {
  readonly kind: PartKind;
  /** Its `content_index`. */
  readonly key: JsonValue | undefined;
  /** Where a message begins with it. */
  readonly message: MessageHead | undefined;
  readonly providerMetadata: ProviderMetadata | undefined;
}

/** Reads one content part of a message as a block, from the events about it, the finished part, or both. */
class PartReader {
  readonly kind: PartKind;
  readonly key: JsonValue | undefined;
  readonly #blocks: BlockEmitter;
  readonly #block: number;
  readonly #emitted = new EmittedText();
  /** Citations given so far. */
  #cited = 0;
  #isOpen = true;
  #hasEmitted = false;

  constructor(
    { kind, key, message, providerMetadata }: PartHead,
    blocks: BlockEmitter,
  ) {
    this.kind = kind;
    this.key = key;
    this.#blocks = blocks;
    this.#block = blocks.open({ kind, message, providerMetadata });
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

/** Reads a list of log probabilities; `undefined` where there is none. */
function decodeLogprobs(
  value: JsonValue | undefined,
): readonly TokenLogprob[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const tokens = value.filter(isJsonObject).flatMap(decodeToken);
  return tokens.length === 0 ? undefined : tokens;
}

function decodeToken(one: JsonObject): TokenLogprob[] {
  const { token, logprob, top_logprobs: others } = one;
  if (typeof token !== "string" || typeof logprob !== "number") return [];
  const top = Array.isArray(others) ? others.filter(isJsonObject) : [];
  return [{
    token,
    logprob,
    bytes: one.bytes ?? null,
    top_logprobs: top.map((other) => ({ bytes: null, ...other })),
  }];
}
