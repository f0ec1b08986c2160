import type { JsonObject } from "../../../core/json.ts";
import type {
  Citation,
  ReasoningForm,
  TokenLogprob,
} from "../../canonical/content/block.ts";
import type { AnswerContext } from "../../canonical/codec.ts";
import type { Sealed } from "../../canonical/content/sealed.ts";

/** Tells the steps of an answer as stream events. */
export interface EventWriter {
  /** One event. */
  write(type: string, fields: JsonObject): void;
  /**
   * One event that adds text, the kind that a stream mostly consists of.
   *
   * @param place Its other fields as JSON text, from {@linkcode placeText}.
   */
  writeDelta(type: string, place: string, text: string): void;
}

/** Tells nobody: for an answer that is written whole. */
export const discardingWriter: EventWriter = { write() {}, writeDelta() {} };

/** Fields as the inside of an object's JSON text. */
export function placeText(fields: JsonObject): string {
  return JSON.stringify(fields).slice(1, -1);
}

/** How an item ended. */
export type ItemStatus = "completed" | "incomplete";

/** Writes one output item, and keeps it to tell it whole. */
export interface ItemWriter {
  /** Begins another block of the item; false when the block needs an item of its own. */
  join(kind: string, isMessageStart: boolean): boolean;
  part(form: ReasoningForm): void;
  delta(text: string, logprobs?: readonly TokenLogprob[]): void;
  cite(citation: Citation): void;
  seal(sealed: Sealed): void;
  endBlock(): void;
  /** Tells the item whole. Gives nothing for an item that never came to be. */
  close(status: ItemStatus): JsonObject | undefined;
}

/** What every writer of an item needs. */
export interface WriterScope {
  readonly events: EventWriter;
  readonly context: AnswerContext;
  /** Of the item: its place in `output`. */
  readonly outputIndex: number;
}

/** A writer that takes nothing, for others to build on. */
export const idleWriter: Omit<ItemWriter, "close"> = {
  join: () => false,
  part() {},
  delta() {},
  cite() {},
  seal() {},
  endBlock() {},
};
