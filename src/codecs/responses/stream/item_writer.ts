import type { JsonObject } from "@gateway/base/json";
import type {
  Citation,
  ReasoningForm,
  TokenLogprob,
} from "../../canonical/content/block.ts";
import type { AnswerContext } from "../../canonical/codec.ts";
import type { Sealed } from "../../canonical/content/sealed.ts";

/** Writes the steps of an answer as stream events. */
export interface EventWriter {
  write(type: string, fields: JsonObject): void;
  /** Writes an event that adds text. {@linkcode placeText} returns the `place`. Most events add text. */
  writeDelta(type: string, place: string, text: string): void;
}

/** Discards the events of an answer that is not streamed. */
export const discardingWriter: EventWriter = { write() {}, writeDelta() {} };

/** Returns fields as JSON text without the braces. */
export function placeText(fields: JsonObject): string {
  return JSON.stringify(fields).slice(1, -1);
}

export type ItemStatus = "completed" | "incomplete";

/** Writes one output item step by step. Collects the item to write all of it at the end. */
export interface ItemWriter {
  /** Begins another block in the same item. Returns false when the block needs a separate item. */
  join(kind: string, isMessageStart: boolean): boolean;
  part(form: ReasoningForm): void;
  delta(text: string, logprobs?: readonly TokenLogprob[]): void;
  cite(citation: Citation): void;
  seal(sealed: Sealed): void;
  endBlock(): void;
  /** Writes the complete item and returns it, or returns `undefined` for an item that never began. */
  close(status: ItemStatus): JsonObject | undefined;
}

/** The state that each writer of an item needs. */
export interface WriterScope {
  readonly events: EventWriter;
  readonly context: AnswerContext;
  /** The index of the item in `output`. */
  readonly outputIndex: number;
}

/** A writer that does nothing. Other writers replace only the methods that they need. */
export const idleWriter: Omit<ItemWriter, "close"> = {
  join: () => false,
  part() {},
  delta() {},
  cite() {},
  seal() {},
  endBlock() {},
};
