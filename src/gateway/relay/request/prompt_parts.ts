/*
 * A provider's prompt cache serves the longest beginning of a prompt that it has seen. So the checksums of a prompt's
 * parts show where two prompts begin to differ. They are taken while the body is scanned; no content is kept.
 */

/** The checksums of the parts of a prompt. */
export interface PromptParts {
  /** Of all tools together; 0 without tools. */
  readonly tools: number;
  readonly toolCount: number;
  /** Of each block of the system prompt. */
  readonly system: readonly number[];
  /** Of each message, or item of a Responses request. */
  readonly messages: readonly number[];
  /** The body's name for its list of messages, and for its system prompt; empty without such a field. */
  readonly messagesField: string;
  readonly systemField: string;
  /** Of the settings that the request contains, by name. */
  readonly settings: ReadonlyMap<string, number>;
  /** The reasoning effort, in the body's word, cut to 32 characters; `undefined` when it sets none. */
  readonly effort: string | undefined;
  /** The number of cache marks. */
  readonly marks: number;
  /** True when the provider itself keeps the beginning of the conversation. */
  readonly isLinked: boolean;
  /** The beginning of the messages that the next turn is to repeat; `undefined` when that is not known. */
  readonly opening: Opening | undefined;
  /** True when the body has changed what an earlier prompt had, so that it must be read again. */
  readonly isIncomplete: boolean;
}

/** The messages before the first cache mark, which clients move from turn to turn. */
export interface Opening {
  readonly messages: number;
  /** The number of bytes, from the beginning of the list. */
  readonly length: number;
  readonly sum: number;
}

/** Returns the last prompt that began with these messages. */
export type FindPrompt = (first: readonly number[]) => PromptParts | undefined;

/** The number of messages by which a prompt is found. */
export const FIRST_MESSAGES = 4;

/**
 * The most messages, and blocks of the system prompt, of a prompt that is compared. No client sends more, and the sums of
 * hostile ones would take several times the memory of their body.
 */
export const MAX_SUMS = 8192;
