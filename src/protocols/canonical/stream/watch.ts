import type { JsonObject } from "../../../core/json.ts";
import type { Usage } from "../answer/usage.ts";

/** What the log learns from native answers, which pass without being decoded. */
export interface AnswerWatch {
  /**
   * ASCII text that stands in every stream event which counts tokens; it begins with what is rare, to be found fast.
   */
  readonly usageMark: string;
  /** Whether a stream event or a whole answer may count tokens; asked before it is parsed. */
  mayCount(text: string): boolean;
  /** Whether a whole answer may be a failure; asked of its first 256 characters, before it is parsed. */
  mayBeFailure(start: string): boolean;
  /** Whether a stream event shows the caller some of the answer: text, reasoning or a call. */
  isOutput(event: JsonObject): boolean;
  /** What a stream event or a whole answer says of a failure, for `decodeFailure`; `undefined` when it says none. */
  failureOf(body: JsonObject): JsonObject | undefined;
  /** Returns the model that a stream event or a whole answer names, if any. */
  modelOf(body: JsonObject): string | undefined;
  /**
   * The tokens that are counted once a stream event or a whole answer is seen; `undefined` when it counts none.
   *
   * @param before What the events before it counted.
   */
  usageOf(body: JsonObject, before?: Usage): Usage | undefined;
  /**
   * Whether an event is the protocol's regular end of a stream. Asked of the last few, since some providers put a
   * `[DONE]` or a count of tokens behind it.
   *
   * @param data The event's data; of very long data at least the first and the last 256 characters.
   */
  isEnd(data: string): boolean;
  /** Whether an event may be a failure that ends a stream; asked as `isEnd` is. */
  isFailure(data: string): boolean;
}
