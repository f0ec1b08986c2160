import { parseJson } from "@gateway/base/json";
import type { Emit, Stage } from "@gateway/base/stage";
import type { AnswerEvent, BlockStartEvent } from "../stream/event.ts";
import type { Failure } from "../failure/failure.ts";
import { MAX_FRAME_CHARACTERS } from "../max_sizes.ts";
import { CUSTOM_INPUT_KEY, type ToolAliases, toolKey } from "./bridge_tools.ts";
import { type PropertyNames, withNames } from "./property_names.ts";
import { parseArguments } from "./tool.ts";
import type { SealBinding } from "../content/sealed.ts";

/** The edits that a request requires in its answer. */
export interface AnswerEdits {
  /** The tools to restore, as `bridgeTools` returns them. */
  readonly aliases: ToolAliases;
  /** The stop strings at which the answer must be cut. */
  readonly cuts: readonly string[];
  /** True when the model may write its reasoning into a tag, such as `<think>`. */
  readonly isTagged: boolean;
  /** The binding of the answer's reasoning; absent when the upstream binds reasoning to no conversation. */
  readonly bound?: SealBinding | undefined;
}

/** Returns a stage that restores the caller's tools in the calls of an answer: the reverse of `bridgeTools`. */
export function restoreTools(
  aliases: ToolAliases,
): Stage<AnswerEvent, AnswerEvent> {
  const inputs = new Map<number, CallInput>();

  function start(event: BlockStartEvent, emit: Emit<AnswerEvent>): void {
    const { index, block } = event;
    const tool = block.kind === "function_call" || block.kind === "custom_call"
      ? aliases.get(toolKey(block))
      : undefined;
    if (tool === undefined || !("id" in block)) return emit(event);
    const { name, namespace } = tool;
    if (tool.kind === "custom" && block.kind === "function_call") {
      inputs.set(index, createCustomInput());
      const { id, providerMetadata } = block;
      emit({
        type: "block-start",
        index,
        block: { kind: "custom_call", id, name, namespace, providerMetadata },
      });
    } else {
      if (tool.propertyNames !== undefined) {
        inputs.set(index, createRenamedInput(tool.propertyNames));
      }
      emit({
        type: "block-start",
        index,
        block: { ...block, name, namespace },
      });
    }
  }

  function emitInput(
    index: number,
    text: string,
    emit: Emit<AnswerEvent>,
  ): void {
    if (text !== "") emit({ type: "block-delta", index, text });
  }

  return {
    push(event, emit) {
      if (event.type === "block-start") return start(event, emit);
      if (event.type === "failure") {
        const failure = restoreNames(event.failure, aliases);
        return emit({ type: "failure", failure });
      }
      const input = "index" in event && inputs.size > 0
        ? inputs.get(event.index)
        : undefined;
      if (input === undefined) return emit(event);
      if (event.type === "block-delta") {
        return emitInput(event.index, input.push(event.text), emit);
      }
      if (event.type === "block-end") {
        emitInput(event.index, input.end(), emit);
      }
      emit(event);
    },
    end() {},
  };
}

/** Returns a failure whose message names the caller's tools in place of the sent tools. */
export function restoreNames(failure: Failure, aliases: ToolAliases): Failure {
  let { message } = failure;
  for (const [key, tool] of aliases) {
    const sent = key.slice(key.lastIndexOf("/") + 1);
    if (sent !== tool.name) message = message.replaceAll(sent, toolKey(tool));
  }
  return message === failure.message ? failure : { ...failure, message };
}

const OPENING_REGEXP = new RegExp(
  String.raw`^\s*\{\s*"${CUSTOM_INPUT_KEY}"\s*:\s*"`,
);
/** The longest text that may be an unfinished opening, in characters. */
const MAX_OPENING_LENGTH = 64;
/** A run of characters, one complete escape of a JSON string, or a backslash that begins no escape. */
const STRING_PIECE_REGEXP = /[^"\\]+|\\(?:u[0-9A-Fa-f]{4}|u(?=[^]{4})|[^u])/y;

/** Converts the arguments of a call, while they arrive, to the arguments of the caller's tool. */
interface CallInput {
  /** Returns the next part of the input, which may be empty. */
  push(fragment: string): string;
  /** Returns the rest of the input, when the arguments are complete. */
  end(): string;
}

/** Returns a reader that holds a call's arguments until their end, and then renames them. */
function createRenamedInput(names: PropertyNames): CallInput {
  let held = "";
  return {
    push(fragment) {
      held += fragment;
      // `settleCalls` rejects a call of this size.
      return held.length > MAX_FRAME_CHARACTERS ? take() : "";
    },
    end: () => withNames(take(), names),
  };

  function take(): string {
    const text = held;
    held = "";
    return text;
  }
}

/**
 * Returns a reader of the text in `{"input":"…"}`, so that a custom tool's input streams although the model called a
 * function. If the arguments have another form, the input comes at the end: the object's `input`, or the whole text.
 */
export function createCustomInput(): CallInput {
  let state: "opening" | "string" | "closed" | "other" = "opening";
  let rest = "";

  /** Reads the complete characters and escapes of the string. */
  function readString(): string {
    let input = "";
    STRING_PIECE_REGEXP.lastIndex = 0;
    let position = 0;
    for (
      let match = STRING_PIECE_REGEXP.exec(rest);
      match !== null;
      match = STRING_PIECE_REGEXP.exec(rest)
    ) {
      input += unescape(match[0]);
      position = STRING_PIECE_REGEXP.lastIndex;
    }
    if (rest[position] === '"') state = "closed";
    rest = rest.slice(position);
    return input;
  }

  return {
    push(fragment) {
      if (state === "closed") return "";
      rest += fragment;
      if (state === "opening") {
        const opening = OPENING_REGEXP.exec(rest);
        if (opening !== null) {
          state = "string";
          rest = rest.slice(opening[0].length);
        } else if (rest.length > MAX_OPENING_LENGTH) {
          state = "other";
        }
      }
      return state === "string" ? readString() : "";
    },
    end() {
      return state === "opening" || state === "other"
        ? customInputOf(rest)
        : "";
    },
  };
}

/** Returns the `input` in a complete call's arguments, or the whole text if it has no such string. */
function customInputOf(text: string): string {
  const value = parseArguments(text);
  if (value !== undefined && Object.keys(value).length === 0) return "";
  const input = value?.[CUSTOM_INPUT_KEY];
  if (input === null) return "";
  return typeof input === "string" ? input : text;
}

function unescape(piece: string): string {
  if (!piece.startsWith("\\")) return piece;
  const value = parseJson(`"${piece}"`);
  return typeof value === "string" ? value : piece.slice(1);
}
