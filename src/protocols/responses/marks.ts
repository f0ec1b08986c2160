import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { Marks } from "../canonical/request/extras.ts";

/** Wire objects that the decoder notes for the encoder of the same protocol. */
interface NotedObjects {
  /** Of a turn, or of the first block of a message: fields of the message item without a canonical place. */
  readonly message?: JsonObject;
  /** Of reasoning, a call or a result: fields of its item without a canonical place. */
  readonly item?: JsonObject;
  /** Of text: fields of its content part without a canonical place. */
  readonly part?: JsonObject;
  /** Of a tool: fields of its declaration without a canonical place. */
  readonly tool?: JsonObject;
  /** Of a function whose arguments OpenAI's models shall encrypt: its schema as it came. */
  readonly parameters?: JsonObject;
  /** Of a tool of a type of its own, its call or its result: the whole of it, which is written as it came. */
  readonly typed?: JsonObject;
}

/** What is either so or not. */
interface NotedFlags {
  /** Of an opaque block: it is a content part and no item of its own. */
  readonly isPart?: true;
  /** Of a turn: it came as `instructions`. */
  readonly isInstructions?: true;
  /** Of a tool: it came with an item of the input and not in the list of tools. */
  readonly isLoaded?: true;
}

/** Everything that this codec's decoder may note for its encoder; no other protocol looks at it. */
export type OwnMarks = NotedObjects & NotedFlags & {
  /** Of reasoning in an answer: the id of its item. */
  readonly id?: string;
};

/** Anything canonical that can hold marks. */
export interface Marked {
  readonly marks?: Marks | undefined;
}

/** Notes facts for this codec's own encoder; `undefined` when there are none. */
export function markOwn(facts: OwnMarks | undefined): Marks | undefined {
  return facts === undefined ? undefined : { responses: { ...facts } };
}

/** The marks of `holder` with `facts` among them. */
export function withMarks(holder: Marked, facts: OwnMarks): Marks {
  return { responses: { ...holder.marks?.responses, ...facts } };
}

/** A wire object that was noted; `undefined` when none was. */
export function notedObject(
  { marks }: Marked,
  name: keyof NotedObjects,
): JsonObject | undefined {
  const noted = marks?.responses?.[name];
  return isJsonObject(noted) ? noted : undefined;
}

/** Whether a flag was noted. */
export function isNoted({ marks }: Marked, flag: keyof NotedFlags): boolean {
  return marks?.responses?.[flag] === true;
}

/** The id that was noted, if one was. */
export function notedId({ marks }: Marked): string | undefined {
  const id = marks?.responses?.id;
  return typeof id === "string" ? id : undefined;
}
