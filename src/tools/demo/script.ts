import type { JsonObject } from "@gateway/base/json";
import type { Ids } from "@gateway/base/ids";
import type { Stop, Usage } from "@gateway/codecs";
import type { Ask, AskOfBody, Tool } from "./ask.ts";
import type { SimulatedOperation, SimulatedProtocol } from "./providers.ts";
import type { GatewayError } from "@gateway/base/error";
import type { Step } from "./speak.ts";

/** The answer of the simulated provider, independent of the protocol. */
export interface Script {
  readonly blocks: readonly ScriptBlock[];
  readonly stop: Stop;
  readonly usage: Usage;
}

/** A block of an answer. */
export type ScriptBlock =
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

/** Counts the words of `script`, which decide the delay of a whole answer. */
export function wordCountOf(script: Script): number {
  return script.blocks.reduce((count, block) => {
    const text = block.kind === "call" ? block.input : block.text;
    return count + text.split(/\s+/).length;
  }, 0);
}

/** The protocols as the simulated providers speak them. */
export interface DemoCodec {
  /**
   * Parses the body of a request.
   *
   * @throws {GatewayError} When the provider does not serve the request.
   */
  read(operation: SimulatedOperation, body: JsonObject): ReadRequest;
  /** Writes an error as the body of a response. */
  writeError(
    error: GatewayError,
    options: {
      readonly protocol: SimulatedProtocol;
      readonly requestId: string;
    },
  ): object;
}

/** A parsed request, and the function that writes the answer to it. */
interface ReadRequest {
  readonly ask: AskOfBody;
  render(script: Script, context: RenderContext): Rendering;
}

/** The facts that a renderer needs in addition to the script. */
export interface RenderContext {
  readonly ids: Ids;
  /** In milliseconds since 1970. */
  readonly nowMs: number;
  readonly requestId: string;
  readonly ask: Ask;
}

/** A script in the shape of a protocol. */
export interface Rendering {
  /** Returns the whole answer, for requests without a stream. */
  whole(): object;
  /** Returns the steps of the answer as a stream; `undefined` for an operation that has none. */
  readonly steps: (() => Iterable<Step>) | undefined;
  /** Returns the steps of a stream that fails in the middle. */
  failingSteps(): Iterable<Step>;
}
