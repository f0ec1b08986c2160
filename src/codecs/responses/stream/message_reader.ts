import { lookup } from "@gateway/base/collections";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@gateway/base/json";
import type {
  MessageHead,
  TokenLogprob,
} from "../../canonical/content/block.ts";
import type { ProviderMetadata } from "../../canonical/content/extras.ts";
import { otherFields, ownMetadata, textOf } from "../fields.ts";
import {
  decodeAnnotation,
  decodeAnnotations,
  messageHead,
  opaquePart,
} from "../request/part_decode.ts";
import type { BlockEmitter, ItemReader } from "./block_emitter.ts";

/**
 * The length of the end of the text that is kept, in UTF-16 code units. This end is compared with the complete text.
 */
const TAIL_LENGTH = 64;

/** Counts the characters of a text that arrives in pieces. Keeps only the end of the text. */
export class EmittedText {
  #length = 0;
  #tail = "";

  /** Adds a piece that was emitted. */
  add(piece: string): void {
    this.#length += piece.length;
    this.#tail = (this.#tail + piece).slice(-TAIL_LENGTH);
  }

  /**
   * Returns the part of the complete text that did not arrive in pieces.
   *
   * @returns An empty text when the complete text differs from the pieces, because emitted text cannot be withdrawn and
   * the halves of two texts must not be joined.
   */
  missingFrom(whole: string): string {
    const tailStart = this.#length - this.#tail.length;
    return whole.startsWith(this.#tail, tailStart)
      ? whole.slice(this.#length)
      : "";
  }
}

/** Creates a reader for a message. `item` is the first form of the message. Each part becomes a block. */
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
    const providerMetadata = isFirst ? messageMetadata(item) : undefined;
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

  /** Returns the part that an event names, if the part has begun. */
  function known({ content_index }: JsonObject): PartReader | undefined {
    return parts.findLast(({ key }) => key === content_index);
  }

  /** Returns the part that an event names. A part that was not announced begins here. */
  function partOf(kind: PartKind, event: JsonObject): PartReader {
    return known(event) ?? begin(kind, event.content_index);
  }

  /** Returns the part that an event extends. If that part is closed or of another kind, begins a new part. */
  function openPart(kind: PartKind, event: JsonObject): PartReader {
    const part = known(event);
    return part?.kind === kind && part.isOpen
      ? part
      : begin(kind, event.content_index);
  }

  return {
    push(type, event) {
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
          blocks.emitOpaque(opaquePart(one));
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

/** Returns the parts of a finished message. Some servers send a string in place of the parts. */
function contentOf(whole: JsonObject | undefined): JsonObject[] {
  const content = whole?.content;
  if (typeof content === "string") {
    return content === "" ? [] : [{ type: "output_text", text: content }];
  }
  return Array.isArray(content) ? content.filter(isJsonObject) : [];
}

function messageMetadata(item: JsonObject): ReturnType<typeof ownMetadata> {
  return ownMetadata({
    message: otherFields(item, ["type", "role", "content", "status"]) ?? {},
  });
}

/** The kinds of content part that other protocols support. */
type PartKind = "text" | "refusal";

const KIND_BY_TYPE: Readonly<Record<string, PartKind>> = {
  output_text: "text",
  text: "text",
  refusal: "refusal",
};

/** Returns the kind of a part, or `undefined` for an unknown type. */
function partKind({ type }: JsonObject): PartKind | undefined {
  return lookup(KIND_BY_TYPE, textOf(type) ?? "");
}

/** The facts of a part at its start. */
interface PartHead {
  readonly kind: PartKind;
  /** The `content_index` of the part. */
  readonly key: JsonValue | undefined;
  /** Set when a message begins with the part. */
  readonly message: MessageHead | undefined;
  readonly providerMetadata: ProviderMetadata | undefined;
}

/**
 * Reads one content part of a message as a block. The text comes from the events, from the finished part, or from both.
 */
class PartReader {
  readonly kind: PartKind;
  readonly key: JsonValue | undefined;
  readonly #blocks: BlockEmitter;
  readonly #block: number;
  readonly #emitted = new EmittedText();
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

  /** True when the part accepts more content. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Adds a piece of the text, with the log probabilities of its tokens if there are any. */
  emit(delta: JsonValue | undefined, logprobs?: JsonValue | undefined): void {
    if (typeof delta !== "string") return;
    this.#hasEmitted ||= delta !== "";
    this.#emitted.add(delta);
    this.#blocks.emitText(this.#block, delta, decodeLogprobs(logprobs));
  }

  cite(annotation: JsonObject): void {
    this.#cited++;
    this.#blocks.cite(this.#block, decodeAnnotation(annotation));
  }

  /** Emits what the complete text adds to the pieces. */
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

  /** Emits what the complete part adds to its pieces, and closes the part. */
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

/** Parses a list of log probabilities, or returns `undefined` when there are none. */
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
