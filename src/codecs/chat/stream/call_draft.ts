import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "@gateway/base/json";
import type { Sealed } from "../../canonical/content/sealed.ts";
import { argumentsText } from "../../canonical/tools/tool.ts";
import { sealedOfCall } from "../answer/reasoning_details.ts";

const QUOTE = 34;
const BACKSLASH = 92;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** Matches the next character that can end a run of plain text in a string. */
const STRING_STOP_REGEXP = /["\\]/g;

/** Finds the end of a JSON object whose text arrives in pieces. It only counts brackets. A parser checks the syntax. */
export class ObjectExtent {
  #state: "before" | "inside" | "closed" | "other" = "before";
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  get isClosed(): boolean {
    return this.#state === "closed";
  }

  /** True when the text is not an object, because it begins with something other than a brace. */
  get isOther(): boolean {
    return this.#state === "other";
  }

  /**
   * Reads a piece. Returns how many of the piece's UTF-16 code units belong to the object. If the text is not an
   * object, returns the length of the piece.
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
      this.#read(piece.charCodeAt(at));
      if (this.#state === "closed") return at + 1;
    }
    return piece.length;
  }

  /** Reads a character that is not escaped. */
  #read(code: number): void {
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

/** Returns the index of the next quote or backslash, or the length of the text when there is none. */
function skipString(text: string, from: number): number {
  STRING_STOP_REGEXP.lastIndex = from;
  return STRING_STOP_REGEXP.exec(text)?.index ?? text.length;
}

/** An entry of `tool_calls`, with the fields that the gateway can read. */
export interface CallDelta {
  readonly index: number | undefined;
  /** Empty when the entry has no id. */
  readonly id: string;
  /** Empty when the entry has no name. */
  readonly name: string;
  readonly isCustom: boolean;
  /** The arguments of a function, or the input of a custom tool. A text may be a piece, but an object is complete. */
  readonly input: string | JsonObject;
  /** The data that the provider needs back with the call. */
  readonly sealed: Sealed | undefined;
}

/** Parses an entry of `tool_calls`. */
export function readPiece(entry: JsonObject): CallDelta {
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

/**
 * Returns the arguments as text. If they are an object, as from MiniMax, returns the object
 * (github.com/can1357/oh-my-pi/pull/1779).
 */
function inputOf(value: JsonValue | undefined): string | JsonObject {
  if (typeof value === "string" || isJsonObject(value)) return value;
  return argumentsText(value);
}

/** The empty object that some providers send before the arguments. */
const PLACEHOLDER = "{}";

/** A tool call while its pieces arrive. */
export class CallDraft {
  /** The index that the call's first piece had. */
  readonly index: number | undefined;
  /** The first id that the provider sent for the call; empty until an id arrives. */
  wireId = "";
  /** The id that the caller receives, or empty until the block begins. */
  id = "";
  name = "";
  isCustom = false;
  sealed: Sealed | undefined;
  /** The index of the call's block, or `undefined` until the block begins. */
  block: number | undefined;
  chunk: number;
  /** True when the draft counts as a call only after arguments arrive. */
  readonly isTentative: boolean;
  #text = "";
  #extent = new ObjectExtent();
  #hasText = false;
  #isPlaceholder = false;
  /** The text after the end of the arguments. */
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

  /** The arguments, or a custom tool's input, so far. */
  get text(): string {
    return this.#text;
  }

  /** True when the arguments contain anything but white space. */
  get hasText(): boolean {
    return this.#hasText;
  }

  /** True when the arguments so far are only an empty object, which more arguments may replace. */
  get isPlaceholder(): boolean {
    return this.#isPlaceholder;
  }

  get isWhole(): boolean {
    if (this.isCustom) return false;
    if (!this.#extent.isOther) return this.#extent.isClosed;
    return parseJson(this.#text) !== undefined;
  }

  /** True when the arguments are followed by a text that does not repeat them. */
  get isMixedUp(): boolean {
    const tail = this.#tail.trim();
    return tail !== "" && tail !== PLACEHOLDER && !isSameJson(tail, this.#text);
  }

  get held(): number {
    return this.#text.length + this.#tail.length;
  }

  /** Returns true when `input` repeats the arguments. */
  isRepeatedBy(input: string | JsonObject): boolean {
    return this.isWhole && isSameJson(textOf(input), this.#text);
  }

  /**
   * Adds a piece of the arguments. Returns the text that the piece adds. An empty object as the first piece is a
   * placeholder for later arguments (github.com/ogx-ai/ogx/pull/5462). An empty object as a later piece adds nothing.
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

export function textOf(input: string | JsonObject): string {
  return isJsonObject(input) ? JSON.stringify(input) : input;
}

/** Returns true when both texts are the same JSON, regardless of white space. */
function isSameJson(one: string, other: string): boolean {
  const value = parseJson(one);
  return value !== undefined &&
    JSON.stringify(value) === JSON.stringify(parseJson(other));
}
