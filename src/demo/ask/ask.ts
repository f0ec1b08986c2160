import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../core/json.ts";
import type { SimulatedFamily, SimulatedProtocol } from "../providers.ts";

/** What a request asks for, whatever its protocol. */
export interface Ask {
  readonly family: SimulatedFamily;
  readonly protocol: SimulatedProtocol;
  readonly model: string;
  readonly isStream: boolean;
  /** The conversation, oldest turn first; system text is a turn of its own. */
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice;
  /** Whether one answer may call several tools. */
  readonly mayCallInParallel: boolean;
  readonly reasoning: ReasoningMode;
  /** `undefined` means no limit. */
  readonly maxOutputTokens: number | undefined;
  readonly stopSequences: readonly string[];
  /** Set when the answer must be JSON. */
  readonly format: JsonFormat | undefined;
  /** Whether the conversation is to be folded into one sealed item instead of being answered. */
  readonly isCompaction: boolean;
}

/** What the body of a request says of it; its address says the rest. */
export type AskOfBody = Omit<Ask, "family" | "protocol" | "model">;

/** `hidden` reasons, yet shows only the sealed token of it. */
export type ReasoningMode = "none" | "hidden" | "shown";

/** One contribution to the conversation. A result of a tool is a turn of its own. */
export interface Turn {
  readonly role: "system" | "user" | "assistant" | "tool";
  /** The text parts, in order. */
  readonly texts: readonly string[];
  /** Images, files and other parts that are not text. */
  readonly attachmentCount: number;
  /** The tools that an assistant called. */
  readonly calls: readonly { readonly id: string; readonly name: string }[];
  /** For the role `tool`: the call that this is the result of. */
  readonly callId: string | undefined;
}

/** A tool that the caller offers. */
export interface Tool {
  readonly kind: "function" | "custom";
  readonly name: string;
  /** The group of a Responses tool; part of every call of it. */
  readonly namespace: string | undefined;
  readonly description: string;
  /** JSON schema of the arguments; empty for a custom tool, whose input is free text. */
  readonly schema: JsonObject;
}

/** Whether tools may or must be called; `names` restricts them. */
export interface ToolChoice {
  readonly mode: "auto" | "none" | "required";
  readonly names: readonly string[] | undefined;
}

/** JSON of any form, or of the form that `schema` says. */
export interface JsonFormat {
  readonly schema: JsonObject | undefined;
}

/** A turn with nothing in it but what `fields` says. */
export function createTurn(
  role: Turn["role"],
  fields: Partial<Omit<Turn, "role">>,
): Turn {
  return {
    role,
    texts: [],
    attachmentCount: 0,
    calls: [],
    callId: undefined,
    ...fields,
  };
}

/** What agents and translations say to the model in the user's name. */
const REMINDER_REGEXP = /<system-reminder>[^]*?<\/system-reminder>/g;

/**
 * The last thing that the user said, without reminders: the last text that is not blank of the last user turn
 * with one.
 */
export function promptOf(ask: Ask): string {
  for (const turn of ask.turns.toReversed()) {
    if (turn.role !== "user") continue;
    const said = turn.texts.map((text) =>
      text.replaceAll(REMINDER_REGEXP, "").trim()
    );
    const text = said.findLast((text) => text !== "");
    if (text !== undefined) return text;
  }
  return "";
}

/** The results of tools that nobody has answered yet, with the name of the tool of each. */
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

/** `value` when it is a string, else the empty string. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

/** `value` when it is an object, else an empty object. */
export function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** `value` when it is a list, else an empty list. */
export function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** The objects of a list; everything else in it is passed over. */
export function objectsOf(value: JsonValue | undefined): JsonObject[] {
  return listOf(value).filter(isJsonObject);
}

/** `value` when it is a number, else `undefined`. */
export function numberOf(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}
