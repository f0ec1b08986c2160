import type { JsonValue } from "../../../src/base/json.ts";
import { textOf } from "../upstream/strict_provider/ask.ts";

/** The texts and calls of a recorded answer. */
export interface RecordedWords {
  readonly text: string;
  /** The text of a refusal; empty when there is none. */
  readonly refusal: string;
  /** The model's reasoning, as far as the provider shows it. */
  readonly reasoning: string;
  /** Calls of the tools that the client runs. */
  readonly calls: readonly RecordedCall[];
  /** The stop reason in the protocol's own word; empty when there is none. */
  readonly finish: string;
}

/** A call with the recording's values. */
export interface RecordedCall {
  readonly name: string;
  /** JSON, or the free text of a custom tool. */
  readonly input: string;
  readonly isCustom: boolean;
}

/** Writes a value as JSON text, and keeps a text. */
export function jsonText(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Returns the last text that is not empty; "" when there is none. */
export function lastText(values: readonly (JsonValue | undefined)[]): string {
  return textOf(values.findLast((value) => textOf(value) !== ""));
}
