import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../../core/json.ts";
import type { Sealed } from "../../canonical/content/sealed.ts";
import { argumentsText } from "../../canonical/tools/tool.ts";
import { sealedOfCall } from "../answer/reasoning_details.ts";

const QUOTE = 34;
const BACKSLASH = 92;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** What a string is skipped to. */
const STRING_STOP_REGEXP = /["\\]/g;

/**
 * Finds where a JSON object ends whose text comes in pieces. It counts brackets and checks nothing else: whether
 * the text is JSON at all is for a parser to say.
 */
export class ObjectExtent {
  #state: "before" | "inside" | "closed" | "other" = "before";
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  /** Whether the object has come to its end. */
  get isClosed(): boolean {
    return this.#state === "closed";
  }

  /** Whether the text is no object: it began with something else than a brace. */
  get isOther(): boolean {
    return this.#state === "other";
  }

  /**
   * Takes the next piece.
   *
   * @returns How many of its UTF-16 code units belong to the object, or to what came in place of one.
   */
  push(piece: string): number {
    if (this.#state === "closed") return 0;
    if (this.#state === "other") return piece.length;
    const start = this.#state === "before" ? piece.search(/\S/) : 0;
    if (start < 0) return piece.length;
    if (this.#state === "before") {
      const isObject = piece.charCodeAt(start) === OPEN_BRACE;
      this.#state = isObject ? "inside" : "other";
      if (!isObject) return piece.length;
    }
    return this.#scan(piece, start);
  }

  #scan(piece: string, start: number): number {
    for (let at = start; at < piece.length; at++) {
      if (this.#isEscaped) {
        this.#isEscaped = false;
        continue;
      }
      if (this.#isInString) at = skipString(piece, at);
      this.#take(piece.charCodeAt(at));
      if (this.#state === "closed") return at + 1;
    }
    return piece.length;
  }

  /** Takes a character that is not escaped. */
  #take(code: number): void {
    if (this.#isInString) {
      if (code === BACKSLASH) this.#isEscaped = true;
      else if (code === QUOTE) this.#isInString = false;
      return;
    }
    switch (code) {
      case QUOTE:
        this.#isInString = true;
        return;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        this.#depth++;
        return;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        if (--this.#depth === 0) this.#state = "closed";
    }
  }
}

/** The place of the next character of a string that means something; the text's length where there is none. */
function skipString(text: string, from: number): number {
  STRING_STOP_REGEXP.lastIndex = from;
  return STRING_STOP_REGEXP.exec(text)?.index ?? text.length;
}

/** One entry of `tool_calls`, as far as it can be read. */
export interface CallPiece {
  readonly index: number | undefined;
  /** Empty where there is none. */
  readonly id: string;
  /** Empty where there is none. */
  readonly name: string;
  readonly isCustom: boolean;
  /** Arguments or input; an object in place of text is the whole of them. */
  readonly input: string | JsonObject;
  /** What the provider wants back with the call. */
  readonly sealed: Sealed | undefined;
}

/** Reads an entry of `tool_calls`. */
export function readPiece(entry: JsonObject): CallPiece {
  const shape = shapeOf(entry);
  const { id, index, extra_content } = entry;
  return {
    index: typeof index === "number" ? index : undefined,
    id: typeof id === "string" ? id : "",
    name: typeof shape.name === "string" ? shape.name : "",
    isCustom: entry.type === "custom" || isJsonObject(entry.custom),
    input: inputOf(shape.arguments ?? shape.input),
    sealed: sealedOfCall(extra_content),
  };
}

function shapeOf(entry: JsonObject): JsonObject {
  if (isJsonObject(entry.function)) return entry.function;
  return isJsonObject(entry.custom) ? entry.custom : {};
}

/** Arguments are text; MiniMax and others send the object (github.com/can1357/oh-my-pi/pull/1779). */
function inputOf(value: JsonValue | undefined): string | JsonObject {
  if (typeof value === "string" || isJsonObject(value)) return value;
  return argumentsText(value);
}

/** A placeholder for arguments that are still to come. */
const PLACEHOLDER = "{}";

/** A call while its pieces come in. */
export class CallDraft {
  /** Where its first piece stood. */
  readonly index: number | undefined;
  /** The id that the provider gave first; empty until there is one. */
  wireId = "";
  /** The id that the caller gets; empty until the block begins. */
  id = "";
  name = "";
  isCustom = false;
  sealed: Sealed | undefined;
  /** Of its block, once that has begun. */
  block: number | undefined;
  /** The chunk of its last piece. */
  chunk: number;
  /** Whether it counts only if arguments come. */
  readonly isTentative: boolean;
  #text = "";
  #extent = new ObjectExtent();
  #hasText = false;
  #isPlaceholder = false;
  /** What came after the arguments' end. */
  #tail = "";

  constructor(
    index: number | undefined,
    { chunk, isTentative }: {
      readonly chunk: number;
      readonly isTentative: boolean;
    },
  ) {
    this.index = index;
    this.chunk = chunk;
    this.isTentative = isTentative;
  }

  /** All that has come of the arguments, or of a custom tool's input. */
  get text(): string {
    return this.#text;
  }

  /** Whether anything but white space has come of them. */
  get hasText(): boolean {
    return this.#hasText;
  }

  /** Whether all that has come is an empty object, for which more may follow. */
  get isPlaceholder(): boolean {
    return this.#isPlaceholder;
  }

  /** Whether the arguments have come to their end. */
  get isWhole(): boolean {
    if (this.isCustom) return false;
    if (!this.#extent.isOther) return this.#extent.isClosed;
    return parseJson(this.#text) !== undefined;
  }

  /** Whether what came after the arguments' end says something else than they do. */
  get isMixedUp(): boolean {
    const tail = this.#tail.trim();
    return tail !== "" && tail !== PLACEHOLDER && !isSameJson(tail, this.#text);
  }

  /** Characters held. */
  get held(): number {
    return this.#text.length + this.#tail.length;
  }

  /** Whether `input` repeats the arguments. */
  isRepeatedBy(input: string | JsonObject): boolean {
    return this.isWhole && isSameJson(textOf(input), this.#text);
  }

  /**
   * Takes more of the arguments, and gives what of it is new. An empty object as the first piece stands for
   * arguments that follow (github.com/ogx-ai/ogx/pull/5462); an empty object later says nothing.
   */
  add(input: string | JsonObject): string {
    if (this.isCustom) return this.#append(textOf(input));
    if (isJsonObject(input)) return this.#addWhole(input);
    if (this.#isPlaceholder) {
      if (input.trim() === "" || input.trim() === PLACEHOLDER) return "";
      this.#text = "";
      this.#extent = new ObjectExtent();
      this.#isPlaceholder = false;
    }
    const added = this.#append(input);
    this.#isPlaceholder = added !== "" && added.trim() === PLACEHOLDER &&
      this.#text.trim() === PLACEHOLDER;
    return added;
  }

  #addWhole(input: JsonObject): string {
    const isEmpty = Object.keys(input).length === 0;
    return isEmpty && this.#hasText ? "" : this.add(JSON.stringify(input));
  }

  #append(input: string): string {
    const length = this.isCustom ? input.length : this.#extent.push(input);
    const added = input.slice(0, length);
    this.#text += added;
    this.#tail += input.slice(length);
    this.#hasText ||= added.trim() !== "";
    return added;
  }
}

/** Pieces as text. */
export function textOf(input: string | JsonObject): string {
  return isJsonObject(input) ? JSON.stringify(input) : input;
}

/** Whether two texts are the same JSON, however they are spaced. */
function isSameJson(one: string, other: string): boolean {
  const value = parseJson(one);
  return value !== undefined &&
    JSON.stringify(value) === JSON.stringify(parseJson(other));
}
