import { isJsonObject } from "../../core/json.ts";

/** An event that shows some of the answer. */
export interface OutputEvent {
  /** How much of it a model has written, in characters. */
  readonly textLength: number;
  /** What its line in the stream has around that, in bytes; about the same for all of a stream. */
  readonly envelopeBytes: number;
}

const DATA_PREFIX_BYTES = "data: ".length;

/** Tells text and envelope of an event apart, so that those after it need not be parsed for that. */
export function measureOutput(event: unknown, data: string): OutputEvent {
  const textLength = writtenLength(event);
  const envelopeBytes = DATA_PREFIX_BYTES + data.length - textLength;
  return { textLength, envelopeBytes };
}

/** Where the protocols have what a model writes: text, reasoning, arguments of calls. */
const WRITTEN_KEYS: ReadonlySet<string> = new Set([
  "arguments",
  "content",
  "delta",
  "partial_json",
  "reasoning",
  "reasoning_content",
  "refusal",
  "text",
  "thinking",
]);

/** How much of an event a model has written, in characters. */
function writtenLength(value: unknown): number {
  if (Array.isArray(value)) {
    return value.reduce<number>((sum, one) => sum + writtenLength(one), 0);
  }
  if (!isJsonObject(value)) return 0;
  return Object.entries(value).reduce(
    (sum, [key, one]) =>
      typeof one === "string"
        ? sum + (WRITTEN_KEYS.has(key) ? one.length : 0)
        : sum + writtenLength(one),
    0,
  );
}
