import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../../core/json.ts";
import type { Sealed } from "../../canonical/answer/sealed.ts";
import { argumentsText } from "../../canonical/tools/tool_arguments.ts";
import { sealedOfCall } from "./extra_content.ts";
import { ObjectExtent } from "./object_extent.ts";

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
