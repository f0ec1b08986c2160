import type { Ids } from "@gateway/base/ids";
import { isHeavyJson } from "@gateway/base/json";
import type { Emit, Stage } from "@gateway/base/stage";
import type { StopReason } from "../answer/answer.ts";
import { reasonOfWord } from "../answer/stop_words.ts";
import {
  type AnswerEvent,
  type BlockEndEvent,
  type BlockStartEvent,
  brokenEvent,
  type EndEvent,
  isOutput,
  NAMELESS_CALL,
  oversizedEvent,
} from "../stream/event.ts";
import { MAX_FRAME_CHARACTERS, MAX_HELD_CHARACTERS } from "../max_sizes.ts";
import { parseArguments } from "./tool.ts";
import { sessionId } from "./tool_call_id.ts";

/** A function call whose arguments are still arriving. */
interface Call {
  text: string;
  /**
   * The kind of the arguments, by their first character. An object is passed on as it arrives. Other text is held until
   * the end of the call.
   */
  form: "nothing" | "object" | "other";
}

/** The stop reasons that can cut a call off. */
const CUTTING_REASONS: readonly StopReason[] = [
  "max_tokens",
  "context_full",
  "filtered",
];

const TOO_LONG = "The provider's calls are longer than the gateway can hold";

const MISSING_CALL =
  "The provider said that it calls a tool, but sent neither a call nor text";

const INVALID_ARGUMENTS =
  "The provider sent a tool call whose arguments are not a JSON object";

/**
 * Returns a stage that passes only calls that a caller can run: a function's arguments are a JSON object, empty or
 * `null`. With other arguments, the answer fails, unless its stop reason shows that it was cut off. Until the stop
 * reason arrives, the block of such a call stays open, because some clients run a call as soon as its block ends. A
 * call without a name makes the answer fail, too. So does the stop reason for calls in an answer without any call or
 * text, because an agent would stop silently.
 *
 * A call has the size limits of an event, because its arguments are parsed as a whole.
 *
 * This stage follows `restoreTools`, because the input of a custom tool need not be JSON.
 *
 * @param isWhole True for an answer that was not streamed. Its calls have no limits, because its body has a limit.
 * @param ids The source of ids that are unique in the session; absent: calls keep their ids.
 */
export function settleCalls(
  isWhole = false,
  ids?: Ids,
): Stage<AnswerEvent, AnswerEvent> {
  const calls = new Map<number, Call>();
  const broken = new Map<number, BlockEndEvent>();
  let held = 0;
  const thoughts = new Set<number>();
  const given = new Set<string>();
  let hasContent = false;

  function take(call: Call, text: string): string {
    held += text.length;
    call.text += text;
    if (call.form !== "nothing") return call.form === "object" ? text : "";
    const begun = text.trimStart();
    if (begun === "") return "";
    call.form = begun.startsWith("{") ? "object" : "other";
    return call.form === "object" ? call.text : "";
  }

  function endBlock(event: BlockEndEvent, emit: Emit<AnswerEvent>): void {
    const call = calls.get(event.index);
    if (call === undefined) return emit(event);
    if (!isWhole && isHeavyJson(call.text)) {
      return emit(oversizedEvent(TOO_LONG));
    }
    if (parseArguments(call.text) !== undefined) return emit(event);
    broken.set(event.index, event);
  }

  function end(event: EndEvent, emit: Emit<AnswerEvent>): void {
    if (
      !hasContent && reasonOfWord(event.stop.raw?.value ?? "") === "tool_calls"
    ) {
      return emit(brokenEvent(MISSING_CALL));
    }
    if (broken.size > 0 && !CUTTING_REASONS.includes(event.stop.reason)) {
      return emit(brokenEvent(INVALID_ARGUMENTS));
    }
    for (const [index, blockEnd] of broken) {
      const { text, form } = calls.get(index) ?? EMPTY_CALL;
      if (form !== "object") emit({ type: "block-delta", index, text });
      emit(blockEnd);
    }
    emit(event);
  }

  function withOwnId(event: BlockStartEvent): BlockStartEvent {
    const { block } = event;
    if (ids === undefined || !("id" in block)) return event;
    const id = sessionId(block.id, ids, given.has(block.id));
    given.add(block.id);
    return { ...event, block: { ...block, id } };
  }

  return {
    push(event, emit) {
      switch (event.type) {
        case "block-delta": {
          hasContent ||= !thoughts.has(event.index);
          const call = calls.size > 0 ? calls.get(event.index) : undefined;
          if (call === undefined) return emit(event);
          const text = take(call, event.text);
          const isTooLong = held > MAX_HELD_CHARACTERS ||
            call.text.length > MAX_FRAME_CHARACTERS;
          if (isTooLong && !isWhole) return emit(oversizedEvent(TOO_LONG));
          if (text !== "") emit({ ...event, text });
          return;
        }
        case "block-start":
          if ("name" in event.block && event.block.name.trim() === "") {
            return emit(brokenEvent(NAMELESS_CALL));
          }
          if (event.block.kind === "reasoning") thoughts.add(event.index);
          hasContent ||= isOutput(event);
          if (event.block.kind === "function_call") {
            calls.set(event.index, { text: "", form: "nothing" });
          }
          return emit(withOwnId(event));
        case "block-end":
          return endBlock(event, emit);
        case "end":
          return end(event, emit);
        default:
          emit(event);
      }
    },
    end() {},
  };
}

const EMPTY_CALL: Readonly<Call> = { text: "", form: "object" };
