import type { GatewayError } from "@gateway/base/error";
import type { Ids } from "@gateway/base/ids";
import type { JsonObject } from "@gateway/base/json";
import type { AnswerEvent, CanonicalRequest, Usage } from "@gateway/codecs";
import type {
  SimulatedFamily,
  SimulatedOperation,
  SimulatedProtocol,
} from "./providers.ts";
import type { Step } from "./speak.ts";

/** The parts of a canonical request that decide the answer. */
type AskedRequest =
  & Pick<CanonicalRequest, "stream" | "turns" | "tools">
  & Partial<CanonicalRequest>;

/** A request to a simulated model. */
export interface Ask extends AskedRequest {
  readonly family: SimulatedFamily;
  readonly protocol: SimulatedProtocol;
  readonly model: string;
}

/** A block of a canonical request. */
export type Block = CanonicalRequest["turns"][number]["blocks"][number];

/** Returns the texts of blocks, in order. */
export function textsOf(blocks: readonly Block[]): string[] {
  return blocks.filter(({ kind }) => kind === "text")
    .map((block) => "text" in block ? block.text ?? "" : "");
}

/** Matches the notes that agents and translations add to user messages. */
const REMINDER_REGEXP = /<system-reminder>[^]*?<\/system-reminder>/g;

/** Returns the user's last text that is not blank, without the reminders in it; empty when there is no such text. */
export function promptOf({ turns }: Pick<Ask, "turns">): string {
  return turns.filter(({ role }) => role === "user")
    .flatMap(({ blocks }) => textsOf(blocks))
    .map((text) => text.replaceAll(REMINDER_REGEXP, "").trim())
    .findLast((text) => text !== "") ?? "";
}

/** Returns the tool results after the last assistant turn, each with the name of its tool. */
export function freshResults(
  { turns }: Pick<Ask, "turns">,
): { readonly name: string; readonly text: string }[] {
  const names = new Map(
    turns.flatMap(({ blocks }) => blocks)
      .flatMap((block) => "name" in block && "id" in block ? [block] : [])
      .map(({ id, name }) => [id, name]),
  );
  const last = turns.findLastIndex(({ role }) => role === "assistant");
  return turns.slice(last + 1).flatMap(({ blocks }) => blocks)
    .filter((block) => block.kind === "tool_result")
    .map(({ callId, content }) => ({
      name: names.get(callId) ?? "tool",
      text: textsOf(content).join("\n").trim(),
    }));
}

/** The answer of the simulated provider, independent of the protocol. */
export interface Script {
  readonly blocks: readonly ScriptBlock[];
  readonly stop: Extract<AnswerEvent, { readonly type: "end" }>["stop"];
  readonly usage: Usage;
}

/** A block of an answer. */
export interface ScriptBlock {
  readonly kind: "reasoning" | "text" | "function_call" | "custom_call";
  /** The text; for a call, the arguments as JSON or the input of a custom tool. */
  readonly text: string;
  /** The tool of a call. */
  readonly name?: string;
  readonly namespace?: string | undefined;
  /** True for reasoning that the caller sees only as a sealed token. */
  readonly isHidden?: boolean;
}

/** The length of a fragment of a tool call's input, in characters. */
const FRAGMENT_LENGTH = 12;

/**
 * Splits the text of a block as providers stream it: a text after each blank, the input of a tool call into short
 * fragments. The joined pieces equal the text, and no character is divided between two pieces.
 */
export function piecesOf({ kind, text }: ScriptBlock): string[] {
  if (text === "") return [];
  return kind === "text" || kind === "reasoning"
    ? text.split(/(?<=\s)(?=\S)/)
    : text.match(new RegExp(`[\\s\\S]{1,${FRAGMENT_LENGTH}}`, "gu")) ?? [];
}

/** The simulated providers' way to read and write each protocol. */
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
  readonly request: AskedRequest;
  render(script: Script, context: RenderContext): Rendering;
}

/** The facts that a renderer needs in addition to the script. */
export interface RenderContext {
  readonly ids: Ids;
  /** The current time, in milliseconds since 1970. */
  readonly nowMs: number;
  readonly requestId: string;
  readonly ask: Ask;
}

/** A script in the shape of a protocol. */
export interface Rendering {
  /** Returns the whole answer, for requests without a stream. */
  whole(): object;
  /**
   * Returns the answer as a stream. With `isFailing`, the stream fails in the middle. Absent for an operation without
   * streams.
   */
  steps?: (options: { readonly isFailing: boolean }) => Iterable<Step>;
}
