import type { Ids } from "../core/ids.ts";
import type { JsonObject } from "../core/json.ts";
import type { Ask, Tool } from "./ask/ask.ts";
import type { Step } from "./speak.ts";

/** What the provider says, before any protocol spells it. */
export interface Script {
  readonly blocks: readonly Block[];
  readonly stop: StopReason;
  /** The sequence that ended the answer; only with the stop reason `sequence`. */
  readonly stopSequence: string | undefined;
  readonly usage: Usage;
}

/** A piece of an answer. */
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
    /** JSON of the arguments, or the free text of a custom tool. */
    readonly input: string;
  }
  | { readonly kind: "compaction"; readonly text: string };

/** Why an answer ends: it is complete, a tool is called, the token limit, or a stop sequence. */
export type StopReason = "end" | "call" | "length" | "sequence";

/** Tokens of one exchange. */
export interface Usage {
  /** Includes the cached ones. */
  readonly inputTokens: number;
  readonly cachedTokens: number;
  /** Includes the reasoning ones. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

/** `text` cut behind every blank, so that the words joined are `text` again; none for the empty string. */
export function wordsOf(text: string): string[] {
  return text === "" ? [] : text.split(/(?<=\s)(?=\S)/);
}

/** How many characters one fragment of a tool call's input holds. */
const FRAGMENT_LENGTH = 12;

/** `input` cut into short fragments, never inside a character, as providers stream arguments. */
export function fragmentsOf(input: string): string[] {
  return input.match(new RegExp(`[\\s\\S]{1,${FRAGMENT_LENGTH}}`, "gu")) ?? [];
}

/**
 * Signatures and encrypted reasoning of the demo: text that callers must hand back unchanged. Like a real
 * provider the demo refuses a token that it did not make; unlike one it hides nothing.
 */

const MARK = "demo1";

/** A token for `text` that {@linkcode unseal} opens again. */
export function seal(text: string): string {
  const bytes = new TextEncoder().encode(`${MARK}.${checksum(text)}.${text}`);
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte));
  return btoa(binary.join(""));
}

/** The text inside `token`, or `undefined` when this provider did not make it. */
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

/** FNV-1a over UTF-16 units: tells an altered text from a whole one. */
function checksum(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash.toString(16).padStart(8, "0");
}

/** What a renderer needs beside the script. */
export interface RenderContext {
  readonly ids: Ids;
  /** Seconds since 1970. */
  readonly createdAt: number;
  readonly ask: Ask;
  /** The request as it came, for the fields that an answer repeats. */
  readonly body: JsonObject;
}

/** The words of `script` in all: how long a provider thinks about an answer that it sends whole. */
export function wordCountOf(script: Script): number {
  return script.blocks.reduce((count, block) => {
    const text = block.kind === "call" ? block.input : block.text;
    return count + text.split(/\s+/).length;
  }, 0);
}

/** What a protocol makes of a script. */
export interface Rendering {
  /** The whole answer, for callers that do not stream. */
  readonly whole: object;
  /** The answer as a stream; `undefined` for an operation that has none. */
  readonly stream: {
    steps(): Iterable<Step>;
    /** How the stream reports a failure after so many of its steps. */
    failure(stepCount: number): Iterable<Step>;
  } | undefined;
}
