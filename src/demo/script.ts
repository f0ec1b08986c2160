import type { Ids } from "../core/ids.ts";
import type { JsonObject } from "../core/json.ts";
import type { Ask, Tool } from "./ask/ask.ts";
import type { Step } from "./speak.ts";

/** The answer of the simulated provider, independent of the protocol. */
export interface Script {
  readonly blocks: readonly Block[];
  readonly stop: StopReason;
  /** The sequence that ended the answer; only with the stop reason `sequence`. */
  readonly stopSequence: string | undefined;
  readonly usage: Usage;
}

/** A block of an answer. */
export type Block =
  | {
    readonly kind: "reasoning";
    readonly text: string;
    readonly isShown: boolean;
  }
  | { readonly kind: "text"; readonly text: string }
  | {
    readonly kind: "call";
    readonly tool: Tool;
    /** The JSON of the arguments, or the free text of a custom tool. */
    readonly input: string;
  }
  | { readonly kind: "compaction"; readonly text: string };

/** The reason why an answer ends: it is complete, a tool is called, the token limit, or a stop sequence. */
export type StopReason = "end" | "call" | "length" | "sequence";

/** The tokens of one exchange. */
export interface Usage {
  /** Includes the cached ones. */
  readonly inputTokens: number;
  readonly cachedTokens: number;
  /** Includes the reasoning ones. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

/** Splits `text` after each blank, so that the joined words are `text`; returns none for the empty string. */
export function wordsOf(text: string): string[] {
  return text === "" ? [] : text.split(/(?<=\s)(?=\S)/);
}

/** The length of a fragment of a tool call's input, in characters. */
const FRAGMENT_LENGTH = 12;

/** Splits `input` into short fragments, as providers stream arguments; a fragment never splits a character. */
export function fragmentsOf(input: string): string[] {
  return input.match(new RegExp(`[\\s\\S]{1,${FRAGMENT_LENGTH}}`, "gu")) ?? [];
}

/**
 * The mark of the demo's signatures and encrypted reasoning, which callers must return unchanged. Like a real provider,
 * the demo rejects a token that it did not make. Unlike one, it does not encrypt the text.
 */
const MARK = "demo1";

/** Returns a token for `text` that {@linkcode unseal} opens. */
export function seal(text: string): string {
  const bytes = new TextEncoder().encode(`${MARK}.${checksum(text)}.${text}`);
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte));
  return btoa(binary.join(""));
}

/** Returns the text inside `token`; `undefined` when this provider did not make the token. */
export function unseal(token: string): string | undefined {
  const [, mark, sum, text] =
    decode(token)?.match(/^([^.]*)\.([^.]*)\.([\s\S]*)$/) ?? [];
  if (mark !== MARK || text === undefined || sum !== checksum(text)) {
    return undefined;
  }
  return text;
}

function decode(token: string): string | undefined {
  try {
    const bytes = Uint8Array.from(
      atob(token),
      (character) => character.charCodeAt(0),
    );
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Returns the FNV-1a hash over UTF-16 units, which detects a changed text. */
function checksum(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash.toString(16).padStart(8, "0");
}

/** The facts that a renderer needs in addition to the script. */
export interface RenderContext {
  readonly ids: Ids;
  /** Seconds since 1970. */
  readonly createdAt: number;
  readonly ask: Ask;
  /** The body of the request, for the fields that an answer repeats. */
  readonly body: JsonObject;
}

/** Counts the words of `script`, which decide the delay of a whole answer. */
export function wordCountOf(script: Script): number {
  return script.blocks.reduce((count, block) => {
    const text = block.kind === "call" ? block.input : block.text;
    return count + text.split(/\s+/).length;
  }, 0);
}

/** A script in the shape of a protocol. */
export interface Rendering {
  /** The whole answer, for requests without a stream. */
  readonly whole: object;
  /** The answer as a stream; `undefined` for an operation that has none. */
  readonly stream: {
    steps(): Iterable<Step>;
    /** Returns the steps that report a failure after `stepCount` steps. */
    failure(stepCount: number): Iterable<Step>;
  } | undefined;
}
