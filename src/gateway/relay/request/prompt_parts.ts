/*
 * A provider's prompt cache serves the longest beginning of a prompt that it has seen. So the checksums of a prompt's
 * parts show where two prompts begin to differ. They are computed while the body is scanned; no content is kept.
 */

/** The checksums of the parts of a prompt. */
export interface PromptParts {
  /** The checksum of all tools together; 0 without tools. */
  readonly tools: number;
  readonly toolCount: number;
  /** The checksum of each block of the system prompt. */
  readonly system: readonly number[];
  /** The checksum of each message, or of each item of a Responses request. */
  readonly messages: readonly number[];
  /** The name of the body's field with the messages; empty without such a field. */
  readonly messagesField: string;
  /** The name of the body's field with the system prompt; empty without such a field. */
  readonly systemField: string;
  /** The checksums of the settings in the request, by name. */
  readonly settings: ReadonlyMap<string, number>;
  /** The reasoning effort as the body spells it, cut to 32 characters; `undefined` when the body sets none. */
  readonly effort: string | undefined;
  /** The number of cache marks. */
  readonly marks: number;
  /** True when the provider itself keeps the beginning of the conversation. */
  readonly isLinked: boolean;
  /** The first messages, if they are known. The next turn should repeat these messages. */
  readonly opening: Opening | undefined;
  /** True when the opening differs from the opening of the earlier prompt. The body must then be read again. */
  readonly isIncomplete: boolean;
}

/** The messages before the first cache mark. Clients move that mark from turn to turn. */
export interface Opening {
  readonly messages: number;
  /** The length of these messages, from the beginning of the list, in bytes. */
  readonly length: number;
  readonly sum: number;
}

/** Returns the last prompt that began with these messages. */
export type FindPrompt = (first: readonly number[]) => PromptParts | undefined;

/** The number of messages by which a prompt is found. */
export const FIRST_MESSAGES = 4;

/**
 * The most messages, or blocks of the system prompt, in a prompt that is compared. No client sends more. The sums of a
 * hostile prompt would take several times the memory of its body.
 */
export const MAX_SUMS = 8192;
