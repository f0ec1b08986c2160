import type { JsonValue } from "../../../src/core/json.ts";
import { textOf } from "../../../src/demo/ask/ask.ts";

/** What the words of a recorded answer tell its caller. */
export interface RecordedWords {
  readonly text: string;
  /** The words of a refusal; empty where there is none. */
  readonly refusal: string;
  /** What the model thought, as far as it is told. */
  readonly reasoning: string;
  /** Calls of tools that the caller runs. */
  readonly calls: readonly RecordedCall[];
  /** Why it ended, in the protocol's own word; empty where it does not say. */
  readonly finish: string;
}

/** A call as the recording holds it. */
export interface RecordedCall {
  readonly name: string;
  /** JSON, or the free text of a custom tool. */
  readonly input: string;
  readonly isCustom: boolean;
}

/** JSON that is text already, or a value. */
export function jsonText(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The last that is text and not empty; empty where there is none. */
export function lastText(values: readonly (JsonValue | undefined)[]): string {
  return textOf(values.findLast((value) => textOf(value) !== ""));
}
