import type { JsonObject } from "../../core/json.ts";
import { Refusal } from "../refusal.ts";
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

/** How the calls and results of a conversation fail to pair up. */
interface HistoryFault {
  /** `unanswered`: a call without a result before the conversation goes on; `orphan`: a result without a call. */
  readonly kind: "unanswered" | "orphan";
  readonly callId: string;
}

/**
 * The first call that has no result before the next turn that is not one, or the first result of no call;
 * `undefined` when all pair up. Every provider checks this, so a translation that tears a pair apart is
 * found out here.
 */
export function faultOfHistory(turns: Ask["turns"]): HistoryFault | undefined {
  const open = new Set<string>();
  for (const turn of turns) {
    const fault = turn.role === "tool"
      ? answerCall(open, turn)
      : unanswered(open, turn);
    if (fault !== undefined) return fault;
    for (const call of turn.calls) open.add(call.id);
  }
  return firstOpen(open);
}

function answerCall(open: Set<string>, turn: Turn): HistoryFault | undefined {
  const callId = turn.callId ?? "";
  return open.delete(callId) ? undefined : { kind: "orphan", callId };
}

/** Calls of one answer may stand in several turns of the assistant, one after the other. */
function unanswered(open: Set<string>, turn: Turn): HistoryFault | undefined {
  return turn.role === "assistant" ? undefined : firstOpen(open);
}

function firstOpen(open: Set<string>): HistoryFault | undefined {
  const [callId] = open;
  return callId === undefined ? undefined : { kind: "unanswered", callId };
}

/**
 * Refuses a body that holds a field of another protocol, as OpenAI does with fields that it does not know.
 *
 * @throws {Refusal} For the first field of `foreign` that `body` has.
 */
export function refuseForeignFields(
  body: JsonObject,
  foreign: readonly string[],
): void {
  const found = foreign.find((name) => body[name] !== undefined);
  if (found === undefined) return;
  throw new Refusal("invalid", `Unknown parameter: '${found}'.`, {
    param: found,
    code: "unknown_parameter",
  });
}

const NAME_REGEXP = /^[a-zA-Z0-9_-]+$/;

const MAX_NAME_LENGTH = 64;

/**
 * Refuses tools whose names OpenAI does not take.
 *
 * @param path Where the name stands inside a tool, for the error.
 * @throws {Refusal} For a name that is missing, longer than 64 characters, or with other characters than
 * letters, digits, underscores and dashes.
 */
export function checkToolNames(tools: readonly Tool[], path: string): void {
  for (const [index, { name }] of tools.entries()) {
    const param = `tools[${index}].${path}`;
    if (name === "") {
      throw new Refusal("invalid", `Missing required parameter: '${param}'.`, {
        param,
        code: "missing_required_parameter",
      });
    }
    if (name.length > MAX_NAME_LENGTH) {
      throw new Refusal(
        "invalid",
        `Invalid '${param}': string too long. Expected a string with maximum length ${MAX_NAME_LENGTH}, but got a string with length ${name.length} instead.`,
        { param, code: "string_above_max_length" },
      );
    }
    if (!NAME_REGEXP.test(name)) {
      throw new Refusal(
        "invalid",
        `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
        { param, code: "invalid_value" },
      );
    }
  }
}
