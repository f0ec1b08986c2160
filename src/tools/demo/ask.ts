import type { JsonObject, JsonValue } from "@gateway/base/json";
import type { SimulatedFamily, SimulatedProtocol } from "./providers.ts";

/** A request in a form independent of its protocol. */
export interface Ask {
  readonly family: SimulatedFamily;
  readonly protocol: SimulatedProtocol;
  readonly model: string;
  readonly isStream: boolean;
  /** The conversation, oldest turn first; a system text is a separate turn. */
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice;
  /** True when one answer may call several tools. */
  readonly mayCallInParallel: boolean;
  readonly reasoning: ReasoningMode;
  /** `undefined` means no limit. */
  readonly maxOutputTokens: number | undefined;
  readonly stopSequences: readonly string[];
  /** Set when the answer must be JSON. */
  readonly format: JsonFormat | undefined;
  /** True when the conversation is to be compacted into one sealed item instead of answered. */
  readonly isCompaction: boolean;
}

/** The part of a request in its body; its address holds the rest. */
export type AskOfBody = Omit<Ask, "family" | "protocol" | "model">;

/** With `hidden`, the model reasons but shows only a sealed token. */
export type ReasoningMode = "none" | "hidden" | "shown";

/** One turn of the conversation. A tool result is a separate turn. */
export interface Turn {
  readonly role: "system" | "user" | "assistant" | "tool";
  /** The text parts, in order. */
  readonly texts: readonly string[];
  /** The number of images, files and other parts that are not text. */
  readonly attachmentCount: number;
  /** The tools that an assistant called. */
  readonly calls: readonly { readonly id: string; readonly name: string }[];
  /** For the role `tool`: the id of the call that the result belongs to. */
  readonly callId: string | undefined;
}

/** A tool in a request. */
export interface Tool {
  readonly kind: "function" | "custom";
  readonly name: string;
  /** The namespace of a Responses tool; each call of the tool repeats it. */
  readonly namespace: string | undefined;
  readonly description: string;
  /** The JSON schema of the arguments; empty for a custom tool, whose input is free text. */
  readonly schema: JsonObject;
}

/** The permission or the obligation to call tools; `names` restricts the tools. */
export interface ToolChoice {
  readonly mode: "auto" | "none" | "required";
  readonly names: readonly string[] | undefined;
}

/** The demand for JSON: of any shape, or as `schema` defines it. */
export interface JsonFormat {
  readonly schema: JsonObject | undefined;
}

/** The notes that agents and translations add to user messages. */
const REMINDER_REGEXP = /<system-reminder>[^]*?<\/system-reminder>/g;

/** Returns the last text of the user that is not blank, without reminders; empty when there is none. */
export function promptOf(ask: Ask): string {
  for (const turn of ask.turns.toReversed()) {
    if (turn.role !== "user") continue;
    const texts = turn.texts.map((text) =>
      text.replaceAll(REMINDER_REGEXP, "").trim()
    );
    const text = texts.findLast((text) => text !== "");
    if (text !== undefined) return text;
  }
  return "";
}

/** Returns the tool results after the last assistant turn, each with the name of its tool. */
export function freshResults(
  ask: Ask,
): { readonly name: string; readonly text: string }[] {
  const last = ask.turns.findLastIndex((turn) => turn.role === "assistant");
  return ask.turns.slice(last + 1).filter((turn) => turn.role === "tool").map((
    turn,
  ) => ({
    name: callName(ask, turn.callId),
    text: turn.texts.join("\n").trim(),
  }));
}

function callName(ask: Ask, callId: string | undefined): string {
  for (const turn of ask.turns) {
    const call = turn.calls.find((call) => call.id === callId);
    if (call !== undefined) return call.name;
  }
  return "tool";
}

/** Returns `value` when it is a string, else the empty string. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

/** Returns `value` when it is a number, else `undefined`. */
export function numberOf(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}
